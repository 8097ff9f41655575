(* The construction of the tree, to the letter: slots of an expanded node, layers, the beam B, the best N of all
   candidates. Head, proxy and fill are parameters here; sections 2 and 3 fill them in (rheosampling.v). *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import predictable rank_order.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Construction.
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

Fixpoint mark (i : nat) (l : seq (R * V)) : seq slotd :=
  if l is c :: l' then (c.1, i, false, c.2) :: mark i.+1 l' else [::].

(* Slots of an expanded node, section 3, seen from outside: head slots, at most one sampled slot
   with a proxy, fill slots that may depend on its token. *)
Variable head : prefix -> seq (R * V).
Variable hasS : prefix -> bool.
Variable proxy : prefix -> R.
Variable fill : prefix -> V -> seq (R * V).

Definition samp_slot (u : prefix) (x : V) : slotd := (proxy u, size (head u), true, x).
Definition slots (u : prefix) (x : V) : seq slotd :=
  mark 0 (head u) ++
  (if hasS u then samp_slot u x :: mark (size (head u)).+1 (fill u x) else [::]).

Variables (D B N : nat).

Definition kids (T : table) (a : cand) : seq cand := [seq s :: a | s <- slots (pre a) (T (pre a))].
Fixpoint layer (T : table) (l : nat) : seq cand :=
  match l with
  | 0 => [:: [::]]
  | l'.+1 => flatten [seq kids T a | a <- take B (by_value (layer T l'))]
  end.
Definition candidates (T : table) : seq cand := flatten [seq layer T l | l <- iota 1 D].
Definition ranked (T : table) : seq cand := by_value (candidates T).
Definition kept (T : table) : seq cand := take N (ranked T).

(* The empty candidate never occurs. *)
Definition instr_of (a : cand) : instr V :=
  if a is s :: a' then (if smp s then @ISamp V (pre a') else IDet (pre a') (tk s)) else @ISamp V [::].
Definition build (T : table) : seq (instr V) := map instr_of (kept T).

Lemma mem_mark i l s : s \in mark i l ->
  [/\ (fac s, tk s) \in l, (i <= idx s < i + size l)%N & smp s = false].
Proof.
elim: l i => [//|[f x] l IH] i /=; rewrite inE => /predU1P[->|/IH[sl /andP[lo hi] ns]].
- by rewrite /fac /tk /idx /= inE eqxx leqnn addnS ltnS leq_addr.
- by rewrite inE sl orbT ns (ltnW lo) addnS.
Qed.

Lemma mark_pw i l : pairwise (fun s r => idx s < idx r)%N (mark i l).
Proof.
elim: l i => [//|c l IH] i /=; rewrite IH andbT; apply/allP => s /mem_mark[_ /andP[H _] _].
exact: H.
Qed.

Lemma slots_pw u x : pairwise (fun s r => idx s < idx r)%N (slots u x).
Proof.
rewrite /slots pairwise_cat mark_pw /=; case: hasS => /=; last by rewrite allrel0r.
rewrite mark_pw andbT; apply/andP; split.
- apply/allrelP => s r /mem_mark[_ /andP[_ H] _].
  rewrite inE => /predU1P[-> //|/mem_mark[_ /andP[K _] _]].
  by rewrite add0n in H; exact: ltn_trans K.
- by apply/allP => s /mem_mark[_ /andP[H _] _].
Qed.

Lemma size_layer T l a : a \in layer T l -> size a = l.
Proof.
elim: l a => [|l IH] a /=; first by rewrite inE => /eqP ->.
move=> /flattenP[k /mapP[b /mem_take +] ->]; rewrite mem_sort => /IH <- /mapP[s _ ->].
by [].
Qed.

Lemma mem_layerS T l s a : (s :: a \in layer T l.+1) =
  (a \in take B (by_value (layer T l))) && (s \in slots (pre a) (T (pre a))).
Proof.
apply/flattenP/andP => /= [[k /mapP[b bB ->] /mapP[r rs [-> ->]]]|[aB sa]]; first by [].
by exists (kids T a); apply: map_f.
Qed.

Lemma kids_pw T a : pairwise created (kids T a).
Proof.
rewrite /kids pairwise_map; apply: sub_pairwise (slots_pw _ _) => s r /= sr.
by rewrite /created /= ltnn eqxx /= eqxx sr orbT.
Qed.

Lemma layer_pw T l : pairwise created (layer T l).
Proof.
elim: l => [//|l IH] /=.
have : pairwise before (take B (by_value (layer T l))).
  have := by_value_sorted IH; rewrite -{1}(cat_take_drop B (by_value _)) pairwise_cat.
  by move=> /and3P[].
have sz : forall a, a \in take B (by_value (layer T l)) -> size a = l.
  by move=> a /mem_take; rewrite mem_sort => /size_layer.
elim: (take B _) sz => [//|a m IHm] sz /= /andP[/allP am pw].
rewrite pairwise_cat kids_pw /= IHm ?andbT //; last by move=> b bm; apply: sz; rewrite inE bm orbT.
apply/allrelP => c d /mapP[s _ ->] /flattenP[k /mapP[b bm ->] /mapP[r _ ->]].
rewrite /created /= (sz a) ?inE ?eqxx // (sz b) ?inE ?bm ?orbT // ltnn eqxx /=.
by rewrite (am b bm).
Qed.

Lemma candidates_pw T : pairwise created (candidates T).
Proof.
rewrite /candidates; move: 1%N => i; elim: D i => [//|n IH] i /=.
rewrite pairwise_cat layer_pw IH /= andbT; apply/allrelP => a b /size_layer sa.
move=> /flattenP[k /mapP[j +] ->]; rewrite mem_iota => /andP[ij _] /size_layer sb.
by rewrite /created sa sb ij.
Qed.

Lemma ranked_pw T : pairwise before (ranked T).
Proof. exact/by_value_sorted/candidates_pw. Qed.

Lemma mem_candidates T a :
  (a \in candidates T) = (0 < size a <= D)%N && (a \in layer T (size a)).
Proof.
apply/flattenP/andP => [[k /mapP[l + ->] al]|[sz al]].
- by rewrite mem_iota add1n ltnS => ?; rewrite (size_layer al).
- exists (layer T (size a)) => //; apply: map_f; by rewrite mem_iota add1n ltnS.
Qed.

Lemma mem_layerS' T l s a : (s :: a \in layer T l.+1) =
  [&& a \in layer T l, (count (before^~ a) (layer T l) < B)%N & s \in slots (pre a) (T (pre a))].
Proof.
rewrite mem_layerS mem_take_sorted; last exact/by_value_sorted/layer_pw.
by rewrite mem_sort andbA; congr (_ && (_ < _)%N && _); apply/permP; rewrite perm_sort.
Qed.

Lemma slots_smp u x s : s \in slots u x -> smp s -> hasS u /\ s = samp_slot u x.
Proof.
rewrite /slots mem_cat => /orP[/mem_mark[_ _ ->] //|]; case: hasS => //.
by rewrite inE => /predU1P[->|/mem_mark[_ _ ->]].
Qed.

Lemma mem_ranked T a : (a \in ranked T) = (a \in candidates T).
Proof. by rewrite mem_sort. Qed.

Lemma count_ranked P T : count P (ranked T) = count P (candidates T).
Proof. by apply/permP; rewrite perm_sort. Qed.

End Construction.
