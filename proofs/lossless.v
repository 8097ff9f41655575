(* The theorem: every well-formed policy is lossless with every fair rule. `val` is the expected f when each prefix,
   visited or not, answers by its rule; insertions leave it alone in the mean (a martingale); on the empty tree it is
   sampling from the target, on the finished tree it is the walk, completed. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Lossless.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).
Notation slot := (slot R V).
Notation Det := (@Det R V).
Notation rule := (rule R V).
Notation tree := (tree R V).
Notation empty := (@empty R V).
Notation policy := (policy R V).

Variable ver : rule.
Variable legal : seq slot -> Prop.
Variable D : nat.             (* depth *)
Variable p : prefix -> V -> R.   (* target *)
Hypothesis lawp : forall u, law (p u).
Hypothesis ver_fair : fair legal ver.
Notation walk := (walk ver p).
Notation complete := (complete p).
Notation decode := (decode ver D p).
Notation target := (target p).
Notation wf := (wf legal D).
Notation inv := (inv D).

(* value of a tree: the output of the rule at every prefix, whether visited or not *)
Fixpoint val (s : tree) (n : nat) (w : prefix) (f : prefix -> R) : R :=
  match n with
  | 0 => f w
  | n'.+1 => E (ver (p w) (s w)) (fun y => val s n' (rcons w y) f)
  end.

