(* Lemma 1 for RheoVerification and Match: the coin and the residual together give back the target law p, in the mean
   over X ~ t. Division by 0 is 0, so t(X) = 0 and an empty residual need no exception. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section RheoRule.
Variables (R : realFieldType) (V : finType).
Notation Ret := (@Ret R V _).
Notation slot := (slot R V).
Notation Det := (@Det R V).

Lemma pos_ge0 (z : R) : 0 <= pos z.
Proof. by rewrite /pos le_maxr lexx. Qed.

Lemma acc_mul (p t : V -> R) x : 0 <= p x -> 0 <= t x -> t x * acc p t x = Num.min (t x) (p x).
Proof.
move=> p0; rewrite le_eqVlt => /predU1P[<-|t0].
  by rewrite mul0r; case: leP p0.
rewrite /acc minr_pmulr ?ltW // mulr1 mulrC divfK //; exact: lt0r_neq0.
Qed.

Lemma min_pos (a b : R) : b - Num.min a b = pos (b - a).
Proof.
rewrite /pos; case: (leP a b) => ab.
- by rewrite max_r // subr_ge0.
- by rewrite subrr max_l // subr_le0 ltW.
Qed.

Lemma res_mass (p t : V -> R) : law p -> law t ->
  \sum_x t x * (1 - acc p t x) = \sum_x pos (p x - t x).
Proof.
move=> [p0 p1] [t0 t1].
under eq_bigr do rewrite mulrBr mulr1 acc_mul //.
rewrite sumrB t1 -p1 -sumrB; apply: eq_bigr => x _; exact: min_pos.
Qed.

Lemma res_mul (p t : V -> R) y : (\sum_x pos (p x - t x)) * res p t y = pos (p y - t y).
Proof.
rewrite /res; set Z := \sum_z _.
case: (altP (Z =P 0)) => [Z0|nZ]; last by rewrite mulrC divfK.
rewrite Z0 mul0r; symmetry; move: Z0 => /eqP.
rewrite psumr_eq0; last by move=> *; exact: pos_ge0.
by move=> /allP /(_ y (mem_index_enum _)) /= /eqP.
Qed.

(* The local lemma, as an expectation; g is the value after a rejection. *)
Lemma local_exp (p t f : V -> R) : law p -> law t ->
  \sum_x t x * (acc p t x * f x + (1 - acc p t x) * \sum_y res p t y * f y)
    = \sum_x p x * f x.
Proof.
move=> lp lt; have [p0 _] := lp; have [t0 _] := lt.
under eq_bigr do rewrite mulrDr !mulrA acc_mul //.
rewrite big_split /= -big_distrl /= res_mass // big_distrr /= -big_split /=.
by apply: eq_bigr => x _; rewrite mulrA res_mul -mulrDl -min_pos addrCA subrr addr0.
Qed.

Lemma E_Draw_Ret (l f : V -> R) : E (Draw l Ret) f = \sum_x l x * f x.
Proof. by []. Qed.

Lemma sampled_rconsD (cs : seq slot) x : sampled (rcons cs (Det x)) = sampled cs.
Proof. by elim: cs => [|[y|t y] cs IH]. Qed.

Lemma sampled_rconsS (cs : seq slot) t x : sampled cs = None -> sampled (rcons cs (Samp t x)) = Some (t, x).
Proof. by elim: cs => [|[y|t' y] cs IH]. Qed.

(* RheoVerification is fair: with no child y ~ p; a new deterministic child leaves the law of y alone; a sampled child
   with X ~ t leaves it alone in the mean over X, provided that the node had no sampled child before. *)
Theorem rheo_fair : fair (fun cs => sampled cs = None) (@rheo R V).
Proof.
split => [p f lp|p cs x f lp _|p cs t f lp _ no lt] //.
- by rewrite /rheo sampled_rconsD.
- rewrite {2}/rheo no E_Draw_Ret -(local_exp f lp lt).
  by apply: eq_bigr => x _; rewrite /rheo sampled_rconsS.
Qed.

(* Match is fair, whatever the children. *)
Theorem onehot_fair : fair (fun _ => True) (@onehot R V).
Proof.
split=> // p cs t f lp _ _ [_ t1].
by rewrite -big_distrl /= t1 mul1r.
Qed.

End RheoRule.
