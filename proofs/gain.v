(* Accepted length: E[tau] is the expected sum, over insertions, of the mass of the new node at its
   insertion; and no verification can get more from a reveal than FlowVerification does. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless soundness
  martingale fair_martingale flow_test flow_law flow_masses flow_lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Gain.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).
Notation mass := (mass R V).
Notation history := (history R V).
Notation tree := (tree R V).

(* Accepted length of an output: all tokens but the last. *)
Definition tau (v : prefix) : R := (size v).-1%:R.

(* The masses of the kept nodes below w, down to n levels. *)
Fixpoint below (M : mass) (s : tree) (n : nat) (w : prefix) : R :=
  match n with
  | 0 => 0
  | n'.+1 => \sum_(y | y \in toks s w) (M (rcons w y) + below M s n' (rcons w y))
  end.

Lemma below_lin (t : V -> R) (M : V -> mass) s n w :
  \sum_x t x * below (M x) s n w = below (fun v => \sum_x t x * M x v) s n w.
Proof.
elim: n w => [|n IH] w /=; first by rewrite big1 // => x _; rewrite mulr0.
under eq_bigr do rewrite big_distrr /=.
rewrite exchange_big /=; apply: eq_bigr => y _; rewrite -IH -big_split /=.
by apply: eq_bigr => x _; rewrite mulrDr.
Qed.

