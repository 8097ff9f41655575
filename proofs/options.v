(* Construction options beyond the paper: other factors than section 3 gives to the sampled child and to fills.

   Any proxy in [0, 1] that does not depend on X will do, if no fill factor exceeds it; whether it exceeds a head factor
   does not matter to RheoVerification and Match. Instances: `proxy = tail`, `proxy_scale` a, `fill_scale` g. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies predictable tables rank_order construction
  layered layered_lossless rheosampling ondemand generate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Factors.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (D B N : nat).

(* Factors: of the sampled child of u, and of the fills of u given X. Which tokens are fills is left as it is. *)
Variables (proxy : prefix -> R) (fill : prefix -> V -> seq (R * V)).
Hypothesis proxy01 : forall u, 0 <= proxy u <= 1.
Hypothesis fill_le : forall u x c, c \in fill u x -> 0 <= c.1 <= proxy u.
Hypothesis fill_tokens : forall u x, map snd (fill u x) = map snd (rheosampling.fill q K m u x).

Notation t := (tail_law q K m).
Notation slots := (slots (head q m) (has_sampled q K m) proxy fill).

Lemma factors_uniq u x : 0 < t u x -> uniq (map (@tk R V) (slots u x)).
Proof.
move=> tx; have := slots_uniq tx; rewrite /construction.slots !map_cat.
by case: has_sampled => //=; rewrite !map_tk_mark fill_tokens.
Qed.

Definition factor_draft : asks V (seq (cand R V)) :=
  draft_kept (head q m) (has_sampled q K m) proxy fill D B N.
Definition factor_step (ver : rule R V) : prog R V prefix :=
  bind (sample t factor_draft) (fun l => walk ver p D.+1 (foldl (plant t) (@empty R V) l) [::]).
Definition factor_decode (ver : rule R V) (L : nat) : prog R V prefix :=
  bind (factor_step ver) (fun w => complete p (L - size w) w).

Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

(* For all laws p and q, all K, m, D, B, N, all proxies in [0, 1] that do not depend on X, all fill factors between 0
   and the proxy, and every fair rule that takes one sampled child per node: the step, drawing on demand and completed
   to any length L > D, emits the law of L target tokens. *)
Theorem factors_lossless L f : (D < L)%N -> E (factor_decode ver L) f = E (complete p L [::]) f.
Proof.
move=> DL; have pos0 := some_draw_pos lawq K m; have lt := lawt lawq K m.
rewrite -(layered_lossless B N (head_fac lawq (m := m)) proxy01 fill_le lt factors_uniq pos0 (@mem_prefixes V D)
  lawp ver_fair legal1 f DL).
rewrite /factor_decode /factor_step /decode_table !E_bind -(sample_table lt pos0 (us := prefixes V D)).
- by apply: E_ext => T; rewrite answer_kept plant_grow [RHS]E_bind.
- move=> T pT; have [un sz] := asked_uniq D B N factors_uniq pT.
  by split=> // u /sz; exact: mem_prefixes.
Qed.
End Factors.

Section Options.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variable q : prefix -> V -> R.
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat).
Notation z := (zrest q m).
Notation tail u := (drop (m u) (order q u)).

Variable a : prefix -> R.       (* proxy_scale *)
Variable g : prefix -> R.       (* fill_scale *)
Hypothesis a01 : forall u, 0 <= a u <= 1.
Hypothesis g01 : forall u, 0 <= g u <= 1.

(* max(a z, q(x_{m+1})): it may exceed the factor of a head. *)
Definition tail_proxy u : R :=
  if tail u is x :: _ then Num.max (a u * z u) (q u x) else a u * z u.
Definition scaled_fill u x : seq (R * V) := [seq (g u * c.1, c.2) | c <- fill q K m u x].
(* Which of the two proxies is in use may differ from node to node. *)
Variable use_tail : prefix -> bool.
Definition option_proxy u : R := if use_tail u then tail_proxy u else proxy q m u.

Lemma tail_proxy01 u : 0 <= tail_proxy u <= 1.
Proof.
have /andP[z0 z1] := zrest01 lawq m u; have /andP[a0 a1] := a01 u.
have az0 : 0 <= a u * z u by exact: mulr_ge0.
have az1 : a u * z u <= 1 by exact: mulr_ile1.
rewrite /tail_proxy; case: (tail u) => [|x l]; first by rewrite az0.
by rewrite le_maxr az0 le_maxl az1; have /andP[_ ->] := q01 lawq u x.
Qed.

