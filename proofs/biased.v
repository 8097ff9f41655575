(* What a counterexample states, and how it is computed.

   The theorems of losslessness say that a completed output has the law of the target.  `biased` says that it has not:
   target and draft are laws, and some string begins the output with another probability than the target's. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs policies numbers computing copied_rules models.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Biased.
Variable R : realFieldType.

(* The probability that the returned string starts with v. *)
Definition starts (V : finType) (c : prog R V (seq V)) (v : seq V) : R :=
  E c (fun w => (take (size v) w == v)%:R).

Section Tokens.
Variable n : nat.
Notation prefix := (seq 'I_n).
Notation prog := (prog R [finType of 'I_n] prefix).

(* For target p, draft q and completed output `decoded` of length L: it starts with v with probability `actual`, and a
   string sampled from the target does so with probability `expected`, which is another one. *)
Definition biased (p q : prefix -> 'I_n -> R) (L : nat) (decoded : prog) (v : prefix) (actual expected : R) : Prop :=
  [/\ (forall u, law (p u)) /\ (forall u, law (q u)),
      starts decoded v = actual,
      starts (complete (V := [finType of 'I_n]) p L [::]) v = expected
    & actual != expected].

Definition cstarts (c : comp fractions [finType of 'I_n] prefix) (v : prefix) : fractions :=
  prob v (law_of (tokens n) (take (size v)) c).

Lemma starts_copy decoded c v : same (@read R) eq decoded c -> starts decoded v = read R (cstarts c v).
Proof. by move=> s; apply: (law_ofP (read_meaning R) (tokensE n) v s) => w w' ->. Qed.

(* In words: to see that something is biased, compute with its copy. *)
Theorem biased_copy (target draft : rows) L decoded c v actual expected :
  same (@read R) eq decoded c ->
  [&& rows_ok n target, rows_ok n draft,
      same_number (cstarts c v) (fraction actual),
      same_number (cstarts (ccomplete (V := [finType of 'I_n]) (@computed n target) L [::]) v) (fraction expected)
    & ~~ same_number (fraction actual) (fraction expected)] ->
  biased (law_in R target) (law_in R draft) L decoded v (quotient R actual) (quotient R expected).
Proof.
move=> s /and5P[ok_p ok_q sa se ne]; rewrite -!fraction_in; split.
- by split=> u; exact: rows_law.
- by rewrite (starts_copy _ s); apply/eqP; rewrite read_eq.
- rewrite (starts_copy _ (same_complete (computed_law R target) L [::])).
  by apply/eqP; rewrite read_eq.
- by rewrite read_eq.
Qed.
End Tokens.
End Biased.
