(* Faults of the tree: what happens if a condition of the theorem is broken, each on the smallest model known.

   Each fault is the step of `parts.v` with one other part: the factor of the sampled slot, the ranking, or one of the
   two laws of X.  Models, parameters and numbers are those of docs/faults.md, and a test compares them. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules policies rank_order construction rheosampling.
From Rheo Require Import numbers computing copied_rules parts copies models biased.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Faults.
Variables (R : realFieldType) (n : nat).
Notation V := [finType of 'I_n].
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R) (K m : prefix -> nat) (D B N L : nat).
Notation t := (tail_law q K m).
Notation paper_slots := (slots (head q m) (has_sampled q K m) (proxy q m) (fill q K m)).
(* The slots of section 3 with another factor for the sampled one. *)
Notation slots_with factor := (slots (head q m) (has_sampled q K m) factor (fill q K m)).
Notation paper_rank := (@by_value R V).
Notation rheo := (@rheo R V).

(* own-probability: the value of the sampled slot is q(X): the factor looks at X. *)
Definition own_probability := decode_parts
  (fun u x => slots_with (fun v => q v x) u x) paper_rank t t D B N rheo p L.

(* tail-probability: the value of the sampled slot is t(X): the factor looks at X. *)
Definition tail_probability := decode_parts
  (fun u x => slots_with (fun v => t v x) u x) paper_rank t t D B N rheo p L.

(* low-proxy: a third of the proxy: a fill may outrank the sampled slot. *)
Definition low_proxy := decode_parts
  (slots_with (fun v => proxy q m v / 3%:R)) paper_rank t t D B N rheo p L.

(* tie-by-token: equal values are ranked by token id: the rank of the sampled slot looks at X. *)
Definition token_id (a : cand R V) : nat := if a is s :: _ then tk s else 0%N.
Definition by_value_then_token : seq (cand R V) -> seq (cand R V) :=
  sort (fun a b => (value b < value a) || (value a == value b) && (token_id a <= token_id b)%N).
Definition tie_by_token := decode_parts paper_slots by_value_then_token t t D B N rheo p L.

(* verify-full-q: X is drawn from t and verified with q. *)
Definition verify_full_q := decode_parts paper_slots paper_rank t q D B N rheo p L.
End Faults.

(* ---------- Their copies ---------- *)
Section Copies.
Variables (R : realFieldType) (n : nat) (target draft : rows) (K m : seq 'I_n -> nat) (D B N L : nat).
Notation V := [finType of 'I_n].
Notation es := (tokens n).
Notation p := (law_in R target).
Notation q := (law_in R draft).
Notation p' := (@computed n target).
Notation q' := (@computed n draft).
Notation t' := (rheo_tail (V := V) es q' K m).
Notation cslots_with factor := (fun u x => cslots (V := V) es (factor u x) (q' u) (K u) (m u) x).
Notation copied slots_of rank drawn told := (cdecode (V := V) slots_of rank drawn told D B N (crheo es) p' L).
Notation mean_slot := (@mean_slot fractions R (@read R) V).
Let mm := read_meaning R.

Lemma copiedE slots_of rank drawn told cslots_of crank cdrawn ctold :
  (forall u x, slots_of u x = map mean_slot (cslots_of u x)) ->
  (forall l, rank (map (map mean_slot) l) = map (map mean_slot) (crank l)) ->
  (forall u, same_law (@read R) (drawn u) (cdrawn u)) -> (forall u, same_law (@read R) (told u) (ctold u)) ->
  same (@read R) eq (decode_parts slots_of rank drawn told D B N (@rheo R V) p L)
    (copied cslots_of crank cdrawn ctold).
Proof.
move=> sE rE dE tE.
exact: (same_decode sE rE dE tE D B N (same_rheo mm (tokensE n)) (computed_law R target) L).
Qed.

Lemma slots_withE factor cfactor : (forall u x, factor u x = read R (cfactor u x)) -> forall u x,
  slots (head q m) (has_sampled q K m) (fun v => factor v x) (fill q K m) u x =
  map mean_slot (cslots_with cfactor u x).
Proof. by move=> e u x; apply: (slots_copy mm (tokensE n)) => // v; exact: computed_law. Qed.

Lemma tE u : same_law (@read R) (tail_law q K m u) (t' u).
Proof. by apply: (tail_law_copy mm (tokensE n)) => v; exact: computed_law. Qed.

Lemma paperE u x :
  slots (head q m) (has_sampled q K m) (proxy q m) (fill q K m) u x =
  map mean_slot (rheo_slots (V := V) es q' K m u x).
Proof. by apply: (rheo_slots_copy mm (tokensE n)) => v; exact: computed_law. Qed.

Definition ctoken_id (a : ccand fractions V) : nat := if a is s :: _ then s.2 else 0%N.
Definition cby_value_then_token : seq (ccand fractions V) -> seq (ccand fractions V) :=
  best_by (fun a => (cvalue a, ctoken_id a))
    (fun v w => ~~ leb v.1 w.1 || same_number v.1 w.1 && (v.2 <= w.2)%N).

Lemma then_tokenE l : by_value_then_token (map (map mean_slot) l) =
  map (map mean_slot) (cby_value_then_token l).
Proof.
rewrite /by_value_then_token sort_map /cby_value_then_token best_byE; congr map; apply: sort_ext => a b.
rewrite /= -(read_eq R) (mle mm) -ltNge !(value_mean mm).
by case: a b => [|s a] [|r b].
Qed.

Definition own_copy := copied (cslots_with q') (@cby_value fractions V) t' t'.
Definition tail_copy := copied (cslots_with t') (@cby_value fractions V) t' t'.
Definition low_copy := copied
  (cslots_with (fun u _ => div (cproxy (V := V) es (q' u) (m u)) (whole 3))) (@cby_value fractions V) t' t'.
Definition tie_copy := copied (rheo_slots (V := V) es q' K m) cby_value_then_token t' t'.
Definition verify_copy := copied (rheo_slots (V := V) es q' K m) (@cby_value fractions V) t' q'.

Lemma same_own : same (@read R) eq (own_probability p q K m D B N L) own_copy.
Proof. exact: copiedE (slots_withE (computed_law R draft)) (by_value_mean mm) tE tE. Qed.
Lemma same_tail : same (@read R) eq (tail_probability p q K m D B N L) tail_copy.
Proof. exact: copiedE (slots_withE tE) (by_value_mean mm) tE tE. Qed.
Lemma same_low : same (@read R) eq (low_proxy p q K m D B N L) low_copy.
Proof.
apply: copiedE (by_value_mean mm) tE tE => u x.
apply: (@slots_withE (fun v _ => proxy q m v / 3%:R) (fun v _ => div (cproxy (V := V) es (q' v) (m v)) (whole 3))).
move=> v _; rewrite (mV mm) whole_in; congr (_ / _).
by apply: (proxy_copy mm (tokensE n)) => w; exact: computed_law.
Qed.
Lemma same_tie : same (@read R) eq (tie_by_token p q K m D B N L) tie_copy.
Proof. exact: copiedE paperE then_tokenE tE tE. Qed.
Lemma same_verify : same (@read R) eq (verify_full_q p q K m D B N L) verify_copy.
Proof. exact: copiedE paperE (by_value_mean mm) tE (computed_law R draft). Qed.
End Copies.

(* ---------- The counterexamples ---------- *)
(* Each: the completed output, of length D + 1, starts with token 0 with the first probability; the target says the
   second.  Prefixes that are not in a table have all their mass on token 0. *)
Section Counterexamples.
Variable R : realFieldType.
Notation o0 := (ord0 : 'I_2).

Definition own_target : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
Definition own_draft : rows := [:: ([::], [:: (2, 3); (1, 3)])]%N.
(* own-probability.  In words: for p = (1/2, 1/2), q = (2/3, 1/3), m = 0, K = 2, D = N = 1, token 0 comes first with
   probability 2/3 in place of 1/2. *)
Theorem own_probability_biased : let p := law_in R own_target in let q := law_in R own_draft in
  biased p q 2 (own_probability p q (fun _ => 2) (fun _ => 0) 1 2 1 2)%N [:: o0] (2%:R / 3%:R) (1%:R / 2%:R).
Proof. by refine (@biased_copy _ _ _ _ _ _ _ _ (2, 3)%N (1, 2)%N (@same_own _ _ _ _ _ _ _ _ _ _) _); vm_compute. Qed.

Definition tail_target : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
Definition tail_draft : rows := [:: ([::], [:: (2, 3); (1, 3)])]%N.
(* tail-probability.  In words: for the same model and parameters, token 0 comes first with probability 2/3 in place of
   1/2. *)
Theorem tail_probability_biased : let p := law_in R tail_target in let q := law_in R tail_draft in
  biased p q 2 (tail_probability p q (fun _ => 2) (fun _ => 0) 1 2 1 2)%N [:: o0] (2%:R / 3%:R) (1%:R / 2%:R).
Proof. by refine (@biased_copy _ _ _ _ _ _ _ _ (2, 3)%N (1, 2)%N (@same_tail _ _ _ _ _ _ _ _ _ _) _); vm_compute. Qed.

Definition low_target : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
Definition low_draft : rows := [:: ([::], [:: (2, 3); (1, 3)])]%N.
(* low-proxy.  In words: for the same model and parameters, token 0 comes first with probability 2/3 in place of 1/2. *)
Theorem low_proxy_biased : let p := law_in R low_target in let q := law_in R low_draft in
  biased p q 2 (low_proxy p q (fun _ => 2) (fun _ => 0) 1 2 1 2)%N [:: o0] (2%:R / 3%:R) (1%:R / 2%:R).
Proof. by refine (@biased_copy _ _ _ _ _ _ _ _ (2, 3)%N (1, 2)%N (@same_low _ _ _ _ _ _ _ _ _ _) _); vm_compute. Qed.

Definition tie_target : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
Definition tie_draft : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
(* tie-by-token.  In words: for p = q = (1/2, 1/2) at the root, m = 0, K = N = 1, D = 2, token 0 comes first with
   probability 3/4 in place of 1/2. *)
Theorem tie_by_token_biased : let p := law_in R tie_target in let q := law_in R tie_draft in
  biased p q 3 (tie_by_token p q (fun _ => 1) (fun _ => 0) 2 1 1 3)%N [:: o0] (3%:R / 4%:R) (1%:R / 2%:R).
Proof. by refine (@biased_copy _ _ _ _ _ _ _ _ (3, 4)%N (1, 2)%N (@same_tie _ _ _ _ _ _ _ _ _ _) _); vm_compute. Qed.

Definition verify_target : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
Definition verify_draft : rows := [:: ([::], [:: (1, 2); (1, 2)])]%N.
(* verify-full-q.  In words: for p = q = (1/2, 1/2), m = 1, K = N = 2, D = 1, token 0 comes first with probability 0 in
   place of 1/2. *)
Theorem verify_full_q_biased : let p := law_in R verify_target in let q := law_in R verify_draft in
  biased p q 2 (verify_full_q p q (fun _ => 2) (fun _ => 1) 1 2 2 2)%N [:: o0] (0%:R / 1%:R) (1%:R / 2%:R).
Proof. by refine (@biased_copy _ _ _ _ _ _ _ _ (0, 1)%N (1, 2)%N (@same_verify _ _ _ _ _ _ _ _ _ _) _); vm_compute. Qed.
End Counterexamples.
