(* RRSw with the tail proxy is biased: a head inserted after X was seen is tested before it.

   The step is `slot_decode` of slot_order.v, with `tail_proxy` of options.v: nothing in it is a fault but the
   combination. Model, parameters and numbers are those of docs/faults.md (rrsw-tail-proxy). *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules policies rank_order construction rheosampling ondemand options slot_order.
From Rheo Require Import numbers computing copied_rules parts copies models biased.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* ---------- Its copy ---------- *)
Section Copies.
Variables (R : realFieldType) (n : nat) (target draft : rows) (K m : seq 'I_n -> nat) (D B N L : nat).
Notation V := [finType of 'I_n].
Notation es := (tokens n).
Notation p := (law_in R target).
Notation q := (law_in R draft).
Notation p' := (@computed n target).
Notation q' := (@computed n draft).
Notation t' := (rheo_tail (V := V) es q' K m).
Notation mean_slot := (@mean_slot fractions R (@read R) V).
Let mm := read_meaning R.

Notation one_scale := (fun _ : seq V => 1).
Definition rrsw_tail : prog R V (seq V) :=
  slot_decode p q K m D B N (tail_proxy q m one_scale) (fill q K m) (@rrs R V) L.

Definition ctail_proxy (q : V -> fractions) (m : nat) : fractions :=
  let order := corder es q in
  let z := crest q (take m order) in
  if drop m order is x :: _ then (if leb z (q x) then q x else z) else z.

Definition cslot_no (a : ccand fractions V) : nat := if a is s :: _ then s.1.1.2 else 0%N.
Definition cby_slot : seq (ccand fractions V) -> seq (ccand fractions V) := best_by cslot_no (fun i j => i <= j)%N.

Notation slots' := (fun u x => let qu := q' u in cslots (V := V) es (ctail_proxy qu (m u)) qu (K u) (m u) x).
Definition rrsw_tail_copy : comp fractions V (seq V) :=
  cbind (cbind (csample t' (cdraft slots' (@cby_value fractions V) D B N))
    (fun l => cwalk (crrs es) p' D.+1 (foldl (cplant t') (@cempty fractions V) (cby_slot l)) [::]))
  (fun w => ccomplete p' (L - size w) w).

Lemma tail_proxy_copy u : tail_proxy q m one_scale u = read R (ctail_proxy (q' u) (m u)).
Proof.
have qE v : same_law (@read R) (q v) (q' v) by exact: computed_law.
rewrite /tail_proxy /ctail_proxy (order_copy mm (tokensE n) qE) mul1r (rest_copy mm (tokensE n) qE).
case: (drop _ _) => [//|x l]; rewrite qE (mle mm).
by case: leP => [/max_r|/ltW /max_l].
Qed.

Lemma by_slot_mean l : by_slot (map (map mean_slot) l) = map (map mean_slot) (cby_slot l).
Proof.
rewrite /by_slot sort_map /cby_slot best_byE; congr map; apply: sort_ext => a b.
by case: a b => [|s a] [|r b].
Qed.

Lemma same_rrsw_tail : same (@read R) eq rrsw_tail rrsw_tail_copy.
Proof.
have qE v : same_law (@read R) (q v) (q' v) by exact: computed_law.
have pE v : same_law (@read R) (p v) (p' v) by exact: computed_law.
have tE u : same_law (@read R) (tail_law q K m u) (t' u) by exact: (tail_law_copy mm (tokensE n) qE).
have slotsE u x : slots (head q m) (has_sampled q K m) (tail_proxy q m one_scale) (fill q K m) u x =
    map mean_slot (slots' u x) by exact/(slots_copy mm (tokensE n) qE)/tail_proxy_copy.
apply: (same_bind (P := eq)) => [|w _ <-]; last exact: same_complete.
rewrite /slot_step /factor_draft draft_kept_parts.
apply: same_bind (same_sample tE (same_draft slotsE (by_value_mean mm) D B N)) _ => l l' ->.
rewrite by_slot_mean; exact: (same_walk (same_rrs mm (tokensE n)) pE) (same_planted tE _).
Qed.
End Copies.

(* ---------- The counterexample ---------- *)
Section Counterexample.
Variable R : realFieldType.

(* Prefixes that are not in a table have all their mass on token 0. *)
Definition rrsw_target : rows := [:: ([::], [:: (1, 2); (1, 2); (0, 1)])]%N.
Definition rrsw_draft : rows := [:: ([::], [:: (1, 3); (1, 3); (1, 3)]); ([:: 2], [:: (1, 2); (1, 2); (0, 1)])]%N.

(* For V = 3, p = (1/2, 1/2, 0) and q = (1/3, 1/3, 1/3) at the root, q = (1/2, 1/2, 0) after token 2, all else certain
   of token 0, K = B = N = D = 2, m = 1, the tail proxy with scale 1: the completed output of RRSw starts with token 0
   with probability 1/4 in place of 1/2. *)
Theorem rrsw_tail_proxy_biased : biased (law_in R rrsw_target) (law_in R rrsw_draft) 3
  (@rrsw_tail R 3 rrsw_target rrsw_draft (fun _ => 2) (fun _ => 1) 2 2 2 3)%N [:: (ord0 : 'I_3)]
  (1%:R / 4%:R) (1%:R / 2%:R).
Proof. by refine (@biased_copy _ _ _ _ _ _ _ _ (1, 4)%N (1, 2)%N (@same_rrsw_tail _ _ _ _ _ _ _ _ _ _) _); vm_compute. Qed.
End Counterexample.
