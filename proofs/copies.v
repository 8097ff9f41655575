(* What computes is what is proved: the tree of sections 3 and 4 and the law of the emitted string, as computed copies.

   Each theorem says that a copy, read in a real field, is the definition of `rheosampling.v`, `layered.v` or
   `ondemand.v`, for all target and draft laws and all m, K, D, B, N. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules predictable rank_order construction rheosampling ondemand.
From Rheo Require Import numbers computing copied_rules parts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* ---------- One node with draft law q ---------- *)
Section Copies.
Variables (O : ops) (V : finType) (es : seq V).
Notation prefix := (seq V).
Implicit Type q : V -> O.

Definition corder q : seq V :=
  sort (fun x y => leb (q y) (q x)) [seq x <- es | ~~ leb (q x) (zero O)].
Definition crest q (heads : seq V) : O := sub (one O) (csum (map q heads)).
Definition ctail q (K m : nat) : V -> O :=
  let heads := take m (corder q) in
  let z := crest q heads in
  memo es (if (m < K)%N && ~~ leb z (zero O) then fun x => if x \in heads then zero O else div (q x) z else q).
Definition cproxy q (m : nat) : O :=
  let heads := take m (corder q) in
  if heads is x :: l then cmin (q (last x l)) (crest q heads) else crest q heads.

Fixpoint cmark (i : nat) (l : seq (O * V)) : seq (cslotd O V) :=
  if l is c :: l' then (c.1, i, false, c.2) :: cmark i.+1 l' else [::].
Definition cwith_q q (l : seq V) : seq (O * V) := [seq (q x, x) | x <- l].

(* The slots, with any proxy. *)
Definition cslots (proxy : O) q (K m : nat) : V -> seq (cslotd O V) :=
  let order := corder q in
  let heads := take m order in
  let tail := drop m order in
  let z := crest q heads in
  let first := cmark 0 (cwith_q q heads) in
  fun x => first ++
    (if (m < K)%N && ~~ leb z (zero O)
     then (proxy, size heads, true, x)
          :: cmark (size heads).+1 (cwith_q q (take (K - m - 1) [seq y <- tail | y != x]))
     else [::]).

(* ---------- A model, with its parameters ---------- *)
Variables (p q : prefix -> V -> O) (K m : prefix -> nat) (D B N : nat).

Definition rheo_slots u : V -> seq (cslotd O V) := let qu := q u in cslots (cproxy qu (m u)) qu (K u) (m u).
Definition rheo_tail u : V -> O := ctail (q u) (K u) (m u).
Definition rheo_draft : asks V (seq (ccand O V)) := cdraft rheo_slots (@cby_value O V) D B N.

