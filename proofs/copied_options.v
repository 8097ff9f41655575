(* Copies that compute of the construction options: tail proxy with its scale, and scaled fills (options.v). *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules policies rank_order construction rheosampling ondemand options.
From Rheo Require Import numbers computing copied_rules parts copies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Copies.
Variables (O : ops) (V : finType) (es : seq V).
Notation prefix := (seq V).

Definition ctail_proxy (a : O) (q : V -> O) (m : nat) : O :=
  let order := corder es q in
  let az := mul a (crest q (take m order)) in
  if drop m order is x :: _ then (if leb az (q x) then q x else az) else az.
Definition coption_slots (use_tail : bool) (a g : O) (q : V -> O) (K m : nat) : V -> seq (cslotd O V) :=
  let order := corder es q in
  let heads := take m order in
  let tail := drop m order in
  let z := crest q heads in
  let first := cmark 0 (cwith_q q heads) in
  let proxy := if use_tail then ctail_proxy a q m else cproxy es q m in
  fun x => first ++
    (if (m < K)%N && ~~ leb z (zero O)
     then (proxy, size heads, true, x) :: cmark (size heads).+1
       [seq (mul g c.1, c.2) | c <- cwith_q q (take (K - m - 1) [seq y <- tail | y != x])]
     else [::]).

Variables (p q : prefix -> V -> O) (K m : prefix -> nat) (D B N : nat).
Variables (use_tail : prefix -> bool) (a g : prefix -> O).
Definition option_slots u : V -> seq (cslotd O V) :=
  let qu := q u in coption_slots (use_tail u) (a u) (g u) qu (K u) (m u).
Definition option_tree_law : seq (seq (prefix * bool) * O) :=
  law_of es (map (@cseen O V)) (csample (rheo_tail es q K m) (cdraft option_slots (@cby_value O V) D B N)).
Definition option_step_law (ver : crule O V) : seq (prefix * O) :=
  law_of es id (cstep option_slots (@cby_value O V) (rheo_tail es q K m) (rheo_tail es q K m) D B N ver p).
End Copies.

Section Same.
Variables (O : ops) (R : realFieldType) (mean : O -> R) (mm : meaning mean) (V : finType) (es : seq V).
Hypothesis esE : es = enum V.
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R) (p' q' : prefix -> V -> O).
Hypothesis pE : forall u, same_law mean (p u) (p' u).
Hypothesis qE : forall u, same_law mean (q u) (q' u).
Variables (K m : prefix -> nat) (D B N : nat) (use_tail : prefix -> bool) (a g : prefix -> R) (a' g' : prefix -> O).
Hypothesis aE : forall u, a u = mean (a' u).
Hypothesis gE : forall u, g u = mean (g' u).
Notation mean_slot := (@mean_slot O R mean V).
Notation px := (option_proxy q m a use_tail).
Notation fills := (scaled_fill q K m g).

(* In words: the tail proxy with its scale. *)
Theorem tail_proxy_copy u : tail_proxy q m a u = mean (ctail_proxy es (a' u) (q' u) (m u)).
Proof.
rewrite /tail_proxy /ctail_proxy (order_copy mm esE qE) (rest_copy mm esE qE) aE -(mM mm).
case: (drop _ _) => [//|x l]; rewrite qE (mle mm).
by case: leP => [/max_r|/ltW /max_l].
Qed.

(* In words: the slots with any of the options. *)
Theorem option_slots_copy u x :
  slots (head q m) (has_sampled q K m) px fills u x =
  map mean_slot (option_slots es q' K m use_tail a' g' u x).
Proof.
rewrite /slots /option_slots /coption_slots map_cat -(mark_copy mean) /head (with_copy qE) (heads_copy mm esE qE).
rewrite (has_copy mm esE qE); congr (_ ++ _); case: (_ && _) => //=.
rewrite /samp_slot size_map /head (with_copy qE) (heads_copy mm esE qE) !size_map; congr (_ :: _).
  rewrite /mean_slot /= /option_proxy; congr (_, _, _, _).
  by case: (use_tail u); [exact: tail_proxy_copy|exact: (proxy_copy mm esE qE)].
rewrite -(mark_copy mean) /scaled_fill /fill (with_copy qE) (order_copy mm esE qE) -!map_comp.
by congr mark; apply: eq_map => c /=; rewrite (mM mm) gE.
Qed.

(* In words: with options, too, the table of the copy holds the probability of every kept tree in rank order. *)
Theorem option_tree_copy k :
  E (sample (tail_law q K m) (factor_draft q K m D B N px fills)) (fun l => (map (@seen R V) l == k)%:R) =
  mean (prob k (option_tree_law es q' K m D B N use_tail a' g')).
Proof.
rewrite /factor_draft draft_kept_parts; apply: (law_ofP mm esE _ (P := @same_cands O R mean V)) => [|l l' ->].
  exact: (same_sample (tail_law_copy mm esE qE K m) (same_draft option_slots_copy (by_value_mean mm) D B N)).
rewrite -map_comp; apply: eq_map => -[//|s b].
by rewrite /seen /cseen /= -(pre_mean mean (s :: b)).
Qed.

Lemma option_copy ver ver' y : same_rule mean ver ver' ->
  Pr (factor_step p q K m D B N px fills ver) y =
  mean (prob y (option_step_law es p' q' K m D B N use_tail a' g' ver')).
Proof.
move=> sv; rewrite /factor_step /factor_draft draft_kept_parts; apply: (Pr_law_of mm esE).
have tE := tail_law_copy mm esE qE K m.
exact: (same_step option_slots_copy (by_value_mean mm) tE tE D B N sv pE).
Qed.

(* In words: and of every string that one step with RheoVerification emits. *)
Theorem option_rheo_step_copy y :
  Pr (factor_step p q K m D B N px fills (@rheo R V)) y =
  mean (prob y (option_step_law es p' q' K m D B N use_tail a' g' (crheo es))).
Proof. exact/option_copy/(same_rheo mm esE). Qed.

(* In words: the same for one-hot verification. *)
Theorem option_onehot_step_copy y :
  Pr (factor_step p q K m D B N px fills (@onehot R V)) y =
  mean (prob y (option_step_law es p' q' K m D B N use_tail a' g' (@conehot O V))).
Proof. exact/option_copy/same_onehot. Qed.
End Same.
