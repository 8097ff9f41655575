(* Candidates, their values, and rank order: by decreasing value, ties by creation index. The creation index is
   structural: the layer, then the rank of the parent, then the slot; no token id. Stable sorting by value realises
   it. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section RankOrder.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).

(* factor, slot number, sampled?, token *)
Definition slotd : Type := (R * nat * bool * V)%type.
Definition fac (s : slotd) : R := s.1.1.1.
Definition idx (s : slotd) : nat := s.1.1.2.
Definition smp (s : slotd) : bool := s.1.2.
Definition tk (s : slotd) : V := s.2.

Definition cand := seq slotd.             (* path of slots, deepest first *)
Definition pre (a : cand) : prefix := rev (map tk a).
Fixpoint value (a : cand) : R := if a is s :: a' then value a' * fac s else 1.
Definition by_value (l : seq cand) : seq cand := sort (fun a b => value b <= value a) l.

Fixpoint before (a b : cand) : bool :=
  (value b < value a) || (value a == value b) &&
  ((size a < size b)%N || (size a == size b) &&
   match a, b with
   | s :: a', r :: b' => before a' b' || (a' == b') && (idx s < idx r)%N
   | _, _ => false
   end).
Definition created (a b : cand) : bool :=
  (size a < size b)%N || (size a == size b) &&
   match a, b with
   | s :: a', r :: b' => before a' b' || (a' == b') && (idx s < idx r)%N
   | _, _ => false
   end.

Lemma beforeE a b : before a b = (value b < value a) || (value a == value b) && created a b.
Proof. by case: a => [|s a]; case: b => [|r b]. Qed.

Lemma created_irr a : (before a a = false) * (created a a = false).
Proof.
suff H : created a a = false by rewrite beforeE ltxx eqxx H.
elim: a => [|s a IH] //; rewrite /created ltnn eqxx /= eqxx ltnn andbF orbF.
by rewrite beforeE ltxx eqxx IH.
Qed.
Lemma before_irr a : before a a = false. Proof. by rewrite created_irr. Qed.

Lemma before_trans_of b a c :
  (created a b -> created b c -> created a c) -> before a b -> before b c -> before a c.
Proof.
rewrite !beforeE => H /orP[ab|/andP[/eqP ab cab]] /orP[bc|/andP[/eqP bc cbc]].
- by rewrite (lt_trans bc ab).
- by rewrite -bc ab.
- by rewrite ab bc.
- by rewrite ab bc eqxx H // orbT.
Qed.

Lemma created_trans b a c : created a b -> created b c -> created a c.
Proof.
elim: b a c => [|r b IH] [|s a] [|q c] //; rewrite /created /=.
rewrite !ltnS !eqSS => /orP[ab|/andP[/eqP ab H]] /orP[bc|/andP[/eqP bc K]].
- by rewrite (ltn_trans ab bc).
- by rewrite -bc ab.
- by rewrite ab bc.
- rewrite ab bc eqxx ltnn /=.
  case/orP: H => [H|/andP[/eqP -> H]]; case/orP: K => [K|/andP[/eqP <- K]].
  + by rewrite (before_trans_of (@IH _ _) H K).
  + by rewrite H.
  + by rewrite K.
  + by rewrite eqxx (ltn_trans H K) orbT.
Qed.

