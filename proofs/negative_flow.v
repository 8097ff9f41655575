(* FlowVerification in another order than that of insertion is biased.

   Tree, draws, masses and walk are those of the theorem; only the order in which the kept nodes are processed is
   another one.  Models and numbers are those of docs/faults.md, and a test compares them. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules policies rank_order construction rheosampling ondemand.
From Rheo Require Import flow_masses flow_sampling.
From Rheo Require Import numbers computing copied_rules parts copies copied_flow models biased.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Fixpoint path_le (a b : seq nat) : bool :=
  match a, b with
  | [::], _ => true
  | _, [::] => false
  | i :: a', j :: b' => (i < j)%N || (i == j) && path_le a' b'
  end.

Section Faults.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R) (K m : prefix -> nat) (D B N L : nat).
Notation t := (tail_law q K m).

(* The step of flow_sampling.v with the kept candidates put into another order, and completed. *)
Definition flow_in_order (order : seq (cand R V) -> seq (cand R V)) : prog R V prefix :=
  bind (bind (sample t (draft_kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N))
    (fun l => flow p D (planted t (order l)))) (fun w => complete p (L - size w) w).

(* In words: in rank order this is the step of the theorem. *)
Lemma flow_in_rank_order :
  flow_in_order id = bind (flow_run_step p q K m D B N) (fun w => complete p (L - size w) w).
Proof. by []. Qed.

(* Depth first: by the slots on the way from the root. *)
Definition depth_first : seq (cand R V) -> seq (cand R V) :=
  sort (fun a b => path_le (rev (map (@idx R V) a)) (rev (map (@idx R V) b))).
Definition flow_depth_first := flow_in_order depth_first.

(* Layer by layer, in rank order within a layer. *)
Definition by_layers : seq (cand R V) -> seq (cand R V) := sort (fun a b => size a <= size b)%N.
Definition flow_layers := flow_in_order by_layers.
End Faults.

(* ---------- Their copies ---------- *)
Section Copies.
Variables (R : realFieldType) (n : nat) (target draft : rows) (K m : seq 'I_n -> nat) (D B N L : nat).
Notation V := [finType of 'I_n].
Notation p := (law_in R target).
Notation q := (law_in R draft).
Notation p' := (@computed n target).
Notation mean_cand := (map (@mean_slot fractions R (@read R) V)).

Definition cflow_in_order (order : seq (ccand fractions V) -> seq (ccand fractions V)) : comp fractions V (seq V) :=
  cbind (cflow_step (V := V) (tokens n) p' D (@computed n draft) K m B N order)
    (fun w => ccomplete p' (L - size w) w).
Definition cdepth_first : seq (ccand fractions V) -> seq (ccand fractions V) :=
  sort (fun a b => path_le (rev [seq s.1.1.2 | s <- a]) (rev [seq s.1.1.2 | s <- b])).
Definition cby_layers : seq (ccand fractions V) -> seq (ccand fractions V) := sort (fun a b => size a <= size b)%N.

Lemma same_in_order order corder : (forall l, order (map mean_cand l) = map mean_cand (corder l)) ->
  same (@read R) eq (flow_in_order (V := V) p q K m D B N L order) (cflow_in_order corder).
Proof.
move=> so; apply: (same_bind (P := eq)) => [|w _ <-]; last exact/same_complete/computed_law.
exact: (same_flow_step (read_meaning R) (tokensE n) (computed_law R target) (computed_law R draft) K m D B N so).
Qed.

Lemma same_depth_first : same (@read R) eq (flow_depth_first (V := V) p q K m D B N L) (cflow_in_order cdepth_first).
Proof.
apply: same_in_order => l; rewrite /depth_first sort_map; congr map; apply: sort_ext => a b /=.
by rewrite -!map_comp.
Qed.

Lemma same_layers_order : same (@read R) eq (flow_layers (V := V) p q K m D B N L) (cflow_in_order cby_layers).
Proof.
by apply: same_in_order => l; rewrite /by_layers sort_map; congr map; apply: sort_ext => a b /=; rewrite !size_map.
Qed.
End Copies.

(* ---------- The counterexamples ---------- *)
(* A prefix that is not in a table has all its mass on token 0. *)
Section Counterexamples.
Variable R : realFieldType.

Definition flow_depth_first_target : rows := [:: ([::], [:: (1, 2); (1, 2); (0, 1)])]%N.
Definition flow_depth_first_draft : rows :=
  [:: ([::], [:: (1, 3); (1, 3); (1, 3)]); ([:: 0], [:: (1, 4); (1, 2); (1, 4)]);
      ([:: 2], [:: (1, 2); (1, 2); (0, 1)])]%N.
(* flow-depth-first.  In words: for m = 1, K = B = 2, N = 4, D = 2 and these laws, token 0 comes first with
   probability 1/4 in place of 1/2. *)
Theorem flow_depth_first_biased :
  let p := law_in R flow_depth_first_target in let q := law_in R flow_depth_first_draft in
  biased p q 3 (flow_depth_first (V := [finType of 'I_3]) p q (fun _ => 2) (fun _ => 1) 2 2 4 3)%N
    [:: ord0 : 'I_3] (1%:R / 4%:R) (1%:R / 2%:R).
Proof.
by refine (@biased_copy R 3 _ _ _ _ _ _ (1, 4)%N (1, 2)%N (@same_depth_first _ _ _ _ _ _ _ _ _ _) _); vm_compute.
Qed.

Definition flow_layers_target : rows := [:: ([::], [:: (1, 3); (2, 3)])]%N.
Definition flow_layers_draft : rows :=
  [:: ([::], [:: (1, 2); (1, 2)]); ([:: 1], [:: (1, 2); (1, 2)]); ([:: 0; 0], [:: (2, 3); (1, 3)])]%N.
(* flow-layers.  In words: for m = 0, K = B = 2, N = 5, D = 3 and these laws, token 0 comes first with probability
   1/4 in place of 1/3. *)
Theorem flow_layers_biased :
  let p := law_in R flow_layers_target in let q := law_in R flow_layers_draft in
  biased p q 4 (flow_layers (V := [finType of 'I_2]) p q (fun _ => 2) (fun _ => 0) 3 2 5 4)%N
    [:: ord0 : 'I_2] (1%:R / 4%:R) (1%:R / 3%:R).
Proof.
by refine (@biased_copy R 2 _ _ _ _ _ _ (1, 4)%N (1, 3)%N (@same_layers_order _ _ _ _ _ _ _ _ _ _) _); vm_compute.
Qed.
End Counterexamples.
