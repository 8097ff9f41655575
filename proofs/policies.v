(* Policies, and the decoding step. A policy is a strategy that grows the tree: it stops, inserts a deterministic
   child, or inserts a sampled child and goes on with X in view. Drafting, the walk, and completing the output are
   programs. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Policies.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).
Notation Ret := (@Ret R V _).
Notation slot := (slot R V).
Notation Det := (@Det R V).
Notation rule := (rule R V).
Notation tree := (tree R V).
Notation empty := (@empty R V).

Inductive policy :=
| Stop
| InsDet of prefix & V & policy
| InsSamp of prefix & (V -> R) & (V -> policy).

Variable ver : rule.
Variable legal : seq slot -> Prop.
Variable D : nat.             (* depth *)
Variable p : prefix -> V -> R.   (* target *)

(* A policy is well formed from tree s: it inserts below kept nodes of depth < D, draws
   from laws, and a further sampled slot at u must be legal for the rule.  Only branches
   of positive probability are looked at. *)
Fixpoint wf (s : tree) (pi : policy) : Prop :=
  match pi with
  | Stop => True
  | InsDet u x k => [/\ inT s [::] u, (size u < D)%N & wf (ins s u (Det x)) k]
  | InsSamp u t k => [/\ inT s [::] u, (size u < D)%N, law t, legal (s u)
                      & forall x, 0 < t x -> wf (ins s u (Samp t x)) (k x)]
  end.

Fixpoint draft (pi : policy) (s : tree) : prog tree :=
  match pi with
  | Stop => Ret s
  | InsDet u x k => draft k (ins s u (Det x))
  | InsSamp u t k => Draw t (fun x => draft (k x) (ins s u (Samp t x)))
  end.

(* Walk: at most n tokens are emitted after w. *)
Fixpoint walk (n : nat) (s : tree) (w : prefix) : prog prefix :=
  match n with
  | 0 => Ret w
  | n'.+1 => bind (ver (p w) (s w)) (fun y =>
      if y \in toks s w then walk n' s (rcons w y) else Ret (rcons w y))
  end.

Fixpoint complete (n : nat) (w : prefix) : prog prefix :=
  match n with
  | 0 => Ret w
  | n'.+1 => Draw (p w) (fun y => complete n' (rcons w y))
  end.

Definition step (pi : policy) : prog prefix :=
  bind (draft pi empty) (fun s => walk D.+1 s [::]).

Definition decode (L : nat) (pi : policy) : prog prefix :=
  bind (step pi) (fun w => complete (L - size w) w).

Fixpoint target (w y : prefix) : R :=
  match y with [::] => 1 | x :: y' => p w x * target (rcons w x) y' end.

End Policies.
