(* Construction options and FlowVerification: any proxy in [0, 1] that does not depend on X will do, if no fill factor
   exceeds it; no head need outrank the sampled child.  More generally for every martingale of laws. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables
  rank_order construction layered layered_lossless rheosampling ondemand generate
  martingale flow_law flow_masses flow_lossless predictable_history layered_history flow_sampling options.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Factors.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation history := (history R V).
Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (D B N : nat).

(* Factors: of the sampled child of u, and of the fills of u given X. *)
Variables (proxy : prefix -> R) (fill : prefix -> V -> seq (R * V)).
Hypothesis proxy01 : forall u, 0 <= proxy u <= 1.
Hypothesis fill_le : forall u x c, c \in fill u x -> 0 <= c.1 <= proxy u.
Hypothesis fill_tokens : forall u x, map snd (fill u x) = map snd (rheosampling.fill q K m u x).
Notation t := (tail_law q K m).

Definition factor_history (run : history -> prog R V prefix) : prog R V prefix :=
  bind (sample t (factor_draft q K m D B N proxy fill)) (fun l => run (planted t l)).

(* Theorem. For all draft laws, per-node K and m, all D, B, N, all factors as above: every martingale of laws that asks
   no more of a reveal than FlowVerification, with any program that realises it, is lossless. *)
Theorem factors_martingale (legal : history -> prefix -> (V -> R) -> Prop) L run n f :
  (forall h u t, flow_legal h u t -> legal h u t) ->
  martingale p D legal L -> realises p D legal run L -> (D < n)%N ->
  E (bind (factor_history run) (fun w => complete p (n - size w) w)) f = E (complete p n [::]) f.
Proof.
move=> weak mg rl Dn; have lt := lawt lawq K m; have pos0 := some_draw_pos lawq K m.
have uniq_slots := @factors_uniq R V q K m proxy fill fill_tokens.
have H : E (decode_history t (build (head q m) (has_sampled q K m) proxy fill D B N)
    (some_draw lawq K m) (prefixes V D) p run n) f = E (complete p n [::]) f.
  apply: (layered_martingale _ _ _ _ _ _ _ _ _ _ weak mg rl) => //.
  - exact: head_fac.
  - exact: head_off_tail.
  - exact: mem_prefixes.
rewrite -H {H} /factor_history /decode_history !E_bind -(sample_table lt pos0 (us := prefixes V D)).
- by apply: E_ext => T; rewrite answer_kept (planted_history _ _ _ _ _ _ _ t) [RHS]E_bind.
- move=> T pT; have [un sz] := asked_uniq D B N uniq_slots pT.
  by split=> // u /sz; exact: mem_prefixes.
Qed.

(* Theorem. FlowVerification is lossless with all these factors. *)
Theorem factors_flow_lossless n f : (D < n)%N ->
  E (bind (factor_history (flow p D)) (fun w => complete p (n - size w) w)) f = E (complete p n [::]) f.
Proof.
move=> Dn; apply: (factors_martingale f (legal := @flow_legal R V) (L := flow_law p) _ _ _ Dn) => //.
- exact: flow_martingale.
- exact: flow_realises.
Qed.
End Factors.

Section Options.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p : prefix -> V -> R) (q : prefix -> prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall h u, law (q h u).
Variables (K m : prefix -> prefix -> nat) (D : nat) (B N : prefix -> nat).
Variables (a g : prefix -> prefix -> R) (use_tail : prefix -> prefix -> bool).
Hypothesis a01 : forall h u, 0 <= a h u <= 1.
Hypothesis g01 : forall h u, 0 <= g h u <= 1.

(* One step after the history h: `proxy`, `proxy_scale` a and `fill_scale` g chosen per node. *)
Definition option_flow_step (h : prefix) : prog R V prefix :=
  factor_history (q h) (K h) (m h) D (B h) (N h)
    (option_proxy (q h) (m h) (a h) (use_tail h)) (scaled_fill (q h) (K h) (m h) (g h)) (flow (after p h) D).

(* Theorem. With the paper's proxy or the tail proxy, and all scales in [0, 1]: a step of FlowVerification, completed to
   any n > D tokens, emits the law of n target tokens. *)
Theorem options_flow_lossless h n f : (D < n)%N ->
  E (bind (option_flow_step h) (fun w => complete (after p h) (n - size w) w)) f = E (complete (after p h) n [::]) f.
Proof.
move=> Dn; apply: (factors_flow_lossless _ _ _ _ _ _ _ f Dn) => //.
- by move=> u; exact: lawp.
- by move=> u; exact: option_proxy01.
- by move=> u x c; exact: scaled_fill_le.
- by move=> u x; exact: scaled_fill_tokens.
Qed.

(* Theorem. Step after step, every option left to the whole history: each y is generated with its target probability. *)
Theorem options_flow_generate (y : prefix) :
  Pr (generate option_flow_step (size y) (size y) [::]) y = target p [::] y.
Proof.
apply: (generate_lossless lawp (D := D)) => [h|h L f DL]; last exact: options_flow_lossless.
apply: (supp_bind (supp_true _)) => l _; rewrite /flow /= => z.
by case: ifP => _ //=; exact: supp_flow_walk.
Qed.
End Options.
