(* RheoVerification, RRSw and Match are instances of the general form: a rule that answers node by node
   gives a law to every kept tree, and a fair rule makes these laws a martingale. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless soundness martingale.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section FairMartingale.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).

Lemma sound_ge0 A P (m : prog A) f : sound P m -> (forall a, 0 <= f a) -> 0 <= E m f.
Proof.
move=> + f0; elim: m => [a|l k IH|b k IH] /=; first by move=> _.
- move=> [[l0 _] sk]; apply: sumr_ge0 => x _; have := l0 x; rewrite le_eqVlt => /predU1P[<-|lx].
    by rewrite mul0r.
  by apply: mulr_ge0; [exact: ltW|apply: IH; exact: sk].
- move=> [/andP[b0 b1] s1 s0]; apply: addr_ge0.
  + move: b0; rewrite le_eqVlt => /predU1P[<-|b0]; first by rewrite mul0r.
    by apply: mulr_ge0; [exact: ltW|apply: IH; exact: s1].
  + move: b1; rewrite le_eqVlt => /predU1P[->|b1]; first by rewrite subrr mul0r.
    by apply: mulr_ge0; [rewrite subr_ge0 ltW|apply: IH; exact: s0].
Qed.

Lemma sound_one A P (m : prog A) : sound P m -> E m (fun _ => 1) = 1.
Proof.
elim: m => [//|l k IH|b k IH] /=.
- move=> [[l0 l1] sk]; rewrite -[RHS]l1; apply: eq_bigr => x _.
  have := l0 x; rewrite le_eqVlt => /predU1P[<-|lx]; first by rewrite mul0r.
  by rewrite IH ?mulr1 //; exact: sk.
- move=> [/andP[b0 b1] s1 s0].
  have -> : b * E (k true) (fun=> 1) = b.
    move: b0; rewrite le_eqVlt => /predU1P[<-|b0]; first by rewrite mul0r.
    by rewrite IH ?mulr1 //; exact: s1.
  have -> : (1 - b) * E (k false) (fun=> 1) = 1 - b.
    move: b1; rewrite le_eqVlt => /predU1P[->|b1]; first by rewrite subrr mul0r.
    by rewrite IH ?mulr1 //; exact: s0.
  by rewrite addrC subrK.
Qed.

Lemma E_Pr (m : prog V) f : E m f = \sum_y Pr m y * f y.
Proof.
elim: m => [a|l k IH|b k IH]; rewrite /Pr /=.
- rewrite (bigD1 a) //= eqxx mul1r big1 ?addr0 // => y /negbTE ya.
  by rewrite eq_sym ya mul0r.
- under [LHS]eq_bigr do rewrite IH big_distrr /=.
  rewrite exchange_big /=; apply: eq_bigr => y _; rewrite big_distrl /=.
  by apply: eq_bigr => x _; rewrite mulrA.
- rewrite !IH !big_distrr -big_split /=; apply: eq_bigr => y _.
  by rewrite [RHS]mulrDl !mulrA.
Qed.

Variables (p : prefix -> V -> R) (D : nat).
Hypothesis lawp : forall u, law (p u).
Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis ver_sound : sound_rule ver.

(* Every prefix below w, visited or not, answers by its rule. *)
Fixpoint ruled (s : tree R V) (w v : prefix) : R :=
  match v with [::] => 1 | y :: v' => Pr (ver (p w) (s w)) y * ruled s (rcons w y) v' end.
Definition rule_law (h : history R V) : mass R V := ruled (tree_of h) [::].
Definition node_legal (h : history R V) (u : prefix) (t : V -> R) := legal (tree_of h u).

Lemma ruled_rcons s w v x : ruled s w (rcons v x) = ruled s w v * Pr (ver (p (w ++ v)) (s (w ++ v))) x.
Proof.
elim: v w => [|y v IH] w /=; first by rewrite cats0 mulr1 mul1r.
by rewrite IH cat_rcons mulrA.
Qed.

Lemma ruled_below s u c y v : ruled (ins s u c) (rcons u y) v = ruled s (rcons u y) v.
Proof.
suff H w : (size u < size w)%N -> ruled (ins s u c) w v = ruled s w v by apply: H; rewrite size_rcons.
elim: v w => [//|z v IH] w uw /=; rewrite ins_off ?IH ?size_rcons 1?ltnW //.
by apply/eqP => e; rewrite e ltnn in uw.
Qed.

Lemma ruled_det s u x w v : (forall w, oks (s w)) -> ruled (ins s u (Det R x)) w v = ruled s w v.
Proof.
move=> ok; elim: v w => [//|y v IH] w /=; have [->|wu] := eqVneq w u.
- by rewrite ins_on ruled_below /Pr (fairD ver_fair).
- by rewrite ins_off // IH.
Qed.

Lemma ruled_samp s u t w v : (forall w, oks (s w)) -> law t -> legal (s u) ->
  \sum_x t x * ruled (ins s u (Samp t x)) w v = ruled s w v.
Proof.
move=> ok lt lg; have [_ t1] := lt.
elim: v w => [|y v IH] w /=; first by rewrite -big_distrl /= t1 mul1r.
have [->|wu] := eqVneq w u.
- under eq_bigr do rewrite ins_on ruled_below mulrA.
  by rewrite -big_distrl /= /Pr (fairS ver_fair).
- under eq_bigr do rewrite ins_off // mulrCA.
  by rewrite -big_distrr /= IH.
Qed.

Lemma ruled_nil s w v x : s (w ++ v) = [::] -> ruled s w (rcons v x) = ruled s w v * p (w ++ v) x.
Proof.
move=> e; rewrite ruled_rcons e /Pr (fair0 ver_fair) // (bigD1 x) //= eqxx mulr1 big1 ?addr0 //.
by move=> y /negbTE ->; rewrite mulr0.
Qed.

(* Theorem. For every fair and sound rule, every target and depth: the laws of the trees of a growing history are a
   martingale. *)
Theorem fair_martingale : martingale p D node_legal rule_law.
Proof.
split.
- move=> h vh; have iv := valid_inv vh; have ok := inv_ok iv; rewrite /rule_law; split.
  + move=> v; elim: v (@nil V) => [|y v IH] w /=; first exact: ler01.
    by apply: mulr_ge0 => //; apply: (sound_ge0 (ver_sound (lawp w) (ok w))) => a; exact: ler0n.
  + by [].
  + move=> v; under eq_bigr do rewrite ruled_rcons.
    rewrite -big_distrr /= (eq_bigr (fun x => Pr (ver (p v) (tree_of h v)) x * 1)).
      by rewrite -(E_Pr _ (fun=> 1)) (sound_one (ver_sound (lawp v) (ok v))) mulr1.
    by move=> x _; rewrite mulr1.
- move=> v; rewrite /rule_law; elim: v (@nil V) => [//|y v IH] w /=.
  rewrite IH /Pr (fair0 ver_fair) // (bigD1 y) //= eqxx mulr1 big1 ?addr0 //.
  by move=> z /negbTE ->; rewrite mulr0.
- move=> h u x v vh _ _; rewrite /rule_law tree_rcons ruled_det //; exact/inv_ok/(valid_inv vh).
- move=> h u t v vh _ _ lt lg; rewrite /rule_law; under eq_bigr do rewrite tree_rcons.
  apply: ruled_samp => //; exact/inv_ok/(valid_inv vh).
- move=> h v x vh nk; apply: ruled_nil; apply: size0nil; apply/eqP; rewrite -leqn0 leqNgt.
  by apply/negP => /(inv_par (valid_inv vh)) kv; rewrite /in_tree kv in nk.
Qed.

Lemma expect_ruled s n w f : expect (ruled s [::]) n w f = ruled s [::] w * val ver p s n w f.
Proof.
elim: n w => [//|n IH] w /=; rewrite E_Pr big_distrr /=; apply: eq_bigr => y _.
by rewrite IH ruled_rcons mulrA.
Qed.

(* Theorem. Walking by a fair rule, node by node, realises its law. *)
Theorem rule_realises : realises p D node_legal (fun h => walk ver p D.+1 (tree_of h) [::]) rule_law.
Proof.
move=> h n f vh Dn.
have := @walk_val _ _ _ _ _ _ lawp ver_fair (tree_of h) D.+1 [::] n f (valid_inv vh) isT (addn0 _) Dn.
by rewrite subn0 => ->; rewrite expect_ruled mul1r.
Qed.

Lemma wf_hwf h pi : wf legal D (tree_of h) pi -> hwf D node_legal h pi.
Proof.
elim: pi h => [//|u x k IH|u t k IH] h /=.
- by move=> [ku ud wk]; split=> //; apply: IH; rewrite tree_rcons.
- by move=> [ku ud lt lg wk]; split=> // x tx; apply: IH; rewrite tree_rcons; exact: wk.
Qed.

(* Hence the theorem on policies once more: every fair and sound rule is lossless for every well-formed policy. *)
Corollary fair_lossless pi n f : wf legal D (@empty R V) pi -> (D < n)%N ->
  E (hdecode p (fun h => walk ver p D.+1 (tree_of h) [::]) n pi) f = E (complete p n [::]) f.
Proof.
move=> wfp Dn; apply: (martingale_lossless _ fair_martingale rule_realises) => //.
exact: (@wf_hwf [::]).
Qed.
End FairMartingale.

Section Instances.
Variables (R : realFieldType) (V : finType) (p : seq V -> V -> R) (D : nat).
Hypothesis lawp : forall u, law (p u).

(* RheoVerification is an instance; at most one sampled slot per node. *)
Theorem rheo_martingale :
  martingale p D (node_legal (fun cs => sampled cs = None)) (rule_law p (@rheo R V)).
Proof. exact: (fair_martingale D lawp (@rheo_fair R V) (@sound_rheo R V)). Qed.

(* RRSw is an instance, children tested in the order of insertion; any number of sampled slots per node. *)
Theorem rrs_martingale : martingale p D (node_legal (fun _ => True)) (rule_law p (@rrs R V)).
Proof. exact: (fair_martingale D lawp (@rrs_fair R V) (@sound_rrs R V)). Qed.

(* Match is an instance; any number of sampled slots per node. *)
Theorem onehot_martingale : martingale p D (node_legal (fun _ => True)) (rule_law p (@onehot R V)).
Proof. apply: (fair_martingale D lawp (@onehot_fair R V)) => q cs lq _; exact: sound_onehot. Qed.
End Instances.