Lemma tail_head u y x l : tail u = x :: l -> y \in x :: l -> q u y <= q u x.
Proof.
move=> e yl; have tr : transitive (fun x y => q u y <= q u x) by move=> b c d h1 h2; exact: le_trans h1.
have : sorted (fun x y => q u y <= q u x) (order q u) by apply: sort_sorted => b d; exact: le_total.
rewrite sorted_pairwise // -(cat_take_drop (m u) (order q u)) pairwise_cat e /= => /and4P[_ _ /allP H _].
by move: yl; rewrite inE => /predU1P[->|/H].
Qed.

Lemma fill_le_tail u x c : c \in fill q K m u x -> 0 <= c.1 <= tail_proxy u.
Proof.
move=> /fill_mem[y -> yt] /=; have [q0 _] := lawq u; rewrite q0 /=.
rewrite /tail_proxy; case e: (tail u) yt => [//|x0 l] yt.
by rewrite le_maxr (tail_head e yt) orbT.
Qed.

Lemma option_proxy01 u : 0 <= option_proxy u <= 1.
Proof. by rewrite /option_proxy; case: use_tail; [exact: tail_proxy01|exact: proxy_fac]. Qed.

Lemma scaled_fill_le u x c : c \in scaled_fill u x -> 0 <= c.1 <= option_proxy u.
Proof.
move=> /mapP[d dl ->] /=; have /andP[g0 g1] := g01 u.
have /andP[d0 d1] : 0 <= d.1 <= option_proxy u.
  by rewrite /option_proxy; case: use_tail; [exact: fill_le_tail dl|exact: fill_fac dl].
by rewrite mulr_ge0 //= (le_trans _ d1) // ler_pimull.
Qed.

Lemma scaled_fill_tokens u x : map snd (scaled_fill u x) = map snd (fill q K m u x).
Proof. by rewrite /scaled_fill -map_comp. Qed.

Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Variables (D B N : nat).
Notation option_decode ver := (factor_decode p q K m D B N option_proxy scaled_fill ver).

(* The options of the program: for all laws p and q, all K, m, D, B, N, with the paper's proxy or the tail proxy, all
   scales a and g in [0, 1] (all of this may differ from node to node): RheoVerification is lossless. *)
Theorem options_rheo_lossless L f : (D < L)%N -> E (option_decode (@rheo R V) L) f = E (complete p L [::]) f.
Proof.
by apply: (factors_lossless lawp lawq B N option_proxy01 scaled_fill_le scaled_fill_tokens (rheo_fair R V)).
Qed.

(* Likewise Match. *)
Theorem options_onehot_lossless L f : (D < L)%N -> E (option_decode (@onehot R V) L) f = E (complete p L [::]) f.
Proof.
by apply: (factors_lossless lawp lawq B N option_proxy01 scaled_fill_le scaled_fill_tokens (onehot_fair R V)).
Qed.

(* RRSw too, if it tests children in the order of insertion, and not in slot order as specified: see slot_order.v. *)
Theorem options_rrs_inserted_lossless L f : (D < L)%N -> E (option_decode (@rrs R V) L) f = E (complete p L [::]) f.
Proof.
by apply: (factors_lossless lawp lawq B N option_proxy01 scaled_fill_le scaled_fill_tokens (rrs_fair R V)).
Qed.
End Options.

(* The loop, with every option of a step left to the whole history. *)
Section Generate.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p : prefix -> V -> R) (q : prefix -> prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall h u, law (q h u).
Variables (K m : prefix -> prefix -> nat) (D : nat) (B N : prefix -> nat).
Variables (a g : prefix -> prefix -> R) (use_tail : prefix -> prefix -> bool).
Hypothesis a01 : forall h u, 0 <= a h u <= 1.
Hypothesis g01 : forall h u, 0 <= g h u <= 1.

Definition option_step_after (h : prefix) : prog R V prefix :=
  factor_step (after p h) (q h) (K h) (m h) D (B h) (N h)
    (option_proxy (q h) (m h) (a h) (use_tail h)) (scaled_fill (q h) (K h) (m h) (g h)) (@rheo R V).

(* RheoVerification with any of these options, repeated: each string y is generated with its target probability. *)
Theorem options_rheo_generate (y : prefix) :
  Pr (generate option_step_after (size y) (size y) [::]) y = target p [::] y.
Proof.
apply: (generate_lossless lawp (D := D)) => [h|h L f DL].
- by apply: (supp_bind (supp_true _)) => l _; exact: supp_walk1.
- exact: (options_rheo_lossless (lawq h) (K h) (m h) (a01 h) (g01 h) (use_tail h) (fun u => lawp (h ++ u)) (B h) (N h)).
Qed.
End Generate.
