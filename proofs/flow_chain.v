(* On a chain of sampled nodes FlowVerification is block verification: the same law of the output. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless martingale
  flow_test flow_law flow_masses flow_lossless block.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Chain.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation history := (history R V).
Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Variable D : nat.
Notation valid := (valid D (@flow_legal R V)).
Notation flow_law := (flow_law p).

(* The insertions of a chain below u. *)
Fixpoint chain (u : prefix) (l : links R V) : history :=
  if l is (q, x) :: l' then (u, Samp q x) :: chain (rcons u x) l' else [::].

Lemma chain_cons h u q x l : h ++ chain u ((q, x) :: l) = rcons h (u, Samp q x) ++ chain (rcons u x) l.
Proof. by rewrite cat_rcons. Qed.

Lemma drawn_cons q x l : drawn ((q, x) :: l : links R V) -> [/\ law q, 0 < q x & drawn l].
Proof. by move=> d; have [lq qx] := d (q, x) (or_introl erefl); split=> // c cl; apply: d; right. Qed.

(* A leaf u of the tree of h, where a chain may be put. *)
Record leaf (h : history) (u : prefix) (l : links R V) : Prop := Leaf {
  leaf_valid : valid h;
  leaf_in : in_tree h u;
  leaf_nil : tree_of h u = [::];
  leaf_room : (size u + size l <= D)%N;
  leaf_drawn : drawn l }.

Lemma leaf_next h u q x l : leaf h u ((q, x) :: l) -> leaf (rcons h (u, Samp q x)) (rcons u x) l.
Proof.
move=> [vh ku nu room /drawn_cons[lq qx dl]]; rewrite /= addnS in room; split=> //.
- apply: valid_samp => //; first by apply: leq_trans room; rewrite ltnS leq_addr.
  by split; rewrite /toks nu.
- by rewrite in_tree_rcons /in_tree tree_rcons (inT_ins _ _ ku) toks_ins eqxx mem_rcons inE eqxx.
- rewrite tree_rcons ins_off; last by rewrite rcons_neq.
  by apply: (not_kept_nil vh); rewrite in_tree_rcons /toks nu andbF.
- by rewrite size_rcons addSn.
Qed.

Lemma chain_valid h u l : leaf h u l -> valid (h ++ chain u l).
Proof.
elim: l h u => [|[q x] l IH] h u lf; first by rewrite cats0; case: lf.
by rewrite chain_cons; apply: IH; exact: leaf_next.
Qed.

(* Insertions further down do not touch v. *)
Lemma chain_tree h u l v : (size v < size u)%N -> tree_of (h ++ chain u l) v = tree_of h v.
Proof.
elim: l h u => [|[q x] l IH] h u vu; first by rewrite cats0.
rewrite chain_cons IH ?size_rcons 1?ltnW // tree_rcons ins_off //.
by apply/eqP => e; rewrite e ltnn in vu.
Qed.

Lemma rho_ext (l l' t : V -> R) x : l =1 l' -> rho l t x = rho l' t x.
Proof.
move=> e; rewrite /rho /acc e; congr (_ / _); apply: eq_bigr => y _; by rewrite e.
Qed.

(* The law at the new leaf of a chain. *)
Lemma next_leaf h u q x l w : leaf h u ((q, x) :: l) -> (forall y, flow_law h (rcons u y) = w * p u y) ->
  forall y, flow_law (rcons h (u, Samp q x)) (rcons (rcons u x) y) = next_weight p w u q x * p (rcons u x) y.
Proof.
move=> [vh ku nu _ /drawn_cons[lq qx _]] e y.
have nk : ~~ in_tree h (rcons u x) by rewrite in_tree_rcons /toks nu andbF.
rewrite flow_law_samp -cats1 (reveal_below _ u q x x [:: y]) cats1 (shifted_same _ qx) (flow_law_target p vh y nk).
have -> : next_weight p w u q x = acc (next (flow_law h) u) q x by rewrite /acc /next e.
rewrite mulrAC; congr (_ * _); have [z|nz] := eqVneq (flow_law h (rcons u x)) 0; last by rewrite mulrC divfK.
by rewrite z /acc /next z !mul0r min_r ?ler01.
Qed.

(* What does not pass through the chain is multiplied by all of its rho. *)
Lemma chain_beside h u l w v : leaf h u l -> (forall y, flow_law h (rcons u y) = w * p u y) ->
  ~~ seq.prefix v u -> ~~ seq.prefix u v -> flow_law (h ++ chain u l) v = later p w u l * flow_law h v.
Proof.
elim: l h u w => [|[q x] l IH] h u w lf e vu uv; first by rewrite cats0 mul1r.
rewrite chain_cons (IH _ _ _ (leaf_next lf) (next_leaf lf e)).
- rewrite flow_law_samp reveal_beside //= mulrCA mulrA; congr (_ * _ * _).
  exact: rho_ext.
- apply/negP; case/prefixP => s; case/lastP: s => [|s z].
    by rewrite cats0 => ev; rewrite -ev prefix_rcons in uv.
  by rewrite -rcons_cat => /rcons_inj[ev _]; rewrite ev prefix_prefix in vu.
- by apply: contra uv; exact/prefix_trans/prefix_rcons.
Qed.

Lemma walk_split (M : mass R V) s n u f : is_law M -> M u * E (mass_walk M s n.+1 u) f =
  \sum_y (if y \in toks s u then M (rcons u y) * E (mass_walk M s n (rcons u y)) f else M (rcons u y) * f (rcons u y)).
Proof.
move=> lM; rewrite /= big_distrr /=; apply: eq_bigr => y _.
have [z|nz] := eqVneq (M u) 0.
  have := mass_below lM [:: y] z; rewrite cats1 => e.
  by rewrite z e !mul0r; case: ifP.
by rewrite mulrA mulrCA divff // mulr1; case: ifP.
Qed.

Lemma chain_walk h u l w n f : leaf h u l -> (forall y, flow_law h (rcons u y) = w * p u y) -> (size l < n)%N ->
  flow_law (h ++ chain u l) u * E (mass_walk (flow_law (h ++ chain u l)) (tree_of (h ++ chain u l)) n u) f =
  outcome p w u l f.
Proof.
elim: l h u w n => [|[q x] l IH] h u w [//|n] lf e nl.
  rewrite cats0 walk_split; last by case: lf => vh *; exact: flow_law_is_law vh.
  by apply: eq_bigr => y _; rewrite /toks (leaf_nil lf) e.
have lf' := leaf_next lf; have e' := next_leaf lf e; have lM := flow_law_is_law lawp (chain_valid lf).
rewrite walk_split // chain_cons; move: lM; rewrite chain_cons => lM; set h' := rcons h _ in lf' e' lM *.
have tx : toks (tree_of (h' ++ chain (rcons u x) l)) u = [:: x].
  by rewrite /toks chain_tree ?size_rcons // tree_rcons ins_on (leaf_nil lf).
rewrite tx (bigD1 x) //= inE eqxx (IH _ _ _ _ lf' e') // addrC; congr (_ + _).
have [_ _ _ _ /drawn_cons[lq qx _]] := lf.
have z0 : rho (tested p w u) q x * left_over p w u q x = 0.
  have := shifted_same (tested p w u) qx; rewrite /shifted eqxx => /eqP.
  by rewrite -subr_eq0 addrAC subrr add0r => /eqP.
have zt : rho (tested p w u) q x * later p (next_weight p w u q x) (rcons u x) l * left_over p w u q x = 0.
  by rewrite mulrAC z0 mul0r.
rewrite [RHS](bigD1 x) //= zt mul0r add0r.
apply: eq_bigr => y yx; rewrite inE (negbTE yx) (chain_beside lf' e').
- have := reveal_below (flow_law h) u q x y [::]; rewrite !cats0 /h' flow_law_samp => ->.
  rewrite shifted_other //.
  have -> : rho (next (flow_law h) u) q x = rho (tested p w u) q x by exact: rho_ext.
  have -> : pos (next (flow_law h) u y - q y) = left_over p w u q y by rewrite /next e.
  rewrite [flow_law h _ * _]mulrC; have [z|nz] := eqVneq (flow_law h (rcons u y)) 0.
    have -> : left_over p w u q y = 0 by rewrite /left_over -e z sub0r pos_neg // oppr_le0; case: lq.
    by rewrite !(mulr0, mul0r).
  by rewrite divfK // [later _ _ _ _ * _]mulrA [later _ _ _ _ * _]mulrC.
- by rewrite -!cats1 prefix_catr // eqxx prefix_cons (negbTE yx).
- by rewrite -!cats1 prefix_catr // eqxx prefix_cons eq_sym (negbTE yx).
Qed.

(* Theorem. For every target, every chain l of drawn tokens (each with its own law) that is at most D long, and
   every f of the output: FlowVerification and block verification of l give f the same mean. *)
Theorem flow_chain_block l f : drawn l -> (size l <= D)%N ->
  E (flow p D (chain [::] l)) f = E (block p l) f.
Proof.
move=> dl lD; have lf : leaf [::] [::] l by split=> //; exact: valid_nil.
have vh := chain_valid lf; rewrite /flow flow_state_tree (flow_walk_law lawp vh) // block_outcome //.
rewrite -(@chain_walk [::] [::] l 1 D.+1 f lf) //; last by move=> y; rewrite mul1r; exact: mulr1.
by rewrite (mass_root (flow_law_is_law lawp vh)) mul1r.
Qed.

(* Hence both emit every string with the same probability. *)
Corollary flow_chain_block_string l y : drawn l -> (size l <= D)%N ->
  Pr (flow p D (chain [::] l)) y = Pr (block p l) y.
Proof. exact: flow_chain_block. Qed.
End Chain.
