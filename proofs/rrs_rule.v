(* Lemma 1 for RRSw: children tested one after the other, in the order of insertion, against a running residual r. Any
   number of sampled children. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section RrsRule.
Variables (R : realFieldType) (V : finType).

Lemma law_del (r : V -> R) x : law r -> r x != 1 -> law (del r x).
Proof.
move=> lr rx; have [r0 r1] := lr.
have d0 : 0 < 1 - r x by rewrite subr_gt0 lt_neqAle rx law_le1.
have dn : 1 - r x != 0 by rewrite lt0r_neq0.
split=> [y|]; first by rewrite /del; case: ifP => // _; rewrite divr_ge0 // ltW.
rewrite (bigD1 x) //= /del eqxx add0r.
rewrite (eq_bigr (fun y => r y / (1 - r x))); last by move=> y /negbTE ->.
rewrite -big_distrl /=; suff -> : \sum_(i | i != x) r i = 1 - r x by rewrite divff.
by rewrite -r1 [in RHS](bigD1 x) //= addrAC subrr add0r.
Qed.

Lemma law_res (r t : V -> R) x : law r -> law t -> 0 < t x -> acc r t x != 1 -> law (res r t).
Proof.
move=> lr lt tx ax; have [r0 r1] := lr; have [t0 t1] := lt.
have Zn : \sum_z pos (r z - t z) != 0.
  rewrite -res_mass // psumr_eq0; last first.
    by move=> y _; rewrite mulr_ge0 // subr_ge0 /acc le_minl lexx.
  apply/negP => /allP /(_ x (mem_index_enum _)) /=.
  by rewrite mulf_eq0 gt_eqF //= subr_eq0 eq_sym (negbTE ax).
split=> [y|]; first by rewrite /res divr_ge0 ?pos_ge0 // sumr_ge0 // => z _; exact: pos_ge0.
by rewrite -big_distrl /= divff.
Qed.

(* RRSw is fair, for any number of sampled children per node, if children are tested in the order of insertion. *)
Theorem rrs_fair : fair (fun _ => True) (@rrs R V).
Proof.
split=> // [p cs x f|p cs t f].
- elim: cs p => [|c cs IH] r lr /=.
  + move=> _; have [r0 r1] := lr.
    case: (eqVneq (r x) 1) => [rx|rx].
      rewrite rx subrr mul0r addr0 mul1r (bigD1 x) //= rx mul1r.
      rewrite big1 ?addr0 // => y yx.
      have : \sum_(i | i != x) r i = 0.
        by move: r1; rewrite (bigD1 x) //= rx => /eqP; rewrite addrC eq_sym -subr_eq subrr eq_sym => /eqP.
      move/eqP; rewrite psumr_eq0 // => /allP /(_ y (mem_index_enum _)) /implyP /(_ yx) /eqP ->.
      by rewrite mul0r.
    have dn : 1 - r x != 0 by rewrite subr_eq0 eq_sym.
    rewrite [RHS](bigD1 x) //=; congr (_ + _).
    rewrite (bigD1 x) //= {1}/del eqxx mul0r add0r big_distrr /=.
    by apply: eq_bigr => y /negbTE yx; rewrite /del yx mulrA mulrCA divff // mulr1.
  + case: c => [y|t y] /= [oc ocs].
    * case: (eqVneq (r y) 1) => [->|ry]; first by rewrite subrr !mul0r.
      by rewrite IH //; exact: law_del.
    * case: oc => lt ty; case: (eqVneq (acc r t y) 1) => [->|ay]; first by rewrite subrr !mul0r.
      by rewrite IH //; exact: law_res ay.
- elim: cs p => [|c cs IH] r lr /=.
  + by move=> _ _ lt; rewrite -(local_exp f lr lt).
  + case: c => [y|t' y] /= [oc ocs] _ lt; have [t0 t1] := lt.
    * under eq_bigr do rewrite mulrDr.
      rewrite big_split /= -big_distrl /= t1 mul1r; congr (_ + _).
      under eq_bigr do rewrite mulrCA.
      rewrite -big_distrr /=.
      case: (eqVneq (r y) 1) => [->|ry]; first by rewrite subrr !mul0r.
      by rewrite IH //; exact: law_del.
    * case: oc => lt' ty.
      under eq_bigr do rewrite mulrDr.
      rewrite big_split /= -big_distrl /= t1 mul1r; congr (_ + _).
      under eq_bigr do rewrite mulrCA.
      rewrite -big_distrr /=.
      case: (eqVneq (acc r t' y) 1) => [->|ay]; first by rewrite subrr !mul0r.
      by rewrite IH //; exact: law_res ay.

Qed.

End RrsRule.
