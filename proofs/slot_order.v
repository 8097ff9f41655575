(* RRSw tests children in slot order (heads, sampled child, fills), the rules of these files in the order of insertion.

   The two orders agree if factors do not increase from slot to slot, that is, if no proxy exceeds the factor of a
   head: true of the paper's proxy with any fill scale, false of the tail proxy, with which RRSw is biased
   (negative_rrs_tail.v). *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies predictable tables rank_order construction
  layered layered_lossless rheosampling ondemand options.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section SlotOrder.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation cand := (cand R V).

(* Kept candidates listed by slot number: the children of each node then stand in slot order. *)
Definition slot_no (a : cand) : nat := if a is s :: _ then idx s else 0%N.
Definition by_slot (l : seq cand) : seq cand := sort (fun a b => slot_no a <= slot_no b)%N l.

Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (D B N : nat).
Variables (proxy : prefix -> R) (fill : prefix -> V -> seq (R * V)).
Hypothesis proxy01 : forall u, 0 <= proxy u <= 1.
Hypothesis fill_le : forall u x c, c \in fill u x -> 0 <= c.1 <= proxy u.
Hypothesis fill_tokens : forall u x, map snd (fill u x) = map snd (rheosampling.fill q K m u x).

Notation t := (tail_law q K m).
Notation slots := (slots (head q m) (has_sampled q K m) proxy fill).
Notation layer := (layer (head q m) (has_sampled q K m) proxy fill B).
Notation kept := (kept (head q m) (has_sampled q K m) proxy fill D B N).

(* Drafting as before; the tree is verified with children in slot order. *)
Definition slot_step (ver : rule R V) : prog R V prefix :=
  bind (sample t (factor_draft q K m D B N proxy fill))
    (fun l => walk ver p D.+1 (foldl (plant t) (@empty R V) (by_slot l)) [::]).
Definition slot_decode (ver : rule R V) (L : nat) : prog R V prefix :=
  bind (slot_step ver) (fun w => complete p (L - size w) w).

(* No proxy exceeds a head factor, and fill factors do not increase. *)
Hypothesis heads_first : forall u c, c \in head q m u -> proxy u <= c.1.
Hypothesis fill_sorted : forall u x, pairwise (fun c d : R * V => d.1 <= c.1) (fill u x).

Lemma head_sorted u : pairwise (fun c d : R * V => d.1 <= c.1) (head q m u).
Proof.
rewrite /head /with_q pairwise_map.
have tr : transitive (fun x y => q u y <= q u x) by move=> b c d h1 h2; exact: le_trans h1.
have : sorted (fun x y => q u y <= q u x) (order q u) by apply: sort_sorted => b d; exact: le_total.
by rewrite sorted_pairwise // -(cat_take_drop (m u) (order q u)) pairwise_cat => /and3P[].
Qed.

Lemma mark_fac i (l : seq (R * V)) : pairwise (fun c d : R * V => d.1 <= c.1) l ->
  pairwise (fun s r : slotd R V => fac r <= fac s) (mark i l).
Proof.
elim: l i => [//|c l IH] i /= /andP[/allP cl /IH ->]; rewrite andbT.
by apply/allP => s /mem_mark[/cl].
Qed.

Lemma slots_fac_pw u x : pairwise (fun s r : slotd R V => fac r <= fac s) (slots u x).
Proof.
rewrite /construction.slots pairwise_cat mark_fac ?head_sorted //=.
case: has_sampled; last by rewrite allrel0r.
rewrite /= mark_fac ?fill_sorted // !andbT; apply/andP; split.
- apply/allrelP => s r /mem_mark[sh _ _]; have ps := heads_first sh.
  by rewrite inE => /predU1P[-> //|/mem_mark[/fill_le /andP[_ rp] _ _]]; exact: le_trans rp ps.
- by apply/allP => s /mem_mark[/fill_le /andP[_ sp] _ _].
Qed.

Lemma pairwise_both (T : eqType) (P Q : rel T) (l : seq T) s r : (forall x y, P x y -> ~~ P y x) ->
  pairwise P l -> pairwise Q l -> s \in l -> r \in l -> P s r -> Q s r.
Proof.
move=> as_; elim: l => [//|c l IH] /= /andP[/allP Pc Pl] /andP[/allP Qc Ql]; rewrite !inE.
case/predU1P=> [->|sl]; case/predU1P=> [->|rl]; last exact: IH.
- by move=> cc; have := as_ _ _ cc; rewrite cc.
- by move=> _; exact: Qc.
- by move=> sc; have := as_ _ _ sc; rewrite (Pc _ sl).
Qed.

Definition child_of u (a : cand) : bool := if a is _ :: a' then pre a' == u else false.
Definition child_at u (a : cand) : seq (slot R V) :=
  if a is c :: a' then
    if pre a' == u then [:: if smp c then Samp (t (pre a')) (tk c) else Det R (tk c)] else [::]
  else [::].

Lemma plant_at (l : seq cand) s u : foldl (plant t) s l u = s u ++ flatten (map (child_at u) (filter (child_of u) l)).
Proof.
elim: l s => [|a l IH] s /=; first by rewrite cats0.
rewrite IH; case: a => [//|c a]; rewrite /= /ins eq_sym.
by case: (pre a =P u) => [<-|//]; rewrite /= eqxx cat_rcons.
Qed.

(* Among the children of one node, rank order is slot order. *)
Lemma kept_sorted T u : positive t T ->
  sorted (fun a b => slot_no a <= slot_no b)%N (filter (child_of u) (kept T)).
Proof.
move=> pT; apply: pairwise_sorted; rewrite -[filter _ _]filter_predT.
have pw : pairwise (@before R V) (kept T).
  have := ranked_pw (head q m) (has_sampled q K m) proxy fill D B T.
  by rewrite -{1}(cat_take_drop N (ranked _ _ _ _ _ _ _)) pairwise_cat => /and3P[].
rewrite filter_predT; move: (pairwise_filter (child_of u) pw).
apply: (@sub_in_pairwise _ [pred a | child_of u a && (a \in kept T)]); last first.
  by apply/allP => a; rewrite mem_filter.
move=> [|s a] [|r b] //; rewrite !inE /= => /andP[/eqP au sk] /andP[/eqP bu rk] ab.
have inL c d : c :: d \in kept T -> d \in layer T (size d) /\ c \in slots (pre d) (T (pre d)).
  by move=> /mem_take; rewrite mem_sort mem_candidates /= mem_layerS' => /andP[_ /and3P[]].
have [aL sS] := inL _ _ sk; have [bL rS] := inL _ _ rk.
have e : a = b by apply: (pre_inj (factors_uniq proxy fill_tokens) pT aL bL); rewrite au.
move: ab; rewrite e in sS aL *; case: (leqP (idx s) (idx r)) => // rs ab.
have fsr : fac s <= fac r.
  apply: (pairwise_both _ (slots_pw _ _ _ _ _ _) (slots_fac_pw _ _) rS sS rs).
  by move=> x y; rewrite -leqNgt => /ltnW.
have b0 := layer_val (head_fac lawq (m := m)) proxy01 fill_le bL.
suff ba : before (r :: b) (s :: b) by have := before_trans (ab : before (s :: b) (r :: b)) ba; rewrite before_irr.
rewrite beforeE /created /= ltnn !eqxx rs !orbT /= andbT orbC eq_sym -le_eqVlt.
exact: ler_wpmul2l.
Qed.

Lemma by_slot_at T u : positive t T ->
  foldl (plant t) (@empty R V) (by_slot (kept T)) u = foldl (plant t) (@empty R V) (kept T) u.
Proof.
move=> pT; rewrite !plant_at; congr (_ ++ flatten (map _ _)).
have tot : total (fun a b : cand => slot_no a <= slot_no b)%N by move=> a b; exact: leq_total.
have tr : transitive (fun a b : cand => slot_no a <= slot_no b)%N by move=> b a c; exact: leq_trans.
by rewrite /by_slot filter_sort // sorted_sort // kept_sorted.
Qed.

Lemma walk_ext ver (s s' : tree R V) n w f : s =1 s' -> E (walk ver p n s w) f = E (walk ver p n s' w) f.
Proof.
move=> e; elim: n w => [//|n IH] w /=; rewrite !E_bind e; apply: E_ext => y.
by rewrite /toks e; case: ifP.
Qed.

(* If no proxy exceeds a head factor and fill factors do not increase: to test children in slot order or in the order of
   insertion gives the same law, whatever the rule. *)
Theorem slot_order_agrees ver L f : E (slot_decode ver L) f = E (factor_decode p q K m D B N proxy fill ver L) f.
Proof.
have pos0 := some_draw_pos lawq K m; have lt := lawt lawq K m.
have ask T : positive t T -> uniq (asked (factor_draft q K m D B N proxy fill) T) /\
    {subset asked (factor_draft q K m D B N proxy fill) T <= prefixes V D}.
  move=> pT; have [un sz] := asked_uniq D B N (factors_uniq proxy fill_tokens) pT.
  by split=> // u /sz; exact: mem_prefixes.
rewrite /slot_decode /slot_step /factor_decode /factor_step !E_bind -!(sample_table lt pos0 (us := prefixes V D)) //.
apply: (E_pos lt pos0) => T pT; rewrite answer_kept; apply: walk_ext => u; exact: by_slot_at.
Qed.

(* Under the same condition RRSw, with children in slot order, is lossless. *)
Theorem rrs_slot_order_lossless L f : (D < L)%N -> E (slot_decode (@rrs R V) L) f = E (complete p L [::]) f.
Proof.
move=> DL; rewrite slot_order_agrees.
exact: (factors_lossless lawp lawq B N proxy01 fill_le fill_tokens (rrs_fair R V)).
Qed.
End SlotOrder.

Section PaperProxy.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (D B N : nat).

Lemma paper_heads_first u c : c \in head q m u -> proxy q m u <= c.1.
Proof.
move=> /mapP[x xh ->]; rewrite /proxy.
have : sorted (fun x y => q u y <= q u x) (order q u) by apply: sort_sorted => b d; exact: le_total.
have tr : transitive (fun x y => q u y <= q u x) by move=> b e d h1 h2; exact: le_trans h1.
rewrite sorted_pairwise // -(cat_take_drop (m u) (order q u)) pairwise_cat => /and3P[_ + _].
rewrite -/(heads q m u); case eh: (heads q m u) xh => [//|a l] xh pw.
rewrite le_minl; apply/orP; left; move: xh pw; rewrite lastI mem_rcons inE pairwise_rcons.
by case/predU1P=> [->|xl] /andP[/allP H _] //; exact: H.
Qed.

Lemma paper_fill_sorted u x : pairwise (fun c d : R * V => d.1 <= c.1) (fill q K m u x).
Proof.
rewrite /fill /with_q pairwise_map; set l := filter _ _.
suff : pairwise (fun x y => q u y <= q u x) l.
  by rewrite -{1}(cat_take_drop (K u - m u - 1) l) pairwise_cat => /and3P[].
have : sorted (fun x y => q u y <= q u x) (order q u) by apply: sort_sorted => b d; exact: le_total.
have tr : transitive (fun x y => q u y <= q u x) by move=> b e d h1 h2; exact: le_trans h1.
rewrite sorted_pairwise // -{1}(cat_take_drop (m u) (order q u)) pairwise_cat => /and3P[_ _ H].
exact: pairwise_filter.
Qed.

Variable g : prefix -> R.       (* fill_scale *)
Hypothesis g01 : forall u, 0 <= g u <= 1.

Lemma scaled_fill_sorted u x : pairwise (fun c d : R * V => d.1 <= c.1) (scaled_fill q K m g u x).
Proof.
rewrite /scaled_fill pairwise_map; apply: sub_pairwise (paper_fill_sorted u x) => c d /= cd.
by have /andP[g0 _] := g01 u; exact: ler_wpmul2l.
Qed.

Lemma scaled_fill_le_paper u x c : c \in scaled_fill q K m g u x -> 0 <= c.1 <= proxy q m u.
Proof.
move=> /mapP[d /(fill_fac lawq) /andP[d0 d1] ->] /=; have /andP[g0 g1] := g01 u.
by rewrite mulr_ge0 //= (le_trans _ d1) // ler_pimull.
Qed.

(* RRSw as specified, children in slot order, with the paper's proxy and any fill scales g in [0, 1]: lossless for all
   laws p and q, all K, m, D, B, N. *)
Theorem rrsw_paper_proxy_lossless L f : (D < L)%N ->
  E (slot_decode p q K m D B N (proxy q m) (scaled_fill q K m g) (@rrs R V) L) f = E (complete p L [::]) f.
Proof.
apply: rrs_slot_order_lossless => //.
- exact: proxy_fac.
- exact: scaled_fill_le_paper.
- exact: scaled_fill_tokens.
- exact: paper_heads_first.
- exact: scaled_fill_sorted.
Qed.
End PaperProxy.
