(* FlowVerification on RheoSampling trees, drawn as drafting runs, and step after step: lossless. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables
  rank_order construction layered layered_lossless rheosampling ondemand generate
  martingale flow_law flow_masses flow_lossless predictable_history layered_history.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Planted.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (head : prefix -> seq (R * V)) (hasS : prefix -> bool) (proxy : prefix -> R).
Variable fill : prefix -> V -> seq (R * V).
Variables (D B N : nat) (t : prefix -> V -> R).

(* The insertions, in rank order, from the kept candidates alone. *)
Definition planted (l : seq (cand R V)) : history R V :=
  pmap (fun a => if a is c :: a' then
    Some (pre a', if smp c then Samp (t (pre a')) (tk c) else Det R (tk c)) else None) l.

Lemma planted_history T : planted (kept head hasS proxy fill D B N T) =
  history_of t T (build head hasS proxy fill D B N T).
Proof.
rewrite /build; set l := kept _ _ _ _ _ _ _ _.
have : {subset l <= candidates head hasS proxy fill D B T} by move=> a /mem_take; rewrite mem_sort.
elim: l => [//|a l IH] sub /=; rewrite -IH; last by move=> c cl; apply: sub; rewrite inE cl orbT.
have := sub a; rewrite inE eqxx mem_candidates => /(_ isT).
case: a {sub} => [//|c a] /andP[_]; rewrite /= mem_layerS' => /and3P[_ _ cs].
by case sc: (smp c) => //=; have [_ ->] := slots_smp cs sc.
Qed.
End Planted.

Section Sampling.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation history := (history R V).
Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (D B N : nat).
Notation t := (tail_law q K m).

Lemma head_off_tail u c : has_sampled q K m u -> c \in head q m u -> t u c.2 = 0.
Proof. by move=> hs /mapP[x xh ->]; rewrite /tail_law hs xh. Qed.

(* Draft, drawing at every expansion; prune; verify with the kept nodes in rank order. *)
Definition run_history (run : history -> prog R V prefix) : prog R V prefix :=
  bind (sample t (draft_kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N))
    (fun l => run (planted t l)).

(* Theorem. On RheoSampling trees, for all draft laws, per-node K and m, all D, B, N: every martingale of laws that asks
   no more of a reveal than FlowVerification, with any program that realises it, is lossless. *)
Theorem run_martingale (legal : history -> prefix -> (V -> R) -> Prop) L run n f :
  (forall h u t, flow_legal h u t -> legal h u t) ->
  martingale p D legal L -> realises p D legal run L -> (D < n)%N ->
  E (bind (run_history run) (fun w => complete p (n - size w) w)) f = E (complete p n [::]) f.
Proof.
move=> weak mg rl Dn.
have H : E (decode_history t (build (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N)
    (some_draw lawq K m) (prefixes V D) p run n) f = E (complete p n [::]) f.
  apply: (layered_martingale _ _ _ _ _ _ _ _ _ _ weak mg rl) => //.
  - exact: head_fac.
  - exact: proxy_fac.
  - exact: fill_fac.
  - exact: lawt.
  - exact: slots_uniq.
  - exact: head_off_tail.
  - exact: some_draw_pos.
  - exact: mem_prefixes.
rewrite -H {H}.
rewrite /run_history /decode_history !E_bind.
rewrite -(sample_table (lawt lawq K m) (some_draw_pos lawq K m) (us := prefixes V D)).
- by apply: E_ext => T; rewrite answer_kept (planted_history _ _ _ _ _ _ _ t) [RHS]E_bind.
- move=> T pT; have [un sz] := asked_uniq D B N (@slots_uniq _ _ q K m) pT.
  by split=> // u /sz; exact: mem_prefixes.
Qed.

Definition flow_run_step : prog R V prefix := run_history (flow p D).

(* Theorem. RheoSampling with FlowVerification: for all target and draft laws, per-node K and m, all D, B, N, and every
   f of the output completed to n > D tokens, the mean of f is its mean under target sampling. *)
Theorem flow_run_lossless n f : (D < n)%N ->
  E (bind flow_run_step (fun w => complete p (n - size w) w)) f = E (complete p n [::]) f.
Proof.
move=> Dn; apply: (run_martingale f (legal := @flow_legal R V) (L := flow_law p) _ _ _ Dn) => //.
- exact: flow_martingale.
- exact: flow_realises.
Qed.

(* Hence every string of more than D tokens has the target's probability. *)
Corollary flow_run_string y : (D < size y)%N ->
  Pr (bind flow_run_step (fun w => complete p (size y - size w) w)) y = target p [::] y.
Proof. by move=> Dy; rewrite /Pr flow_run_lossless // -/(Pr _ _) -[y in Pr _ y]cat0s Pr_complete. Qed.
End Sampling.

Lemma supp_flow_walk (R : realFieldType) (V : finType) (p : seq V -> V -> R) D s S n (w : seq V) :
  (0 < size w)%N -> supp (fun v : seq V => (0 < size v)%N) (flow_walk p D s S n w).
Proof.
elim: n w => [//|n IH] w w0 /= x.
by case: ifP => _ /=; [apply: IH|]; rewrite size_rcons.
Qed.

(* Theorem. For all laws and parameters, repeating steps of RheoSampling with FlowVerification until size y tokens are
   there gives every y exactly the target's probability. Draft laws, K, m, B and N may depend on the whole history. *)
Theorem flow_generate (R : realFieldType) (V : finType) (p : seq V -> V -> R)
    (q : seq V -> seq V -> V -> R) (lawp : forall u, law (p u)) (lawq : forall h u, law (q h u))
    K m D B N (y : seq V) :
  Pr (generate (fun h => flow_run_step (after p h) (q h) (K h) (m h) D (B h) (N h)) (size y) (size y) [::]) y =
  target p [::] y.
Proof.
apply: (generate_lossless lawp (D := D)) => [h|h L f DL].
- apply: (supp_bind (supp_true _)) => l _; rewrite /flow /= => z.
  by case: ifP => _ //=; exact: supp_flow_walk.
- exact: (flow_run_lossless (p := after p h) (fun u => lawp (h ++ u)) (lawq h) _ _ _ _ _ DL).
Qed.