Lemma before_trans : transitive before.
Proof. move=> b a c; apply: before_trans_of; exact: created_trans. Qed.
Lemma by_value_sorted l : pairwise created l -> pairwise before (by_value l).
Proof.
move=> pw; have sc : sorted created l by rewrite sorted_pairwise //; exact: created_trans.
have tot : total (fun a b : cand => value b <= value a) by move=> a b; exact: le_total.
have := sort_stable tot created_trans sc.
move=> /(sub_sorted (e' := before)) H; rewrite -sorted_pairwise; last exact: before_trans.
apply: H => a b /= /andP[ba ab]; rewrite beforeE; move: ba ab.
by rewrite le_eqVlt => /predU1P[<-|-> //]; rewrite lexx eqxx /= => ->; rewrite orbT.
Qed.

Lemma mem_take_sorted (l : seq cand) n a : pairwise before l ->
  (a \in take n l) = (a \in l) && (count (before^~ a) l < n)%N.
Proof.
elim: l n => [|b l IH] n /=; first by rewrite in_nil.
move=> /andP[/allP bl pw]; case: n => [|n]; first by rewrite take0 ltn0 andbF.
rewrite /= !inE; case: (a =P b) => [->|ab] /=.
  rewrite before_irr add0n (@eq_in_count _ _ pred0) ?count_pred0 //.
  move=> c /bl bc /=; apply/negP => cb.
  by have := before_trans bc cb; rewrite before_irr.
rewrite IH //; case al: (a \in l) => //=.
by rewrite (bl a al) add1n ltnS.
Qed.

Lemma index_sorted (l : seq cand) a : pairwise before l -> a \in l ->
  index a l = count (before^~ a) l.
Proof.
elim: l => [//|b l IH] /= /andP[/allP bl pw]; rewrite inE eq_sym.
case: (b =P a) => [<-|ba] /=.
  rewrite before_irr (@eq_in_count _ _ pred0) ?count_pred0 //.
  move=> c /bl bc /=; apply/negP => cb.
  by have := before_trans bc cb; rewrite before_irr.
by move=> al; rewrite (bl a al) add1n IH.
Qed.

Lemma uniq_before l : pairwise before l -> uniq l.
Proof. by apply: pairwise_uniq => a; rewrite before_irr. Qed.
Lemma uniq_created l : pairwise created l -> uniq l.
Proof. by apply: pairwise_uniq => a; rewrite created_irr. Qed.

Lemma uniq_map_inj (A A' : eqType) (g : A -> A') (l : seq A) x y :
  uniq (map g l) -> x \in l -> y \in l -> g x = g y -> x = y.
Proof.
elim: l => [//|z l IH] /= /andP[zl ul]; rewrite !inE.
case/predU1P=> [->|xl]; case/predU1P=> [->|yl] // e.
- by rewrite e (map_f g yl) in zl.
- by rewrite -e (map_f g xl) in zl.
- exact: IH.
Qed.

Lemma pre_cons s a : pre (s :: a) = rcons (pre a) (tk s).
Proof. by rewrite /pre /= rev_cons. Qed.

Lemma before_kid s a : 0 <= value a -> fac s <= 1 -> before a (s :: a).
Proof.
move=> a0 s1; rewrite beforeE /created /= ltnSn /= andbT.
by rewrite orbC eq_sym -le_eqVlt ler_pimulr.
Qed.

Lemma before_tokl s s' a c : fac s = fac s' -> idx s = idx s' ->
  before (s :: a) c = before (s' :: a) c.
Proof. by move=> f i; case: c => [|r c]; rewrite /= f // i. Qed.

Lemma before_tokr s s' a c : fac s = fac s' -> idx s = idx s' ->
  before c (s :: a) = before c (s' :: a).
Proof. by move=> f i; case: c => [|r c]; rewrite /= f // i. Qed.

Lemma take_index (l : seq cand) b c : pairwise before l -> before c b -> c \in l ->
  c \in take (index b l) l.
Proof.
elim: l => [//|d l IH] /= /andP[/allP dl pw] cb; rewrite inE.
case: (d =P b) => [e|db] /=.
  case/predU1P=> [cd|/dl]; first by rewrite cd -e before_irr in cb.
  by rewrite e => /before_trans /(_ cb); rewrite before_irr.
by case/predU1P=> [->|cl]; rewrite inE ?eqxx // IH ?orbT.
Qed.

Lemma count_mem_eq (T : eqType) (P : pred T) (l1 l2 : seq T) : uniq l1 -> uniq l2 ->
  (forall x, P x -> (x \in l1) = (x \in l2)) -> count P l1 = count P l2.
Proof.
move=> u1 u2 H; rewrite -!size_filter; apply: perm_size.
apply: uniq_perm; rewrite ?filter_uniq // => x; rewrite !mem_filter.
by case Px: (P x) => //=; exact: H.
Qed.

End RankOrder.