Lemma val_ext s s' n w f :
  (forall u, s (w ++ u) = s' (w ++ u)) -> val s n w f = val s' n w f.
Proof.
elim: n w => [|n IH] w H //=.
have := H [::]; rewrite cats0 => ->; apply: E_ext => y.
by apply: IH => u; rewrite cat_rcons.
Qed.

Lemma val_below s u c n y f : val (ins s u c) n (rcons u y) f = val s n (rcons u y) f.
Proof.
apply: val_ext => v; apply: ins_off; apply/eqP => /(congr1 size).
by rewrite size_cat size_rcons => /eqP; rewrite addSn -addnS -{2}[size u]addn0 eqn_add2l.
Qed.

Lemma val_det s u x n w f : (forall w, oks (s w)) ->
  val (ins s u (Det x)) n w f = val s n w f.
Proof.
move=> ok; elim: n w => [|n IH] w //=.
case: (eqVneq w u) => [->|wu].
- rewrite ins_on (fairD ver_fair) //; apply: E_ext => y; exact: val_below.
- rewrite ins_off //; apply: E_ext => y; exact: IH.
Qed.

(* The martingale step. *)
Lemma val_samp s u t n w f : (forall w, oks (s w)) -> law t -> legal (s u) ->
  \sum_x t x * val (ins s u (Samp t x)) n w f = val s n w f.
Proof.
move=> ok lt lg; have [_ t1] := lt.
elim: n w => [|n IH] w /=; first by rewrite -big_distrl /= t1 mul1r.
case: (eqVneq w u) => [->|wu].
- rewrite -(fairS ver_fair _ (lawp u) (ok u) lg lt); apply: eq_bigr => x _.
  rewrite ins_on; congr (_ * _); apply: E_ext => y; exact: val_below.
- under eq_bigr do rewrite ins_off //.
  rewrite -E_lin; apply: E_ext => y; exact: IH.
Qed.

Lemma val_nil s n w f : (forall u, s (w ++ u) = [::]) ->
  val s n w f = E (complete n w) f.
Proof.
elim: n w => [|n IH] w H //=.
have := H [::]; rewrite cats0 => ->.
rewrite (fair0 ver_fair) //; apply: eq_bigr => y _; congr (_ * _).
by apply: IH => u; rewrite cat_rcons.
Qed.

(* The walk over a finished tree realises val. *)
Lemma walk_val s n w L f : inv s -> inT s [::] w -> (n + size w = D.+1)%N -> (D < L)%N ->
  E (bind (walk n s w) (fun w' => complete (L - size w') w')) f = val s (L - size w) w f.
Proof.
move=> iv; elim: n w => [|n IH] w wT nw DL /=.
  rewrite val_nil // => u; apply: (inv_depth iv); rewrite size_cat.
  by rewrite add0n in nw; rewrite nw ltnW // leq_addr.
have -> : (L - size w = (L - size w).-1.+1)%N.
  by rewrite prednK // subn_gt0 (leq_trans _ DL) // -nw addSn ltnS leq_addl.
rewrite /= !E_bind; apply: E_ext => y; rewrite -E_bind.
have e : ((L - size w).-1 = L - size (rcons w y))%N by rewrite size_rcons subnS.
rewrite e; case: ifP => yw.
- rewrite IH //; last by rewrite size_rcons addnS -addSn.
  by rewrite -cats1 inT_cat wT /= yw.
- rewrite /= val_nil // => u; apply: size0nil; apply/eqP; rewrite -leqn0 leqNgt; apply/negP => H.
  have := inv_par iv H; rewrite -cats1 -catA inT_cat /= => /andP[_].
  by rewrite yw.
Qed.

(* From any tree s that satisfies the invariant: run a policy that is well formed from s, walk, complete to L > D
   tokens. The expectation of any f of the output is the value of s. *)
Theorem draft_val pi s L f : inv s -> wf s pi -> (D < L)%N ->
  E (bind (bind (draft pi s) (fun s' => walk D.+1 s' [::]))
          (fun w => complete (L - size w) w)) f = val s L [::] f.
Proof.
elim: pi s => [|u x k IH|u t k IH] s iv.
- move=> _ DL; have := @walk_val s D.+1 [::] L f iv isT (addn0 _) DL.
  by rewrite subn0.
- move=> [us ud wk] DL; rewrite IH //; last exact: inv_ins.
  by apply: val_det; exact: inv_ok iv.
- move=> [us ud lt lg wk] DL; rewrite -(val_samp _ _ _ (inv_ok iv) lt lg).
  apply: eq_bigr => x _; have [t0 _] := lt; have := t0 x.
  rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r.
  congr (_ * _); apply: IH => //; first exact: inv_ins.
  exact: wk.
Qed.

(* For every vocabulary, all target laws p, every depth D, every fair rule and every well-formed policy: the output of
   the step, completed with target tokens to any length L > D, has the law of L target tokens. *)
Theorem lossless pi L f : wf empty pi -> (D < L)%N ->
  E (decode L pi) f = E (complete L [::]) f.
Proof.
move=> wfp DL; rewrite (draft_val f (inv_empty R V D) wfp DL).
exact: val_nil.
Qed.

Lemma Pr_complete w y : Pr (complete (size y) w) (w ++ y) = target w y.
Proof.
elim: y w => [|x y IH] w; first by rewrite /Pr /= cats0 eqxx.
rewrite /Pr /= (bigD1 x) //= -cat_rcons -/(Pr _ _) IH big1 ?addr0 // => z zx.
suff H n v : (size w < size v)%N -> nth x v (size w) = z ->
    E (complete n v) (fun a => (a == rcons w x ++ y)%:R) = 0.
  by rewrite H ?mulr0 // ?size_rcons // nth_rcons ltnn eqxx.
elim: n v => [|n IHn] v sv nv /=.
  case: eqP => // e; move: nv; rewrite e cat_rcons nth_cat ltnn subnn /= => xz.
  by rewrite xz eqxx in zx.
rewrite big1 // => a _; rewrite IHn ?mulr0 // ?size_rcons 1?ltnW //.
by rewrite nth_rcons sv.
Qed.

(* The same for one string: a string y of more than D tokens is emitted with probability p(y_1) p(y_2 | y_1) ... *)
Corollary lossless_string pi y : wf empty pi -> (D < size y)%N ->
  Pr (decode (size y) pi) y = target [::] y.
Proof. by move=> wfp Dy; rewrite /Pr lossless // -/(Pr _ _) -[y in Pr _ y]cat0s Pr_complete. Qed.

End Lossless.
