(* The masses of FlowVerification are those of its law, so FlowVerification is lossless. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless martingale flow_test flow_law flow_masses.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section FlowLossless.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation history := (history R V).
Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Variable D : nat.
Notation valid := (valid D (@flow_legal R V)).
Notation flow_law := (flow_law p).
Notation flow_state := (flow_state p).

(* The scalars S say what the law M is at the edge of the kept tree. *)
Record agree_with (h : history) (M : mass R V) (S : masses R V) : Prop := AgreeWith {
  ag_ge0 : forall u, in_tree h u -> 0 <= mass_at S u;
  ag_rev : forall u, sampled (tree_of h u) = None -> revealed S u = None;
  ag_edge : forall u y, in_tree h u -> y \notin toks (tree_of h) u -> M (rcons u y) = untouched p S u y }.

Lemma pos_neg (z : R) : z <= 0 -> pos z = 0.
Proof. by move=> z0; rewrite /pos max_l. Qed.

Lemma not_kept_nil h u : valid h -> ~~ in_tree h u -> tree_of h u = [::].
Proof.
move=> vh nk; apply: size0nil; apply/eqP; rewrite -leqn0 leqNgt; apply: contra nk.
exact: (inv_par (valid_inv vh)).
Qed.

Lemma rcons_neq (u : prefix) x : (rcons u x == u) = false.
Proof. by apply/eqP => /(congr1 size) /eqP; rewrite size_rcons -{2}[size u]addn0 -addn1 eqn_add2l. Qed.

Lemma toks_ins (s : tree R V) u c v : toks (ins s u c) v = if v == u then rcons (toks s u) (tok c) else toks s v.
Proof. by rewrite /toks /ins; case: eqP => // _; rewrite map_rcons. Qed.

(* A node of the grown tree is an old one or the new one. *)
Lemma in_tree_grown h u c v : valid h -> in_tree h u -> in_tree (rcons h (u, c)) v ->
  in_tree h v \/ v = rcons u (tok c).
Proof.
move=> vh ku; elim/last_ind: v => [|v z IH]; first by left.
rewrite in_tree_rcons tree_rcons toks_ins => /andP[/IH kv].
have [->|vu] := eqVneq v u.
  by rewrite mem_rcons inE => /predU1P[->|zu]; [right|left; rewrite in_tree_rcons ku].
move=> zv; left; rewrite in_tree_rcons zv andbT; case: kv => // _; apply: contraT => nk.
by rewrite /toks (not_kept_nil vh nk) in zv.
Qed.

Lemma agree_start : agree_with [::] (flow_law [::]) (flow_state [::]).2.
Proof.
split=> [u|//|u y]; first by rewrite /=; case: ifP => // _; rewrite ler01.
case: u => [|x u] //= _ _; have -> : flow_law [::] [:: y] = p [::] y * 1 by []; by rewrite /untouched /= mul1r mulr1.
Qed.

Lemma agree_det h u x S : valid h -> in_tree h u -> agree_with h (flow_law h) S ->
  agree_with (rcons h (u, Det R x)) (flow_law (rcons h (u, Det R x))) (insert_det p (tree_of h) S u x).
Proof.
move=> vh ku [ge0 rev edge]; have lM := flow_law_is_law lawp vh; rewrite flow_law_det /insert_det.
have rev' v : sampled (tree_of (rcons h (u, Det R x)) v) = None -> revealed S v = None.
  rewrite tree_rcons /ins; case: eqP => [->|_]; last exact: rev.
  by rewrite sampled_rconsD; exact: rev.
have edge' v y : in_tree h v -> y \notin toks (tree_of (rcons h (u, Det R x))) v ->
    flow_law h (rcons v y) = untouched p S v y.
  move=> kv yv; apply: edge => //; apply: contra yv; rewrite tree_rcons toks_ins.
  by case: eqP => // ->; rewrite mem_rcons inE => ->; rewrite orbT.
case: ifP => xu.
  have old v : in_tree (rcons h (u, Det R x)) v -> in_tree h v.
    by case/(in_tree_grown vh ku) => // ->; rewrite in_tree_rcons ku.
  by split=> [v /old /ge0|//|v y /old kv]; [|exact: edge'].
have nk : ~~ in_tree h (rcons u x) by rewrite in_tree_rcons xu andbF.
have ux := edge u x ku (negbT xu).
split=> [v kv|//|v y kv yv] /=.
- case: eqP => [_|vx]; first by rewrite -ux (mass_ge0 lM).
  by case: (in_tree_grown vh ku kv) => [/ge0|].
- case: (in_tree_grown vh ku kv) => [kv'|ev].
  + rewrite edge' // /untouched /=; case: eqP => // e; by rewrite -e kv' in nk.
  + rewrite ev (flow_law_target p vh y nk) ux /untouched /= eqxx.
    suff -> : revealed S (rcons u x) = None by [].
    by apply: rev; rewrite (not_kept_nil vh nk).
Qed.

Section Sampled.
Variables (h : history) (u : prefix) (t : V -> R) (x : V) (S : masses R V).
Hypotheses (vh : valid h) (ku : in_tree h u) (lt : law t) (lg : flow_legal h u t) (tx : 0 < t x).
Hypothesis ag : agree_with h (flow_law h) S.
Notation M := (flow_law h).
Notation l := (next M u).
Notation w := (mass_at S u).
Let lM : is_law M := flow_law_is_law lawp vh.

Lemma kept_off_tail y : y \in toks (tree_of h) u -> t y = 0.
Proof. by case: lg => _; apply. Qed.

Lemma edge_next y : y \notin toks (tree_of h) u -> l y = w * p u y.
Proof. by move=> yu; rewrite /next (ag_edge ag) // /untouched (ag_rev ag) //; case: lg. Qed.

Lemma new_x : x \notin toks (tree_of h) u.
Proof. by apply/negP => /kept_off_tail e; move: tx; rewrite e ltxx. Qed.

Lemma rest_next : \sum_y pos (t y - w * p u y) = rest l t.
Proof.
apply: eq_bigr => y _; case yu: (y \in toks (tree_of h) u); last by rewrite edge_next ?yu.
rewrite (kept_off_tail yu) !sub0r !pos_neg // oppr_le0; first exact: (mass_ge0 lM).
by have [p0 _] := lawp u; rewrite mulr_ge0 // (ag_ge0 ag).
Qed.

Lemma acc_next : Num.min 1 (w * p u x / t x) = acc l t x.
Proof. by rewrite /acc edge_next ?new_x. Qed.

Lemma rho_next : (if Num.min 1 (w * p u x / t x) < 1
  then (1 - Num.min 1 (w * p u x / t x)) / (\sum_y pos (t y - w * p u y)) else 0) = rho l t x.
Proof.
rewrite acc_next rest_next /rho; case: ltP => // a1.
have -> : acc l t x = 1 by apply/eqP; rewrite eq_le a1 acc_le1.
by rewrite subrr mul0r.
Qed.

Lemma agree_samp : agree_with (rcons h (u, Samp t x)) (flow_law (rcons h (u, Samp t x))) (insert_samp p S u t x).
Proof.
have l0 := next_ge0 u lM; have nk : ~~ in_tree h (rcons u x) by rewrite in_tree_rcons (negbTE new_x) andbF.
have [_ rev edge] := ag; rewrite flow_law_samp /insert_samp rho_next acc_next; split.
- move=> v kv /=; case: eqP => [_|vx]; first exact: acc_ge0.
  by case: (in_tree_grown vh ku kv) => // kv'; rewrite mulr_ge0 ?(ag_ge0 ag) //; exact: rho_ge0.
- move=> v; rewrite tree_rcons; have [->|vu] := eqVneq v u.
    by case: lg => no _; rewrite ins_on sampled_rconsS.
  by rewrite ins_off //= => /rev ->; rewrite (negbTE vu).
move=> v y kv; rewrite tree_rcons toks_ins; case: (in_tree_grown vh ku kv) => [kv'|->]; last first.
  rewrite rcons_neq => yn.
  rewrite -cats1 (reveal_below M u t x x [:: y]) cats1 (shifted_same l tx) (flow_law_target p vh y nk).
  rewrite /untouched /= eqxx rcons_neq (rev _ _) ?(not_kept_nil vh nk) //.
  rewrite mulrAC; congr (_ * _); have [z|nz] := eqVneq (M (rcons u x)) 0; last by rewrite mulrC divfK.
  by rewrite z /acc /next z !mul0r min_r ?ler01.
have vx : (v == rcons u x) = false by apply/eqP => e; rewrite -e kv' in nk.
have [eu|vu] := eqVneq v u.
  rewrite eu mem_rcons inE negb_or => /andP[yx yu].
  have := reveal_below M u t x y [::]; rewrite !cats0 => ->.
  rewrite shifted_other // /untouched /= eqxx -edge_next //.
  have [z|nz] := eqVneq (M (rcons u y)) 0; last by rewrite mulrC divfK.
  by rewrite z /next z sub0r pos_neg ?mulr0 ?mul0r // oppr_le0; case: lt.
move=> yv; have ev := edge v y kv' yv.
have -> : untouched p (Masses (fun v0 => if v0 == rcons u x then acc l t x else rho l t x * mass_at S v0)
    (fun v0 => if v0 == u then Some (rho l t x, w, t) else
       if revealed S v0 is Some (f, w', t') then Some (rho l t x * f, w', t') else None)) v y
    = rho l t x * M (rcons v y).
  rewrite ev /untouched /= vx (negbTE vu); case: (revealed S v) => [[[f w'] t']|]; by rewrite mulrA.
case: (placeP u (rcons v y)) => [s e|b s e|a b]; last exact: reveal_beside.
  by move: ku; rewrite e => /in_tree_cat; rewrite in_tree_rcons (negbTE yv) andbF.
case/lastP: s e => [|s c] e.
  by rewrite cats0 in e; case/rcons_inj: e => e; rewrite e eqxx in vu.
move: e; rewrite -rcons_cat => /rcons_inj[e ec].
have bu : b \in toks (tree_of h) u by move: kv'; rewrite e => /in_tree_cat; rewrite in_tree_rcons => /andP[].
rewrite e ec rcons_cat reveal_below shifted_other; last by apply: contraNneq new_x => <-.
rewrite (kept_off_tail bu) subr0; have -> : pos (l b) = l b by rewrite /pos max_r.
have [z|nz] := eqVneq (M (rcons u b)) 0; first by rewrite (mass_below lM) ?mul0r ?mulr0.
by rewrite mulrC /next mulfK.
Qed.
End Sampled.

(* Theorem. After every valid history the scalars of the algorithm are those of the law: at the edge of the kept tree,
   M(uy) is the mass of the untouched token y. *)
Theorem masses_agree h : valid h -> agree_with h (flow_law h) (flow_state h).2.
Proof.
elim=> [|{}h u x vh IH ku ud|{}h u t x vh IH ku ud lt lg tx]; first exact: agree_start.
- by rewrite flow_state_det; exact: agree_det.
- by rewrite flow_state_samp; exact: agree_samp.
Qed.

Section Walk.
Variables (h : history).
Hypothesis vh : valid h.
Notation M := (flow_law h).
Notation s := (tree_of h).
Notation S := (flow_state h).2.
Let ag : agree_with h M S := masses_agree vh.
Let lM : is_law M := flow_law_is_law lawp vh.

Lemma leaf_mass u : in_tree h u -> tree_of h u = [::] -> mass_at S u = M u.
Proof.
move=> ku e; rewrite -(mass_split lM u).
under eq_bigr => y _ do rewrite (ag_edge ag) ?/toks ?e //.
rewrite /untouched (ag_rev ag) ?e // -big_distrr /=; have [_ ->] := lawp u.
by rewrite mulr1.
Qed.

Lemma full_mass n u : in_tree h u -> (n + size u = D)%N -> full p s S n u = M u.
Proof.
elim: n u => [|n IH] u ku nu /=.
  by apply: leaf_mass => //; apply: (inv_depth (valid_inv vh)); rewrite -nu.
case e: (tree_of h u) => [|c cs]; first exact: leaf_mass.
rewrite -(mass_split lM u); apply: eq_bigr => y _; case: ifP => yu; last by rewrite -(ag_edge ag) ?yu.
by apply: IH; rewrite ?in_tree_rcons ?ku // size_rcons addnS.
Qed.

Lemma weight_mass u y : in_tree h u -> weight p D s S u y = M (rcons u y).
Proof.
move=> ku; rewrite /weight; case: ifP => yu; last by rewrite -(ag_edge ag) ?yu.
have ky : in_tree h (rcons u y) by rewrite in_tree_rcons ku.
by apply: full_mass => //; rewrite subnK //; exact: in_tree_size vh ky.
Qed.

(* The walk of the algorithm is the walk down the law. *)
Lemma flow_walk_law n u f : in_tree h u ->
  E (flow_walk p D s S n u) f = E (mass_walk M (tree_of h) n u) f.
Proof.
elim: n u => [//|n IH] u ku /=; apply: eq_bigr => y _; rewrite weight_mass //.
rewrite (eq_bigr (fun z => M (rcons u z))) => [|z _]; last exact: weight_mass.
rewrite (mass_split lM); congr (_ * _); case: ifP => yu //=.
by rewrite IH // in_tree_rcons ku.
Qed.
End Walk.

(* Theorem. For every target and depth, FlowVerification as specified realises its law. *)
Theorem flow_realises : realises p D (@flow_legal R V) (flow p D) flow_law.
Proof.
move=> h n f vh Dn; rewrite -(mass_walk_realises (flow_martingale D _ lawp) f vh Dn) !E_bind.
by rewrite /flow flow_state_tree; exact: flow_walk_law.
Qed.

(* Theorem. For every target, every depth D, every well-formed policy (one sampled slot per node, from any law under
   which no child that is kept already can be drawn), and every f of the output completed to n > D tokens:
   FlowVerification gives f the mean that it has under target sampling. *)
Theorem flow_lossless pi n f : hwf D (@flow_legal R V) [::] pi -> (D < n)%N ->
  E (hdecode p (flow p D) n pi) f = E (complete p n [::]) f.
Proof. by move=> wfp Dn; apply: (martingale_lossless _ (flow_martingale D _ lawp) flow_realises). Qed.

(* Hence every string of more than D tokens has the target's probability. *)
Corollary flow_lossless_string pi y : hwf D (@flow_legal R V) [::] pi -> (D < size y)%N ->
  Pr (hdecode p (flow p D) (size y) pi) y = target p [::] y.
Proof. by move=> wfp Dy; apply: (martingale_string (flow_martingale D _ lawp) flow_realises). Qed.
End FlowLossless.
