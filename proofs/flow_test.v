(* The single-draft test against a part of a law.

   l gives masses to the tokens, at most 1 in all; the rest of the law lies elsewhere.  X ~ t is tested
   against l: if X = x, token x gets the mass a = min(1, l(x)/t(x)), and all that is left of the law, here
   and elsewhere, is multiplied by rho.  In the mean over X nothing moves.  No division needs a side
   condition: x / 0 = 0, and where a divisor is 0 nothing is left to divide. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Test.
Variables (R : realFieldType) (V : finType).
Implicit Types (l t : V -> R) (x y : V).

Definition rest l t : R := \sum_y pos (t y - l y).
Definition rho l t x : R := (1 - acc l t x) / rest l t.
(* The mass of y after the reveal of X = x. *)
Definition shifted l t x y : R := (if y == x then acc l t x else 0) + rho l t x * pos (l y - t y).

Variables (l t : V -> R).
Hypothesis l0 : forall y, 0 <= l y.
Hypothesis l1 : \sum_y l y <= 1.
Hypothesis lt : law t.
Let t0 : forall y, 0 <= t y. Proof. by case: lt. Qed.
Let t1 : \sum_y t y = 1. Proof. by case: lt. Qed.

Lemma rest_ge0 : 0 <= rest l t.
Proof. by apply: sumr_ge0 => y _; exact: pos_ge0. Qed.

Lemma acc_le1 x : acc l t x <= 1.
Proof. by rewrite /acc le_minl lexx. Qed.
Lemma acc_ge0 x : 0 <= acc l t x.
Proof. by rewrite /acc le_minr ler01 divr_ge0. Qed.
Lemma rho_ge0 x : 0 <= rho l t x.
Proof. by rewrite divr_ge0 ?rest_ge0 // subr_ge0 acc_le1. Qed.

Lemma restE : rest l t = 1 - \sum_y l y + \sum_y pos (l y - t y).
Proof.
rewrite -t1 -sumrB -big_split /=; apply: eq_bigr => y _.
by rewrite -!min_pos minC addrA subrK.
Qed.

Lemma rest_acc : \sum_x t x * (1 - acc l t x) = rest l t.
Proof.
apply: eq_bigr => x _; rewrite mulrBr mulr1 acc_mul //.
by rewrite minC min_pos.
Qed.

(* Nothing rejected: the masses are those of t. *)
Lemma rest_eq0 : rest l t = 0 -> \sum_y l y = 1 /\ forall y, pos (l y - t y) = 0.
Proof.
rewrite restE => e.
have s0 : 0 <= \sum_y pos (l y - t y) by apply: sumr_ge0 => y _; exact: pos_ge0.
have [/eqP e1 /eqP e2] : 1 - \sum_y l y == 0 /\ \sum_y pos (l y - t y) == 0.
  by apply/andP; rewrite -paddr_eq0 ?subr_ge0 // e.
split; first by apply/esym/eqP; rewrite -subr_eq0 e1.
move=> y; apply/eqP; move/eqP: e2; rewrite psumr_eq0 => [|z _]; last exact: pos_ge0.
by move=> /allP /(_ y (mem_index_enum _)).
Qed.

Lemma rho_mean (c : R) : (rest l t = 0 -> c = 0) -> \sum_x t x * (rho l t x * c) = c.
Proof.
move=> c0; rewrite (eq_bigr (fun x => t x * (1 - acc l t x) * (c / rest l t))); last first.
  by move=> x _; rewrite /rho -!mulrA; congr (_ * (_ * _)); rewrite mulrC.
rewrite -big_distrl /= rest_acc; have [e|ne] := eqVneq (rest l t) 0; first by rewrite e mul0r c0.
by rewrite mulrC divfK.
Qed.

Lemma rho_rest x : 0 < t x -> rho l t x * rest l t = 1 - acc l t x.
Proof.
move=> tx; have [e|ne] := eqVneq (rest l t) 0; last by rewrite divfK.
rewrite e mulr0; move/eqP: e; rewrite psumr_eq0 => [|y _]; last exact: pos_ge0.
move=> /allP /(_ x (mem_index_enum _)) /= /eqP; rewrite -min_pos => /eqP; rewrite subr_eq0 => /eqP e.
suff -> : acc l t x = 1 by rewrite subrr.
by apply: (mulfI (lt0r_neq0 tx)); rewrite mulr1 acc_mul // minC -e.
Qed.

Lemma shifted_ge0 x y : 0 <= shifted l t x y.
Proof.
apply: addr_ge0; first by case: ifP => // _; exact: acc_ge0.
by apply: mulr_ge0; [exact: rho_ge0|exact: pos_ge0].
Qed.

Lemma shifted_sum x : 0 < t x -> \sum_y shifted l t x y = 1 - rho l t x * (1 - \sum_y l y).
Proof.
move=> tx; rewrite big_split /= -big_mkcond /= big_pred1_eq -big_distrr /=.
have -> : \sum_y pos (l y - t y) = rest l t - (1 - \sum_y l y) by rewrite restE addrC addKr.
by rewrite mulrBr rho_rest // addrA [acc _ _ _ + _]addrC subrK.
Qed.

Lemma shifted_mean y : \sum_x t x * shifted l t x y = l y.
Proof.
under eq_bigr do rewrite mulrDr; rewrite big_split /= rho_mean; last by move=> /rest_eq0[_ ->].
rewrite (bigD1 y) //= eqxx big1 ?addr0 => [|x xy]; last by rewrite eq_sym (negbTE xy) mulr0.
by rewrite acc_mul // -min_pos addrC subrK.
Qed.

Lemma shifted0 x y : l y = 0 -> shifted l t x y = 0.
Proof.
move=> e; rewrite /shifted e sub0r /pos max_l ?oppr_le0 // mulr0 addr0.
by case: eqP => // <-; rewrite /acc e mul0r min_r ?ler01.
Qed.

(* x itself has the mass a; the others share (l - t)+, rho times. *)
Lemma shifted_same x : 0 < t x -> shifted l t x x = acc l t x.
Proof.
move=> tx; rewrite /shifted eqxx /rho; case: (leP 1 (l x / t x)) => h.
  by rewrite /acc min_l // subrr !mul0r addr0.
rewrite /pos [X in _ * X]max_l ?mulr0 ?addr0 // subr_le0.
by move: (ltW h); rewrite ler_pdivr_mulr // mul1r.
Qed.

Lemma shifted_other x y : y != x -> shifted l t x y = rho l t x * pos (l y - t y).
Proof. by move=> /negbTE yx; rewrite /shifted yx add0r. Qed.
End Test.
