(* Lemma 2: the construction is predictable. Used of the factors: they lie in [0, 1], the proxy does not depend on X
   (its type says so), a fill factor is at most the proxy. Not used: that a head factor is at least the proxy, that B
   >= 1. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import predictable rank_order construction.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Layered.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation table := (table V).
Notation cand := (cand R V).

Notation slotd := (slotd R V).
Notation value := (@value R V).
Notation before := (@before R V).
Notation created := (@created R V).
Notation pre := (@pre R V).
Notation tk := (@tk R V).
Variable head : prefix -> seq (R * V).
Variable hasS : prefix -> bool.
Variable proxy : prefix -> R.
Variable fill : prefix -> V -> seq (R * V).
Variables (D B N : nat).

Notation instr_of := (@instr_of R V).
Notation slots := (slots head hasS proxy fill).
Notation samp_slot := (samp_slot head proxy).
Notation kids := (kids head hasS proxy fill).
Notation layer := (layer head hasS proxy fill B).
Notation candidates := (candidates head hasS proxy fill D B).
Notation ranked := (ranked head hasS proxy fill D B).
Notation kept := (kept head hasS proxy fill D B N).
Notation build := (build head hasS proxy fill D B N).
Notation ranked_pw := (ranked_pw head hasS proxy fill D B).

Hypothesis head_fac : forall u c, c \in head u -> 0 <= c.1 <= 1.
Hypothesis proxy_fac : forall u, 0 <= proxy u <= 1.
Hypothesis fill_fac : forall u x c, c \in fill u x -> 0 <= c.1 <= proxy u.

Lemma slots_fac u x s : s \in slots u x -> 0 <= fac s <= 1.
Proof.
rewrite /slots mem_cat => /orP[/mem_mark[/head_fac // _ _]|].
case: hasS => //; rewrite inE => /predU1P[->|/mem_mark[/fill_fac /= /andP[f0 f1] _ _]].
  exact: proxy_fac.
by rewrite f0 (le_trans f1) //; case/andP: (proxy_fac u).
Qed.

Lemma layer_val T l a : a \in layer T l -> 0 <= value a.
Proof.
elim: l a => [|l IH] a; first by rewrite /= inE => /eqP ->; exact: ler01.
case: a => [|s a]; first by move=> /size_layer.
rewrite mem_layerS' => /and3P[/IH a0 _ /slots_fac /andP[s0 _]].
by rewrite /= mulr_ge0.
Qed.

Lemma before_fill u x y s a : 0 <= value a -> s \in mark (size (head u)).+1 (fill u x) ->
  before (samp_slot u y :: a) (s :: a).
Proof.
move=> a0 /mem_mark[/fill_fac /= /andP[_ f1] /andP[i1 _] _].
have i2 : (idx (samp_slot u y) < idx s)%N by exact: i1.
rewrite beforeE /created /= ltnn !eqxx i2 !orbT /= andbT orbC eq_sym -le_eqVlt.
exact: ler_wpmul2l.
Qed.

(* What ranks before b is decided by the draws of the sampled slots that rank before b. *)
Lemma stable T T' b :
  (forall s a, smp s -> s :: a \in candidates T -> before (s :: a) b -> T (pre a) = T' (pre a)) ->
  forall l a, (l <= D)%N -> before a b -> (a \in layer T l) = (a \in layer T' l).
Proof.
move=> H; elim=> [//|l IH] a lD ab.
case: a ab => [|s a] ab; first by apply/idP/idP => /size_layer.
case v0: ((0 <= value a) && (fac s <= 1)); last first.
  suff F T0 : (s :: a \in layer T0 l.+1) = false by rewrite !F.
  apply/negP; rewrite mem_layerS' => /and3P[/layer_val a0 _ /slots_fac /andP[_ s1]].
  by rewrite a0 s1 in v0.
case/andP: v0 => a0 s1; have aa := before_kid a0 s1; have ab' := before_trans aa ab.
rewrite !mem_layerS' (IH a (ltnW lD) ab').
have -> : count (before^~ a) (layer T l) = count (before^~ a) (layer T' l).
  apply: count_mem_eq; try exact/uniq_created/layer_pw.
  by move=> c ca; apply: IH; [exact: ltnW|exact: before_trans ab'].
case aT: (a \in layer T' l) => //=; case cB: (_ < B)%N => //=.
rewrite /slots !mem_cat; congr (_ || _); case hS: (hasS (pre a)) => //.
case hb: (before (samp_slot (pre a) (T (pre a)) :: a) b).
  rewrite (H _ _ _ _ hb) //.
  rewrite mem_candidates /= (size_layer aT) lD mem_layerS' (IH a (ltnW lD) ab') aT /=.
  have -> : count (before^~ a) (layer T l) = count (before^~ a) (layer T' l).
    apply: count_mem_eq; try exact/uniq_created/layer_pw.
    by move=> c ca; apply: IH; [exact: ltnW|exact: before_trans ab'].
  by rewrite cB /slots hS mem_cat inE eqxx orbT.
suff F y : (s \in samp_slot (pre a) y :: mark (size (head (pre a))).+1 (fill (pre a) y)) = false.
  by rewrite !F.
apply/negP; rewrite inE => /predU1P[es|sf].
- by move: ab hb; rewrite es (before_tokl _ _ (s' := samp_slot (pre a) (T (pre a)))) // => ->.
- by rewrite (before_trans (before_fill (T (pre a)) a0 sf) ab) in hb.
Qed.

Lemma mem_reveals (l : seq (instr V)) u : (u \in reveals l) = (@ISamp V u \in l).
Proof.
elim: l => [//|[v x|v] l IH] /=; rewrite !inE IH //.
Qed.

Lemma next T T' k : (k < size (ranked T))%N ->
  agree (reveals (take k (map instr_of (ranked T)))) T T' ->
  (k < size (ranked T'))%N /\ instr_of (nth [::] (ranked T') k) = instr_of (nth [::] (ranked T) k).
Proof.
move=> kT ag; set b := nth [::] (ranked T) k.
have pw := ranked_pw T; have bT : b \in ranked T by exact: mem_nth.
have ib : index b (ranked T) = k by rewrite index_uniq // uniq_before.
have H : forall s a, smp s -> s :: a \in candidates T -> before (s :: a) b -> T (pre a) = T' (pre a).
  move=> s a ss sa sab; apply: ag; rewrite mem_reveals -map_take.
  have := take_index pw sab; rewrite mem_ranked ib => /(_ sa) /(map_f instr_of).
  by rewrite /= ss.
have st := stable H.
have cnt : count (before^~ b) (candidates T') = k.
  rewrite -[RHS]ib index_sorted // count_ranked; apply: count_mem_eq; try exact/uniq_created/candidates_pw.
  move=> c cb; rewrite !mem_candidates; case sc: (0 < size c <= D)%N => //=.
  by case/andP: sc => _ cD; rewrite (st _ _ cD cb).
move: (bT); rewrite mem_ranked mem_candidates => /andP[/andP[b0 bD]].
case eb : b b0 bD => [//|s a] _ /= aD; set l := size a in aD.
rewrite mem_layerS' => /and3P[aT cB sT].
have /andP[s0 s1] := slots_fac sT; have a0 := layer_val aT.
have ab : before a b by rewrite eb; exact: before_kid.
have aT' : a \in layer T' l by rewrite -(st _ _ (ltnW aD) ab).
have cB' : (count (before^~ a) (layer T' l) < B)%N.
  rewrite (_ : count _ _ = count (before^~ a) (layer T l)) //.
  apply: count_mem_eq; try exact/uniq_created/layer_pw.
  by move=> c ca; rewrite -(st _ _ (ltnW aD) (before_trans ca ab)).
pose s' := if smp s then samp_slot (pre a) (T' (pre a)) else s.
have [fs [is' ns]] : fac s = fac s' /\ idx s = idx s' /\ instr_of (s' :: a) = instr_of (s :: a).
  rewrite /s' /=; case ss: (smp s); last by rewrite ss.
  by have [_ ->] := slots_smp sT ss.
have sT' : s' \in slots (pre a) (T' (pre a)).
  move: sT; rewrite /s' /slots !mem_cat => /orP[sh|].
    by have [_ _ ->] := mem_mark sh; rewrite sh.
  case hS : (hasS (pre a)) => //; rewrite inE => /predU1P[->|sf].
    by rewrite /= inE eqxx orbT.
  have [_ _ ->] := mem_mark sf; rewrite -(H (samp_slot (pre a) (T (pre a)))) //.
  + by rewrite inE sf !orbT.
  + rewrite mem_candidates /= -/l aD mem_layerS' aT cB /slots hS mem_cat inE eqxx orbT //.
  + rewrite eb; exact: before_fill a0 sf.
have b'T : s' :: a \in ranked T'.
  by rewrite mem_ranked mem_candidates /= -/l aD mem_layerS' aT' cB' sT'.
have ib' : index (s' :: a) (ranked T') = k.
  rewrite index_sorted ?ranked_pw // count_ranked -[RHS]cnt; apply: eq_count => c /=.
  by rewrite eb (before_tokr _ _ fs is').
by split; rewrite -ib' ?index_mem // nth_index.
Qed.

Lemma onth_map (l : seq cand) k : (k < size l)%N ->
  onth (map instr_of l) k = Some (instr_of (nth [::] l k)).
Proof. by move=> kl; rewrite /onth -map_drop (drop_nth [::] kl). Qed.

(* Lemma 2. For all heads, proxies and fills with head factors in [0, 1], proxies in [0, 1] and fill factors in [0,
   proxy], and all D, B, N: the construction is predictable. *)
Theorem layered_predictable : predictable build.
Proof.
move=> T T' k; rewrite /build /kept !map_take size_take size_map => kT ag.
have [kN kr] : (k < N)%N /\ (k < size (ranked T))%N.
  by move: kT; case: (ltnP N (size (ranked T))) => H kT; split=> //;
     [exact: ltn_trans H|exact: leq_trans H].
have ag' : agree (reveals (take k (map instr_of (ranked T)))) T T'.
  by move: ag; rewrite take_take // ltnW.
have [kr' e] := next kr ag'.
rewrite -!map_take !onth_map ?size_take; first by rewrite !nth_take // e.
- by case: ifP.
- by case: ifP.
Qed.

End Layered.
