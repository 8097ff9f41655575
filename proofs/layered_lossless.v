(* The construction inserts parents before children and reveals no prefix twice; with Lemma 2 it is lossless for every
   fair rule that takes one sampled child per node. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless predictable tables rank_order construction
  layered.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section LayeredLossless.
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
Notation slots_fac := (slots_fac head_fac proxy_fac fill_fac).
Notation layer_val := (layer_val head_fac proxy_fac fill_fac).
Notation layered_predictable := (@layered_predictable R V head hasS proxy fill D B N head_fac proxy_fac fill_fac).

Variable t : prefix -> V -> R.
Hypothesis lawt : forall u, law (t u).
Hypothesis slots_uniq : forall u x, 0 < t u x -> uniq (map tk (slots u x)).

Lemma pre_inj T : positive t T -> forall a d l l', a \in layer T l -> d \in layer T l' ->
  pre a = pre d -> a = d.
Proof.
move=> pT; elim=> [|s a IH] [|r d] l l' //.
- by move=> _ _ /(congr1 size); rewrite pre_cons size_rcons.
- by move=> _ _ /(congr1 size); rewrite pre_cons size_rcons.
- move=> sa rd; have := size_layer sa; have := size_layer rd => /= el' el.
  move: sa rd; rewrite -el -el' !mem_layerS' => /and3P[al _ sl] /and3P[dl _ rl].
  rewrite !pre_cons => /rcons_inj[e1 e2]; have ad := IH _ _ _ al dl e1.
  by rewrite ad in sl *; rewrite (uniq_map_inj (slots_uniq (pT _)) sl rl e2).
Qed.

Lemma toks_grow T (l : seq (instr V)) u x :
  (IDet u x \in l) || ((@ISamp V u \in l) && (T u == x)) -> x \in toks (grow t T l) u.
Proof.
rewrite /grow; elim/last_ind: l => [//|l i IH]; rewrite foldl_rcons !mem_rcons !inE.
have mon j : x \in toks (foldl (app t T) (@empty R V) l) u ->
    x \in toks (app t T (foldl (app t T) (@empty R V) l) j) u.
  by case: j => [v y|v]; rewrite /toks /app /ins; case: (u =P v) => [->|//];
     rewrite map_rcons mem_rcons inE => ->; rewrite orbT.
case/orP=> [/orP[/eqP <-|il]|/andP[/orP[/eqP <-|il] e]].
- by rewrite /toks /= /ins eqxx map_rcons mem_rcons inE eqxx.
- by apply: mon; apply: IH; rewrite il.
- by rewrite /toks /= /ins eqxx map_rcons mem_rcons inE /= (eqP e) eqxx.
- by apply: mon; apply: IH; rewrite il e orbT.
Qed.

(* If sibling tokens are distinct, the construction inserts below kept nodes of depth < D and reveals no prefix twice.
   *)
Theorem layered_proper : proper t D build.
Proof.
move=> T k i pT; rewrite /build /kept; set K := take N (ranked T).
set s := grow t T (take k (map instr_of K)) => ei /=.
have kK : (k < size K)%N by have [+ _] := onth_some ei; rewrite size_map.
move: ei; rewrite (onth_map kK) => -[ei].
have pwK : pairwise before K.
  by have := ranked_pw T; rewrite -{1}(cat_take_drop N (ranked T)) pairwise_cat => /and3P[].
set b := nth [::] K k in ei; have bK : b \in K by exact: mem_nth.
have ib : index b K = k by rewrite index_uniq // uniq_before.
have early c : before c b -> c \in candidates T -> c \in take k K.
  move=> cb cT; rewrite -ib; apply: (take_index pwK cb).
  move: bK; rewrite !mem_take_sorted ?ranked_pw // => /andP[_]; rewrite mem_ranked cT /=.
  apply: leq_ltn_trans; apply: sub_count => d dc; exact: before_trans cb.
have inT_pre a : before a b -> (size a <= D)%N -> a \in layer T (size a) -> inT s [::] (pre a).
  elim: a => [//|r c IH] rb sz rc; have := rc; rewrite mem_layerS' => /and3P[cT _ rT].
  have c0 := layer_val cT; have /andP[_ r1] := slots_fac rT.
  have cr := before_kid c0 r1.
  have i1 : inT s [::] (pre c).
    by apply: IH; [exact: before_trans cr rb|exact: ltnW|exact: cT].
  rewrite pre_cons -cats1 inT_cat i1 /= andbT.
  have rk : r :: c \in take k K by apply: early => //; rewrite mem_candidates /= sz rc.
  rewrite /s -map_take; apply: toks_grow; have := map_f instr_of rk => /=.
  case sr: (smp r) => ->; last by [].
  by have [_ ->] := slots_smp rT sr; rewrite eqxx orbT.
move: (mem_take bK); rewrite mem_ranked mem_candidates.
case eb: b => [//|r a] /andP[/= aD ra].
have := ra; rewrite mem_layerS' => /and3P[aT _ rT].
have ab : before a b.
  by rewrite eb; apply: before_kid; [exact: layer_val aT|have /andP[] := slots_fac rT].
have ia := inT_pre a ab (ltnW aD) aT.
have sz : (size (pre a) < D)%N by rewrite size_rev size_map.
rewrite -ei eb /=; case sr: (smp r); split=> //.
rewrite mem_reveals -map_take; apply/negP => /mapP[c ck].
have cT : c \in candidates T by rewrite -mem_ranked; exact: mem_take (mem_take ck).
case: c ck cT => [|q d] ck; first by rewrite mem_candidates.
rewrite mem_candidates => /andP[_ dT] /=; case sq: (smp q) => // -[ad].
have := dT; rewrite /= mem_layerS' => /and3P[dT' _ qT].
have e := pre_inj pT aT dT' ad; rewrite -e in qT.
have [_ er] := slots_smp rT sr; have [_ eq] := slots_smp qT sq.
move: ck; rewrite -e eq -er -eb -{1}ib => bk.
have := index_ltn bk; rewrite ib ltnn //.
Qed.

Variable Tdef : table.
Hypothesis posdef : positive t Tdef.
Variable us : seq prefix.
Hypothesis all_us : forall u, (size u < D)%N -> u \in us.
Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

(* For all heads, proxies and fills as above, all D, B, N, all laws t of the sampled children, all target laws p, and
   every fair rule that takes one sampled child per node: the construction is lossless. *)
Theorem layered_lossless L f : (D < L)%N ->
  E (decode_table t D build ver Tdef us p L) f = E (complete p L [::]) f.
Proof.
apply: (predictable_lossless lawt layered_predictable layered_proper (N := N) _ ver_fair legal1) => //.
by move=> T; rewrite size_map /kept size_take; case: ifP => // /negbT; rewrite -leqNgt.
Qed.

End LayeredLossless.
