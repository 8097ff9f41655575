(* Verification rules: how a visited node produces its token y from the target law p and its kept children, which
   stand in the order of insertion. RheoVerification is `rheo`, RRSw is `rrs`, Match is `onehot`. A rule is fair when
   a new child leaves the law of y alone, in the mean over X when the child is a sampled one. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Rules.
Variables (R : realFieldType) (V : finType).
Notation prog := (@prog R V).
Notation Ret := (@Ret R V _).

(* The kept children of a node, in slot (= insertion) order. *)
Inductive slot := Det of V | Samp of (V -> R) & V.
Definition tok (c : slot) : V := match c with Det x => x | Samp _ x => x end.

Definition rule := (V -> R) -> seq slot -> prog V.

Definition pos (z : R) : R := Num.max 0 z.
Definition res (p t : V -> R) (y : V) : R :=
  pos (p y - t y) / \sum_z pos (p z - t z).
Definition acc (p t : V -> R) (x : V) : R := Num.min 1 (p x / t x).
Definition del (r : V -> R) (x y : V) : R := if y == x then 0 else r y / (1 - r x).

Fixpoint sampled (cs : seq slot) : option ((V -> R) * V) :=
  match cs with
  | [::] => None
  | Det _ :: cs' => sampled cs'
  | Samp t x :: _ => Some (t, x)
  end.

Definition rheo : rule := fun p cs =>
  match sampled cs with
  | None => Draw p Ret
  | Some (t, x) => Flip (acc p t x) (fun b => if b then Ret x else Draw (res p t) Ret)
  end.

Fixpoint rrs (r : V -> R) (cs : seq slot) : prog V :=
  match cs with
  | [::] => Draw r Ret
  | Det x :: cs' => Flip (r x) (fun b => if b then Ret x else rrs (del r x) cs')
  | Samp t x :: cs' => Flip (acc r t x) (fun b => if b then Ret x else rrs (res r t) cs')
  end.

Definition onehot : rule := fun p _ => Draw p Ret.

Definition okslot (c : slot) : Prop :=
  match c with Det _ => True | Samp t x => law t /\ 0 < t x end.
Fixpoint oks (cs : seq slot) : Prop :=
  match cs with [::] => True | c :: cs' => okslot c /\ oks cs' end.

Lemma oks_rcons cs c : oks (rcons cs c) <-> oks cs /\ okslot c.
Proof. elim: cs => [|d cs IH] /=; tauto. Qed.

(* A rule is fair when appending one slot does not change its output in expectation. *)
Record fair (legal : seq slot -> Prop) (ver : rule) : Prop := Fair {
  fair0 : forall p f, law p -> E (ver p [::]) f = \sum_x p x * f x;
  fairD : forall p cs x f, law p -> oks cs ->
    E (ver p (rcons cs (Det x))) f = E (ver p cs) f;
  fairS : forall p cs t f, law p -> oks cs -> legal cs -> law t ->
    \sum_x t x * E (ver p (rcons cs (Samp t x))) f = E (ver p cs) f }.

End Rules.
