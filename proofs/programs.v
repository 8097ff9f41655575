(* Randomised programs. A program returns, draws a token from a law, or flips a coin of stated bias. Its meaning is
   E m f, the expectation of f at its outcome; two programs emit the same law when E agrees for every f. Every draw and
   every coin is new randomness, and the numbers are those of any ordered field: exact arithmetic. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Programs.
Variables (R : realFieldType) (V : finType).

Inductive prog (A : Type) : Type :=
| Ret of A
| Draw of (V -> R) & (V -> prog A)
| Flip of R & (bool -> prog A).

Fixpoint E A (m : prog A) (f : A -> R) : R :=
  match m with
  | Ret a => f a
  | Draw l k => \sum_x l x * E (k x) f
  | Flip b k => b * E (k true) f + (1 - b) * E (k false) f
  end.

Fixpoint bind A B (m : prog A) (g : A -> prog B) : prog B :=
  match m with
  | Ret a => g a
  | Draw l k => Draw l (fun x => bind (k x) g)
  | Flip b k => Flip b (fun c => bind (k c) g)
  end.

Definition law (l : V -> R) := (forall x, 0 <= l x) /\ \sum_x l x = 1.

Definition Pr (A : eqType) (m : prog A) (y : A) : R := E m (fun a => (a == y)%:R).

Lemma E_bind A B (m : prog A) (g : A -> prog B) f :
  E (bind m g) f = E m (fun a => E (g a) f).
Proof.
elim: m => [a|l k IH|b k IH] //=.
- by apply: eq_bigr => x _; rewrite IH.
- by rewrite !IH.
Qed.

Lemma E_ext A (m : prog A) f g : f =1 g -> E m f = E m g.
Proof.
move=> fg; elim: m => [a|l k IH|b k IH] //=.
- by apply: eq_bigr => x _; rewrite IH.
- by rewrite !IH.
Qed.

Lemma E_lin A (m : prog A) (t : V -> R) (F : V -> A -> R) :
  E m (fun a => \sum_x t x * F x a) = \sum_x t x * E m (F x).
Proof.
elim: m => [a|l k IH|b k IH] //=.
- under eq_bigr do rewrite IH big_distrr /=.
  rewrite exchange_big /=; apply: eq_bigr => x _.
  by rewrite big_distrr /=; apply: eq_bigr => y _; rewrite mulrCA.
- rewrite !IH !big_distrr -big_split /=; apply: eq_bigr => x _.
  by rewrite mulrDr !(mulrCA (t x)).
Qed.

Lemma E_cst A (m : prog A) c : E m (fun _ => c) = c * E m (fun _ => 1).
Proof.
elim: m => [a|l k IH|b k IH] /=; first by rewrite mulr1.
- by rewrite big_distrr; apply: eq_bigr => x _; rewrite IH mulrCA.
- by rewrite !IH mulrDr !(mulrCA c).
Qed.

Lemma law_le1 (l : V -> R) x : law l -> l x <= 1.
Proof.
move=> [l0 <-]; rewrite (bigD1 x) //= ler_addl; exact: sumr_ge0.
Qed.

End Programs.
