(* FlowVerification as it is specified: a few scalars for every kept node, one pass over the kept nodes in
   the order of insertion, then a walk with one draw at each node.  This file states the algorithm. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless martingale.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section FlowMasses.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).
Notation history := (history R V).
Notation tree := (tree R V).
Variable p : prefix -> V -> R.
Variable D : nat.

(* mass_at n: the mass of node n when it was inserted, scaled since (c[n]).
   revealed u: f, w and t of a node whose sampled slot is revealed. *)
Record masses := Masses {
  mass_at : prefix -> R;
  revealed : prefix -> option (R * R * (V -> R)) }.

(* The mass of an untouched token y at u. *)
Definition untouched (S : masses) (u : prefix) (y : V) : R :=
  match revealed S u with
  | None => mass_at S u * p u y
  | Some (f, w, t) => f * pos (w * p u y - t y)
  end.

Definition only_root : masses := Masses (fun v => if v == [::] then 1 else 0) (fun _ => None).

(* A deterministic node takes its mass from the untouched tokens of its parent; inserting a node that is
   kept already changes nothing. *)
Definition insert_det (s : tree) (S : masses) (u : prefix) (x : V) : masses :=
  if x \in toks s u then S
  else Masses (fun v => if v == rcons u x then untouched S u x else mass_at S v) (revealed S).

(* A sampled node is tested; all masses before it, and every f, are multiplied by rho. *)
Definition insert_samp (S : masses) (u : prefix) (t : V -> R) (x : V) : masses :=
  let w := mass_at S u in
  let a := Num.min 1 (w * p u x / t x) in
  let rest := \sum_y pos (t y - w * p u y) in
  let rho := if a < 1 then (1 - a) / rest else 0 in
  Masses (fun v => if v == rcons u x then a else rho * mass_at S v)
         (fun v => if v == u then Some (rho, w, t) else
            if revealed S v is Some (f, w', t') then Some (rho * f, w', t') else None).

Definition insert (st : tree * masses) (i : prefix * slot R V) : tree * masses :=
  (ins st.1 i.1 i.2,
   match i.2 with Det x => insert_det st.1 st.2 i.1 x | Samp t x => insert_samp st.2 i.1 t x end).

Definition flow_state (h : history) : tree * masses := foldl insert (@empty R V, only_root) h.

(* The full mass of u when all is inserted, for a node with n more levels below it. *)
Fixpoint full (s : tree) (S : masses) (n : nat) (u : prefix) : R :=
  match n with
  | 0 => mass_at S u
  | n'.+1 => if s u is [::] then mass_at S u
             else \sum_y if y \in toks s u then full s S n' (rcons u y) else untouched S u y
  end.

(* The mass of the next token y at u: full mass of a kept child, mass of any other token. *)
Definition weight (s : tree) (S : masses) (u : prefix) (y : V) : R :=
  if y \in toks s u then full s S (D - size (rcons u y)) (rcons u y) else untouched S u y.

(* The walk: at u draw y in proportion to its weight; stop when y is not a kept child. *)
Fixpoint flow_walk (s : tree) (S : masses) (n : nat) (u : prefix) : prog prefix :=
  match n with
  | 0 => Ret R V u
  | n'.+1 => Draw (fun y => weight s S u y / \sum_z weight s S u z) (fun y =>
      if y \in toks s u then flow_walk s S n' (rcons u y) else Ret R V (rcons u y))
  end.

Definition flow (h : history) : prog prefix :=
  let st := flow_state h in flow_walk st.1 st.2 D.+1 [::].

(* What the scalars rely on: at the reveal of its one sampled slot, no kept child of u can be drawn.
   (Head tokens lie outside the tail, and fills come after the reveal.) *)
Definition flow_legal (h : history) (u : prefix) (t : V -> R) : Prop :=
  sampled (tree_of h u) = None /\ forall y, y \in toks (tree_of h) u -> t y = 0.

Lemma flow_state_tree h : (flow_state h).1 = tree_of h.
Proof.
rewrite /flow_state; elim/last_ind: h => [//|h i IH].
by rewrite foldl_rcons /tree_of foldl_rcons /= IH.
Qed.
Lemma flow_state_det h u x : (flow_state (rcons h (u, Det R x))).2 = insert_det (tree_of h) (flow_state h).2 u x.
Proof. by rewrite -flow_state_tree /flow_state foldl_rcons. Qed.
Lemma flow_state_samp h u t x : (flow_state (rcons h (u, Samp t x))).2 = insert_samp (flow_state h).2 u t x.
Proof. by rewrite /flow_state foldl_rcons. Qed.
End FlowMasses.
