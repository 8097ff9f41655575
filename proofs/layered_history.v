(* Section 4 and the general form: every martingale of laws that asks no more than FlowVerification is
   lossless on the construction with layers, beam and pruning.  What the factors must satisfy is as for
   trees; head tokens must lie outside the law of the sampled slot.  No head need outrank it. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless predictable tables
  rank_order construction layered layered_lossless martingale flow_masses predictable_history.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section LayeredHistory.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation table := (table V).
Notation cand := (cand R V).
Variables (head : prefix -> seq (R * V)) (hasS : prefix -> bool) (proxy : prefix -> R).
Variable fill : prefix -> V -> seq (R * V).
Variables (D B N : nat).
Notation slots := (slots head hasS proxy fill).
Notation built := (build head hasS proxy fill D B N).

Hypothesis head_fac : forall u c, c \in head u -> 0 <= c.1 <= 1.
Hypothesis proxy_fac : forall u, 0 <= proxy u <= 1.
Hypothesis fill_fac : forall u x c, c \in fill u x -> 0 <= c.1 <= proxy u.
Variable t : prefix -> V -> R.
Hypothesis lawt : forall u, law (t u).
Hypothesis slots_uniq : forall u x, 0 < t u x -> uniq (map (@tk R V) (slots u x)).
Hypothesis head_off : forall u c, hasS u -> c \in head u -> t u c.2 = 0.

Lemma toks_grown T (l : seq (instr V)) u x : x \in toks (grow t T l) u ->
  (IDet u x \in l) || (ISamp u \in l).
Proof.
rewrite /grow; elim/last_ind: l => [//|l i IH]; rewrite foldl_rcons !mem_rcons !inE.
case: i => [v y|v] /=; rewrite /toks /ins; case: eqP => [<-|_] H; rewrite -?orbA.
- move: H; rewrite map_rcons mem_rcons inE => /predU1P[->|/IH /orP[]->]; by rewrite ?eqxx ?orbT.
- by case/orP: (IH H) => ->; rewrite ?orbT.
- by rewrite eqxx ?orbT.
- by case/orP: (IH H) => ->; rewrite ?orbT.
Qed.

(* Theorem. For every table of positive draws: when the sampled slot of u is inserted it is the first of u, and the kept
   children of u are head tokens, which the law of the slot does not draw. *)
Theorem layered_flow_legal T k u : positive t T -> onth (built T) k = Some (ISamp u) ->
  flow_legal (history_of t T (take k (built T))) u (t u).
Proof.
move=> pT ek; have [_ _ nu] := layered_proper head_fac proxy_fac fill_fac slots_uniq pT ek.
split=> [|y]; rewrite tree_history; first exact: sampled_grow.
move=> /toks_grown; rewrite -mem_reveals (negbTE nu) orbF => yl.
move: ek yl; rewrite /build /kept; set K := take N _ => ek.
have kK : (k < size K)%N by have [+ _] := onth_some ek; rewrite size_map.
move: ek; rewrite (onth_map kK) => -[].
have pwK : pairwise (@before R V) K.
  by have := ranked_pw head hasS proxy fill D B T;
     rewrite -{1}(cat_take_drop N (ranked _ _ _ _ _ _ T)) pairwise_cat => /and3P[].
have bK : nth [::] K k \in K by exact: mem_nth.
rewrite -map_take => eb /mapP[c ck].
have cb : before c (nth [::] K k).
  move: pwK; rewrite -{1}(cat_take_drop k K) pairwise_cat (drop_nth [::] kK) => /and3P[/allrelP H _ _].
  by apply: H => //; rewrite inE eqxx.
move: (mem_take (mem_take ck)) (mem_take bK) cb eb; rewrite !mem_ranked !mem_candidates.
case: (nth [::] K k) => [//|r a] cT /andP[_ aT] cb.
case: c {ck} cT cb => [|s d] // /andP[_ dT] cb /=.
case sr: (smp r) => // -[eu]; case ss: (smp s) => // -[eu' ->].
move: dT aT; rewrite /= !mem_layerS' => /and3P[dT _ sd] /and3P[aT _ ra].
have e : d = a by apply: (pre_inj slots_uniq pT dT aT); rewrite -eu' eu.
have [hS er] := slots_smp ra sr; rewrite e in sd cb.
move: sd; rewrite /slots mem_cat => /orP[/mem_mark[hs _ _]|].
  by rewrite -eu; exact: (head_off hS hs).
rewrite hS inE => /predU1P[es|sf]; first by rewrite es in ss.
have := before_fill fill_fac (T (pre a)) (layer_val head_fac proxy_fac fill_fac aT) sf.
by rewrite -er => /(before_trans cb); rewrite before_irr.
Qed.

Variable Tdef : table.
Hypothesis posdef : positive t Tdef.
Variable us : seq prefix.
Hypothesis all_us : forall u, (size u < D)%N -> u \in us.
Variables (p : prefix -> V -> R) (legal : history R V -> prefix -> (V -> R) -> Prop).
Hypothesis legal_weak : forall h u t, flow_legal h u t -> legal h u t.
Variables (L : history R V -> mass R V) (run : history R V -> prog R V prefix).
Hypothesis mg : martingale p D legal L.
Hypothesis rl : realises p D legal run L.

(* Theorem. On the construction of section 4, for all factors that satisfy the conditions above, every D, B, N: every
   martingale of laws that asks no more of a reveal than FlowVerification, with any program that realises it, is
   lossless. *)
Theorem layered_martingale n f : (D < n)%N ->
  E (decode_history t built Tdef us p run n) f = E (complete p n [::]) f.
Proof.
apply: (predictable_martingale lawt (N := N) _ _ _ _ posdef all_us mg rl).
- exact: layered_predictable head_fac proxy_fac fill_fac.
- by move=> T k i pT; exact: (layered_proper head_fac proxy_fac fill_fac slots_uniq pT).
- by move=> T; rewrite size_map /kept size_take; case: ifP => // /negbT; rewrite -leqNgt.
- by move=> T k u pT e; exact/legal_weak/layered_flow_legal.
Qed.
End LayeredHistory.