Lemma below_eq M M' s n w : M =1 M' -> below M s n w = below M' s n w.
Proof. by move=> e; elim: n w => [//|n IH] w /=; apply: eq_bigr => y _; rewrite e IH. Qed.

Lemma below_ext M s s' n w : (forall v, s (w ++ v) = s' (w ++ v)) -> below M s n w = below M s' n w.
Proof.
elim: n w => [//|n IH] w H /=; have e := H [::]; rewrite cats0 in e; rewrite /toks e.
by apply: eq_bigr => y _; congr (_ + _); apply: IH => v; rewrite cat_rcons.
Qed.

Lemma below_nil M s n w : s w = [::] -> below M s n w = 0.
Proof. by case: n => [//|n] e /=; apply: big_pred0 => y; rewrite /toks e. Qed.

(* A new node ux adds its own mass. *)
Definition added (M : mass) (s : tree) (u : prefix) (x : V) : R :=
  if x \in toks s u then 0 else M (rcons u x).

Lemma below_off M s u c n w : ~~ seq.prefix w u -> below M (ins s u c) n w = below M s n w.
Proof.
move=> wu; apply: below_ext => v; rewrite ins_off //; apply: contraNneq wu => <-.
exact: prefix_prefix.
Qed.

Lemma below_ins M s u c n w v : u = w ++ v -> inT s w v -> (size v < n)%N ->
  s (rcons u (tok c)) = [::] \/ tok c \in toks s u ->
  below M (ins s u c) n w = below M s n w + added M s u (tok c).
Proof.
move=> + + + new; elim: v w n => [|y v IH] w [//|n] e /= wv vn; rewrite toks_ins.
- rewrite cats0 in e; rewrite -e eqxx.
  have off z : below M (ins s u c) n (rcons u z) = below M s n (rcons u z).
    by apply: below_off; apply/negP => /prefixP[r /(congr1 size)] /eqP;
       rewrite size_cat size_rcons -{1}[size u]addn0 addSnnS eqn_add2l.
  rewrite /added; case: ifP => xu.
    by rewrite addr0; apply: eq_big => [z|z _]; [rewrite mem_rcons inE; case: eqP => // ->|rewrite off].
  case: new => [ne|]; last by rewrite xu.
  rewrite (bigD1 (tok c)) ?mem_rcons ?inE ?eqxx //= off (below_nil _ _ ne) addr0 addrC; congr (_ + _).
  apply: eq_big => [z|z _]; last by rewrite off.
  rewrite mem_rcons inE; case: eqP => [->|_]; by rewrite ?xu ?andbF ?andbT.
- have wu : (w == u) = false.
    by rewrite e; apply/eqP => /(congr1 size) /eqP; rewrite size_cat -{1}[size w]addn0 eqn_add2l.
  case/andP: wv => yw wv; rewrite wu.
  rewrite (bigD1 y) //= [in RHS](bigD1 y) //= (IH (rcons w y) n) ?cat_rcons // -!addrA; congr (_ + (_ + _)).
  rewrite addrC; congr (_ + _); apply: eq_bigr => z /andP[_ zy]; rewrite below_off //.
  by rewrite e -cats1 prefix_catr // eqxx prefix_cons (negbTE zy).
Qed.

Variables (p : prefix -> V -> R) (D : nat) (legal : history -> prefix -> (V -> R) -> Prop).
Notation valid := (valid D legal).

Lemma walk_tau M h n w : is_law M -> valid h -> in_tree h w -> (n + size w = D.+1)%N ->
  M w * E (mass_walk M (tree_of h) n w) tau = M w * (size w)%:R + below M (tree_of h) n w.
Proof.
move=> lM vh; elim: n w => [|n IH] w kw nw.
  by have := in_tree_size vh kw; rewrite add0n in nw; rewrite nw ltnn.
transitivity (\sum_y (M (rcons w y) * (size w)%:R +
    (if y \in toks (tree_of h) w then M (rcons w y) + below M (tree_of h) n (rcons w y) else 0))); last first.
  by rewrite big_split /= -big_distrl /= (mass_split lM) -big_mkcond.
rewrite /= big_distrr /=; apply: eq_bigr => y _.
have cancel (c : R) : M w * (M (rcons w y) / M w * c) = M (rcons w y) * c.
  have [z|nz] := eqVneq (M w) 0; last by rewrite mulrA mulrCA divff // mulr1.
  have := mass_below lM [:: y] z; rewrite cats1 => ->; by rewrite z !mul0r.
rewrite cancel; case: ifP => yw; last by rewrite /= /tau size_rcons addr0.
rewrite IH ?in_tree_rcons ?kw // ?size_rcons ?addnS // addrA; congr (_ + _).
by rewrite -addn1 natrD mulrDr mulr1.
Qed.

(* E[tau] of a finished tree: the masses of its nodes. *)
Lemma tau_below M h : is_law M -> valid h ->
  E (mass_walk M (tree_of h) D.+1 [::]) tau = below M (tree_of h) D.+1 [::].
Proof.
move=> lM vh; have := walk_tau lM vh (w := [::]) isT (addn0 _).
by rewrite (mass_root lM) !mul1r add0r.
Qed.

Lemma below_grown M h u c : valid h -> in_tree h u -> (size u < D)%N ->
  below M (tree_of (rcons h (u, c))) D.+1 [::] =
  below M (tree_of h) D.+1 [::] + added M (tree_of h) u (tok c).
Proof.
move=> vh ku ud; rewrite tree_rcons (@below_ins M (tree_of h) u c D.+1 [::] u) //; first exact: ltnW.
case xu: (tok c \in toks (tree_of h) u); [by right|left; apply: size0nil; apply/eqP].
rewrite -leqn0 leqNgt; apply: contraFN xu => /(inv_par (valid_inv vh)).
by rewrite -[inT _ _ _]/(in_tree h _) in_tree_rcons => /andP[].
Qed.

(* The mass of every new node at its insertion, in expectation. *)
Fixpoint gain (L : history -> mass) (pi : policy R V) (h : history) : R :=
  match pi with
  | Stop => 0
  | InsDet u x k => let h' := rcons h (u, Det R x) in added (L h') (tree_of h) u x + gain L k h'
  | InsSamp u t k => \sum_x t x * (let h' := rcons h (u, Samp t x) in
      added (L h') (tree_of h) u x + gain L (k x) h')
  end.

(* A program that walks down the current law. *)
Definition walks (run : history -> prog prefix) (L : history -> mass) : Prop :=
  forall h f, valid h -> E (run h) f = E (mass_walk (L h) (tree_of h) D.+1 [::]) f.

Lemma tau_from L run pi h : martingale p D legal L -> walks run L -> valid h -> hwf D legal h pi ->
  E (bind (hdraft pi h) run) tau = below (L h) (tree_of h) D.+1 [::] + gain L pi h.
Proof.
move=> mg wk; elim: pi h => [|u x k IH|u t k IH] h vh /=.
- by move=> _; rewrite addr0 wk // tau_below //; exact: (mg_law mg).
- move=> [ku ud wfk]; rewrite IH //; last exact: valid_det.
  rewrite below_grown // addrA; congr (_ + _ + _).
  by apply: below_eq => v; exact: (mg_det mg).
- move=> [ku ud lt lg wfk]; have [t0 _] := lt.
  rewrite (eq_bigr (fun x => t x * below (L (rcons h (u, Samp t x))) (tree_of h) D.+1 [::] + t x *
      (added (L (rcons h (u, Samp t x))) (tree_of h) u x + gain L (k x) (rcons h (u, Samp t x))))).
    rewrite big_split /=; congr (_ + _); rewrite -/(below _ _ D.+1 _).
    transitivity (\sum_x t x * below (L (rcons h (u, Samp t x))) (tree_of h) D.+1 [::]); first by [].
    by rewrite below_lin; apply: below_eq => v; exact: (mg_samp mg).
  move=> x _; have := t0 x; rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r addr0.
  rewrite -mulrDr IH; [|exact: valid_samp|exact: wfk].
  by rewrite below_grown // addrA.
Qed.

(* Theorem. For every martingale of laws, every program that walks down it and every well-formed policy: E[tau] is the
   expected sum, over insertions of new nodes, of the mass of the new node right after its insertion. *)
Theorem expected_tau L run pi : martingale p D legal L -> walks run L -> hwf D legal [::] pi ->
  E (bind (hdraft pi [::]) run) tau = gain L pi [::].
Proof.
by move=> mg wk wfp; rewrite (tau_from mg wk (valid_nil _ _) wfp) below_nil // add0r.
Qed.

(* Theorem. For every martingale of laws: a reveal at u gains in expectation at most sum min(t(x), L(ux)). *)
Theorem gain_bound L h u t : martingale p D legal L -> valid h -> in_tree h u -> (size u < D)%N ->
  law t -> legal h u t ->
  \sum_x t x * L (rcons h (u, Samp t x)) (rcons u x) <= \sum_x Num.min (t x) (L h (rcons u x)).
Proof.
move=> mg vh ku ud lt lg; have [t0 t1] := lt; apply: ler_sum => x _; rewrite le_minr.
have ge y v : 0 <= t y * L (rcons h (u, Samp t y)) v.
  have := t0 y; rewrite le_eqVlt => /predU1P[<-|ty]; first by rewrite mul0r.
  by apply: mulr_ge0; [exact: ltW|exact/(mass_ge0 (mg_law mg _))/valid_samp].
apply/andP; split.
- have := t0 x; rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite mul0r.
  rewrite ler_pimulr // ?(ltW tx) //; apply: mass_le1; apply: (mg_law mg); exact: valid_samp.
- rewrite -(mg_samp mg (rcons u x) vh ku ud lt lg) [X in _ <= X](bigD1 x) //= ler_addl.
  by apply: sumr_ge0 => y _; exact: ge.
Qed.

Hypothesis lawp : forall u, law (p u).

(* Theorem. FlowVerification gains exactly this at every reveal. *)
Theorem flow_gain h u t : valid h -> law t ->
  \sum_x t x * flow_law p (rcons h (u, Samp t x)) (rcons u x) = \sum_x Num.min (t x) (flow_law p h (rcons u x)).
Proof.
move=> vh lt; have [t0 _] := lt; have lM := flow_law_is_law lawp vh; apply: eq_bigr => x _.
have := t0 x; rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite mul0r min_l // (mass_ge0 lM).
rewrite flow_law_samp; have := reveal_below (flow_law p h) u t x x [::]; rewrite !cats0 => ->.
rewrite shifted_same // -[flow_law p h (rcons u x)]/(next (flow_law p h) u x).
have [z|nz] := eqVneq (next (flow_law p h) u x) 0; last first.
  by rewrite [next _ _ _ * _]mulrC divfK // acc_mul //; exact: (mass_ge0 lM).
by rewrite z !mul0r mulr0 min_r // ltW.
Qed.
End Gain.

(* FlowVerification, RheoVerification, RRSw and Match all walk down their laws. *)
Section Walks.
Variables (R : realFieldType) (V : finType) (p : seq V -> V -> R) (D : nat).
Hypothesis lawp : forall u, law (p u).

(* FlowVerification, as specified, walks down its law. *)
Theorem flow_walks : walks D (@flow_legal R V) (flow p D) (flow_law p).
Proof. by move=> h f vh; rewrite /flow flow_state_tree; exact: flow_walk_law. Qed.

(* So does every fair and sound rule: RheoVerification, RRSw, Match. *)
Theorem rule_walks legal ver : fair legal ver -> sound_rule ver ->
  walks D (node_legal legal) (fun h => walk ver p D.+1 (tree_of h) [::]) (rule_law p ver).
Proof.
move=> vf vs h f vh; have lM := mg_law (fair_martingale D lawp vf vs) vh.
suff H n w : rule_law p ver h w * E (walk ver p n (tree_of h) w) f =
    rule_law p ver h w * E (mass_walk (rule_law p ver h) (tree_of h) n w) f.
  by have := H D.+1 [::]; rewrite (mass_root lM) !mul1r.
elim: n w => [//|n IH] w; rewrite [RHS](_ : _ = \sum_y rule_law p ver h (rcons w y) *
    E (if y \in toks (tree_of h) w then mass_walk (rule_law p ver h) (tree_of h) n (rcons w y)
       else Ret R V (rcons w y)) f).
  rewrite /= E_bind E_Pr big_distrr /=; apply: eq_bigr => y _.
  rewrite mulrA -[_ * Pr _ _](ruled_rcons p ver _ [::]) -/(rule_law p ver h _).
  by case: ifP => _ //; exact: IH.
rewrite /= big_distrr /=; apply: eq_bigr => y _.
have [z|nz] := eqVneq (rule_law p ver h w) 0; last by rewrite mulrA mulrCA divff // mulr1.
by have := mass_below lM [:: y] z; rewrite cats1 => ->; rewrite z !mul0r.
Qed.
End Walks.