(* The kept candidates in rank order for a table of draws, and as insertions. *)
Definition ckept (T : table V) : seq (ccand O V) := answer rheo_draft T.
Definition cinstr (a : ccand O V) : instr V :=
  if a is s :: a' then (if s.1.2 then @ISamp V (cpre a') else IDet (cpre a') s.2) else @ISamp V [::].
Definition cbuild (T : table V) : seq (instr V) := map cinstr (ckept T).

(* The law of the kept tree in rank order: of each node its prefix and whether it was sampled. *)
Definition cseen (a : ccand O V) : prefix * bool := (cpre a, if a is s :: _ then s.1.2 else false).
Definition tree_law : seq (seq (prefix * bool) * O) :=
  law_of es (map cseen) (csample rheo_tail rheo_draft).

(* The law of the emitted string. *)
Definition step_law (ver : crule O V) : seq (prefix * O) :=
  law_of es id (cstep rheo_slots (@cby_value O V) rheo_tail rheo_tail D B N ver p).
End Copies.

(* ---------- The theorems ---------- *)
Section Same.
Variables (O : ops) (R : realFieldType) (mean : O -> R) (mm : meaning mean).
Variables (V : finType) (es : seq V).
Hypothesis esE : es = enum V.
Notation prefix := (seq V).
(* Target and draft laws in the field, and as computed. *)
Variables (p q : prefix -> V -> R) (p' q' : prefix -> V -> O).
Hypothesis pE : forall u, same_law mean (p u) (p' u).
Hypothesis qE : forall u, same_law mean (q u) (q' u).
Variables (K m : prefix -> nat) (D B N : nat).
Notation mean_slot := (@mean_slot O R mean V).
Notation mean_cand := (map mean_slot).

(* In words: the order of the tokens with q > 0. *)
Theorem order_copy u : order q u = corder es (q' u).
Proof.
rewrite /order /corder esE (@sort_ext _ _ (fun x y => leb (q' u y) (q' u x))) => [|x y]; last by rewrite (mle mm) !qE.
by congr (sort _ _); apply: eq_filter => x; rewrite (mle mm) (m0 mm) ltNge qE.
Qed.

(* In words: the head tokens. *)
Theorem heads_copy u : heads q m u = take (m u) (corder es (q' u)).
Proof. by rewrite /heads order_copy. Qed.

Lemma rest_copy u : zrest q m u = mean (crest (q' u) (take (m u) (corder es (q' u)))).
Proof.
rewrite /zrest /crest (mB mm) (m1 mm) heads_copy; congr (_ - _).
by elim: (take _ _) => [|x l IH]; rewrite ?big_nil ?(m0 mm) // big_cons IH /= (mD mm) qE.
Qed.

Lemma has_copy u : has_sampled q K m u =
  (m u < K u)%N && ~~ leb (crest (q' u) (take (m u) (corder es (q' u)))) (zero O).
Proof. by rewrite /has_sampled rest_copy (mle mm) (m0 mm) ltNge. Qed.

(* In words: the law that X is drawn from. *)
Theorem tail_law_copy u : same_law mean (tail_law q K m u) (rheo_tail es q' K m u).
Proof.
move=> x; rewrite /rheo_tail /ctail memoE ?(in_es esE) // /tail_law has_copy heads_copy.
case: (_ && _); last exact: qE.
case: ifP => _; first by rewrite (m0 mm).
by rewrite (mV mm) rest_copy qE.
Qed.

(* In words: the factor of the sampled slot. *)
Theorem proxy_copy u : proxy q m u = mean (cproxy es (q' u) (m u)).
Proof.
rewrite /proxy /cproxy heads_copy rest_copy; case: (take _ _) => [|x l] //.
by rewrite (cminE mm) qE.
Qed.

Lemma mark_copy i l : mark i [seq (mean c.1, c.2) | c <- l] = map mean_slot (cmark i l).
Proof. by elim: l i => [//|c l IH] i /=; rewrite IH. Qed.

Lemma with_copy u l : with_q q u l = [seq (mean c.1, c.2) | c <- cwith_q (q' u) l].
Proof. by rewrite /with_q /cwith_q -map_comp; apply: eq_map => x; rewrite /= qE. Qed.

(* In words: with any proxy, the slots of section 3 are those of the copy. *)
Theorem slots_copy (px : prefix -> R) (px' : O) u x : px u = mean px' ->
  slots (head q m) (has_sampled q K m) px (fill q K m) u x = map mean_slot (cslots es px' (q' u) (K u) (m u) x).
Proof.
move=> e; rewrite /slots /cslots map_cat -mark_copy /head with_copy heads_copy has_copy; congr (_ ++ _).
case: (_ && _) => //=; rewrite /samp_slot size_map /head with_copy heads_copy !size_map e; congr (_ :: _).
by rewrite -mark_copy /fill with_copy order_copy.
Qed.

Lemma rheo_slots_copy u x :
  slots (head q m) (has_sampled q K m) (proxy q m) (fill q K m) u x = map mean_slot (rheo_slots es q' K m u x).
Proof. exact/slots_copy/proxy_copy. Qed.

Notation kept_def := (kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N).
Notation build_def := (build (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N).

(* In words: for every table of draws, the copy keeps the same candidates in the same order. *)
Theorem kept_copy (T : table V) : kept_def T = map mean_cand (ckept es q' K m D B N T).
Proof.
rewrite -answer_kept draft_kept_parts.
exact: (same_answer T (same_draft rheo_slots_copy (by_value_mean mm) D B N)).
Qed.

(* In words: for every table of draws, the copy makes the same insertions in the same order. *)
Theorem build_copy (T : table V) : build_def T = cbuild es q' K m D B N T.
Proof.
rewrite /build kept_copy /cbuild -map_comp; apply: eq_map => -[//|s a] /=.
by rewrite pre_mean.
Qed.

Definition seen (a : cand R V) : prefix * bool := (pre a, if a is s :: _ then smp s else false).

(* In words: the table of the copy holds the probability of every kept tree in rank order. *)
Theorem tree_law_copy k :
  E (sample (tail_law q K m)
       (draft_kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N))
    (fun l => (map seen l == k)%:R) = mean (prob k (tree_law es q' K m D B N)).
Proof.
rewrite draft_kept_parts; apply: (law_ofP mm esE _ (P := @same_cands O R mean V)) => [|l l' ->].
  exact: (same_sample tail_law_copy (same_draft rheo_slots_copy (by_value_mean mm) D B N)).
rewrite -map_comp; apply: eq_map => -[//|s a].
by rewrite /seen /cseen /= -(pre_mean mean (s :: a)).
Qed.

Lemma step_copy ver ver' y : same_rule mean ver ver' ->
  Pr (run_step p q K m D B N ver) y = mean (prob y (step_law es p' q' K m D B N ver')).
Proof.
move=> sv; rewrite run_step_parts; apply: (Pr_law_of mm esE).
exact: (same_step rheo_slots_copy (by_value_mean mm) tail_law_copy tail_law_copy D B N sv pE).
Qed.

(* In words: for every string y, the table of the copy holds the probability that one step with RheoVerification
   emits y. *)
Theorem rheo_step_copy y :
  Pr (run_step p q K m D B N (@rheo R V)) y = mean (prob y (step_law es p' q' K m D B N (crheo es))).
Proof. exact/step_copy/(same_rheo mm esE). Qed.

(* In words: the same for RRSw. *)
Theorem rrs_step_copy y :
  Pr (run_step p q K m D B N (@rrs R V)) y = mean (prob y (step_law es p' q' K m D B N (crrs es))).
Proof. exact/step_copy/(same_rrs mm esE). Qed.

(* In words: the same for one-hot verification. *)
Theorem onehot_step_copy y :
  Pr (run_step p q K m D B N (@onehot R V)) y = mean (prob y (step_law es p' q' K m D B N (@conehot O V))).
Proof. exact/step_copy/same_onehot. Qed.
End Same.
