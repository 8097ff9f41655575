(* Models written down as tables of fractions, for computing and for the theorems alike.

   Tokens are the ordinals below V.  A table has a row for each prefix; where it has none, all mass is on token 0. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Coq Require BinNums BinInt QArith_base.
From Rheo Require programs.
From Rheo Require Import numbers computing.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The tokens 0, ..., n - 1, as a list that computes. *)
Fixpoint tokens (n : nat) : seq 'I_n :=
  if n is k.+1 then ord0 :: map (lift ord0) (tokens k) else [::].

Lemma tokensE n : tokens n = enum 'I_n.
Proof.
elim: n => [|n IH] /=; first by apply/esym/size0nil; rewrite size_enum_ord.
apply: (inj_map val_inj); rewrite val_enum_ord /=; congr (_ :: _).
by rewrite IH -map_comp (@eq_map _ _ _ (S \o val)) // map_comp val_enum_ord (iotaDl 1 0).
Qed.

(* Prefix, then its law as numerators and denominators. *)
Definition rows := seq (seq nat * seq (nat * nat)).
Fixpoint row (l : rows) (u : seq nat) : seq (nat * nat) :=
  if l is (v, r) :: l' then if v == u then r else row l' u else [:: (1%N, 1%N)].

Definition whole (n : nat) : fractions := QArith_base.Qmake (BinInt.Z.of_nat n) BinNums.xH.
Definition fraction (ab : nat * nat) : fractions := div (whole ab.1) (whole ab.2).
Definition computed n (l : rows) (u : seq 'I_n) : 'I_n -> fractions :=
  let r := map fraction (row l (map val u)) in fun x => nth (whole 0) r x.

Section Meaning.
Variable R : realFieldType.
Definition quotient (ab : nat * nat) : R := ab.1%:R / ab.2%:R.
Definition law_in n (l : rows) (u : seq 'I_n) (x : 'I_n) : R := nth 0 (map quotient (row l (map val u))) x.

Lemma whole_in n : read R (whole n) = n%:R.
Proof. by rewrite /read /of_Q /= (@of_ZE R n 0) ?(@of_ZE R 1 0) ?subr0 ?divr1 // BinInt.Z.sub_0_r. Qed.

Lemma fraction_in ab : read R (fraction ab) = quotient ab.
Proof. by rewrite /fraction (mV (read_meaning R)) !whole_in. Qed.

(* In words: the computed law is the law in the field. *)
Theorem computed_law n (l : rows) (u : seq 'I_n) : same_law (read R) (law_in l u) (computed l u).
Proof.
move=> x; rewrite /law_in /computed; elim: (row _ _) (nat_of_ord x) => [|ab r IH] [|i] //=.
- by rewrite whole_in.
- by rewrite whole_in.
- by rewrite fraction_in.
Qed.

(* Equal as numbers, which can be computed. *)
Definition same_number (a b : fractions) : bool := leb a b && leb b a.
Lemma read_eq a b : (read R a == read R b) = same_number a b.
Proof. by rewrite eq_le /same_number !(mle (read_meaning R)). Qed.

(* Every row has mass 1. *)
Definition row_sum n (r : seq (nat * nat)) : fractions :=
  csum [seq nth (whole 0) (map fraction r) (nat_of_ord x) | x <- tokens n].
Definition rows_ok n (l : rows) : bool :=
  (0 < n)%N && all (fun vr => same_number (row_sum n vr.2) (one fractions)) l.

Lemma rows_law n (l : rows) (u : seq 'I_n) : rows_ok n l -> programs.law (law_in l u).
Proof.
case: n u => [//|n] u /andP[_ ok]; split=> [x|].
  rewrite /law_in; elim: (row _ _) (nat_of_ord x) => [|ab r IH] [|i] //=.
  by rewrite divr_ge0 ?ler0n.
have e : read R (row_sum n.+1 (row l (map val u))) = 1.
  rewrite -(m1 (read_meaning R)); apply/eqP; rewrite read_eq.
  elim: l ok => [_|[v r] l IH /= /andP[r1 lok]]; last by case: eqP => // _; exact: (IH lok).
  rewrite -read_eq (m1 (read_meaning R)) /row_sum (csumE (read_meaning R) (tokensE _)).
  rewrite big_ord_recl big1 ?addr0 => [|x _] /=; first by rewrite fraction_in /quotient divr1.
  by rewrite nth_nil whole_in.
rewrite -e /row_sum (csumE (read_meaning R) (tokensE _)); apply: eq_bigr => x _.
by rewrite (computed_law l u x).
Qed.
End Meaning.
