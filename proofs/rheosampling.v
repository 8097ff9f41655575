(* RheoSampling: the slots of a node from its draft law q, with the paper's proxy, put into the construction. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables rank_order
  construction layered layered_lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section RheoSampling.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R).          (* target and draft laws *)
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat).             (* slots and rheostat; may differ per node *)
Variables (D B N : nat).                     (* depth, beam, kept nodes *)

(* Tokens of positive draft probability by (-q, token id): the sort is stable. *)
Definition order u : seq V :=
  sort (fun x y => q u y <= q u x) [seq x <- enum V | 0 < q u x].
Definition heads u : seq V := take (m u) (order u).
Definition zrest u : R := 1 - \sum_(x <- heads u) q u x.
Definition has_sampled u : bool := (m u < K u)%N && (0 < zrest u).
Definition tail_law u x : R :=
  if has_sampled u then (if x \in heads u then 0 else q u x / zrest u) else q u x.
Definition proxy u : R :=
  if heads u is x :: l then Num.min (q u (last x l)) (zrest u) else zrest u.
Definition with_q u (l : seq V) : seq (R * V) := [seq (q u x, x) | x <- l].
Definition head u := with_q u (heads u).
Definition fill u x :=
  with_q u (take (K u - m u - 1) [seq y <- drop (m u) (order u) | y != x]).

Lemma order_uniq u : uniq (order u).
Proof. by rewrite sort_uniq filter_uniq // enum_uniq. Qed.
Lemma heads_uniq u : uniq (heads u).
Proof. exact/take_uniq/order_uniq. Qed.

Lemma zrestE u : zrest u = \sum_(x | x \notin heads u) q u x.
Proof.
have [_ q1] := lawq u; rewrite /zrest -{1}q1 (big_uniq _ (heads_uniq u)) /=.
by rewrite (bigID (mem (heads u))) /= addrAC subrr add0r.
Qed.

Lemma zrest_ge u y : y \notin heads u -> q u y <= zrest u.
Proof.
have [q0 _] := lawq u; move=> yh; rewrite zrestE (bigD1 y) //= ler_addl.
exact: sumr_ge0.
Qed.

Lemma zrest01 u : 0 <= zrest u <= 1.
Proof.
have [q0 _] := lawq u; rewrite {1}zrestE sumr_ge0 //=.
by rewrite /zrest ler_subl_addr ler_addl sumr_ge0.
Qed.

Lemma q01 u x : 0 <= q u x <= 1.
Proof. by have [q0 _] := lawq u; rewrite q0 law_le1. Qed.

Lemma head_fac u c : c \in head u -> 0 <= c.1 <= 1.
Proof. by move=> /mapP[x _ ->]; exact: q01. Qed.

Lemma proxy_fac u : 0 <= proxy u <= 1.
Proof.
have /andP[z0 z1] := zrest01 u; rewrite /proxy; case: heads => [|x l]; first by rewrite z0.
by have /andP[a b] := q01 u (last x l); rewrite le_minr a z0 le_minl b.
Qed.

Lemma fill_mem u x c : c \in fill u x -> exists2 y, c = (q u y, y) & y \in drop (m u) (order u).
Proof.
by move=> /mapP[y /mem_take + ->]; rewrite mem_filter => /andP[_ yd]; exists y.
Qed.

Lemma drop_heads u y : y \in drop (m u) (order u) -> y \notin heads u.
Proof.
move=> yd; have := order_uniq u; rewrite -(cat_take_drop (m u) (order u)) cat_uniq.
by move=> /and3P[_ /hasPn /(_ y yd)].
Qed.

Lemma fill_fac u x c : c \in fill u x -> 0 <= c.1 <= proxy u.
Proof.
move=> /fill_mem[y -> yd] /=; have [q0 _] := lawq u; rewrite q0 /=.
have yz := zrest_ge (drop_heads yd); rewrite /proxy.
case eh: (heads u) => [//|a l]; rewrite le_minr yz andbT.
have tr : transitive (fun x y => q u y <= q u x) by move=> b c' d h1 h2; exact: le_trans h1.
have : sorted (fun x y => q u y <= q u x) (order u).
  by apply: sort_sorted => b d; exact: le_total.
rewrite sorted_pairwise // -(cat_take_drop (m u) (order u)) pairwise_cat => /and3P[/allrelP H _ _].
by apply: H => //; rewrite -/(heads u) eh mem_last.
Qed.

Lemma lawt u : law (tail_law u).
Proof.
have [q0 q1] := lawq u; split=> [x|]; rewrite /tail_law; case hs: (has_sampled u) => //.
- by case: ifP => // _; rewrite divr_ge0 //; case/andP: (zrest01 u).
- case/andP: hs => _ z0; rewrite (bigID (mem (heads u))) /= big1 ?add0r; last by move=> i ->.
  rewrite (eq_bigr (fun x => q u x / zrest u)); last by move=> i /negbTE ->.
  by rewrite -big_distrl /= -zrestE divff // lt0r_neq0.
Qed.

Lemma map_tk_mark i (l : seq (R * V)) : map (@tk R V) (mark i l) = map snd l.
Proof. by elim: l i => [//|c l IH] i /=; rewrite IH. Qed.

Lemma map_snd_q u l : map snd (with_q u l) = l.
Proof. by rewrite /with_q -map_comp map_id. Qed.

Lemma slots_uniq u x : 0 < tail_law u x ->
  uniq (map (@tk R V) (slots head has_sampled proxy fill u x)).
Proof.
rewrite /slots /tail_law map_cat map_tk_mark map_snd_q.
case hs: (has_sampled u); last by rewrite cats0 heads_uniq.
case: ifP => [_|xh _]; first by rewrite ltxx.
rewrite /= map_tk_mark map_snd_q cat_uniq heads_uniq /= xh /=.
have sub : forall y, y \in take (K u - m u - 1) [seq y <- drop (m u) (order u) | y != x] ->
    (y != x) && (y \in drop (m u) (order u)) by move=> y /mem_take; rewrite mem_filter.
apply/and3P; split.
- by apply/hasPn => y /sub /andP[_ /drop_heads].
- by apply/negP => /sub; rewrite eqxx.
- by rewrite take_uniq // filter_uniq // drop_uniq // order_uniq.
Qed.

Lemma ex_pos u : exists x, 0 < tail_law u x.
Proof.
have [t0 t1] := lawt u; apply/existsP; apply: contraT; rewrite negb_exists => /forallP H.
have : \sum_x tail_law u x = 0.
  apply: big1 => x _; apply/eqP; rewrite eq_le t0 andbT.
  by have := H x; rewrite -leNgt.
by move/eqP; rewrite t1 oner_eq0.
Qed.
Definition some_draw : table V := fun u => xchoose (ex_pos u).
Lemma some_draw_pos : positive tail_law some_draw.
Proof. by move=> u; exact: (xchooseP (ex_pos u)). Qed.

Fixpoint prefixes (n : nat) : seq prefix :=
  if n is n'.+1 then [::] :: flatten [seq [seq x :: u | u <- prefixes n'] | x <- enum V] else [::].
Lemma mem_prefixes n u : (size u < n)%N -> u \in prefixes n.
Proof.
elim: n u => [//|n IH] [|x u] //= su; rewrite inE; apply/orP; right.
apply/flattenP; exists [seq x :: u | u <- prefixes n]; last exact/map_f/IH.
by apply/mapP; exists x => //; rewrite mem_enum.
Qed.

Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

(* Draw X_u ~ tail_law u for every prefix shorter than D, build the tree of section 4, verify it
   with the rule ver, complete the output to L tokens from the target. *)
Definition decode (L : nat) : prog R V prefix :=
  bind (drawall tail_law some_draw (prefixes D)) (fun T =>
  let s := grow tail_law T (build head has_sampled proxy fill D B N T) in
  bind (walk ver p D.+1 s [::]) (fun w => complete p (L - size w) w)).

(* RheoSampling, the table drawn first: for all laws p and q, all K and m (which may differ from node to node), all D,
   B, N, and every fair rule that takes one sampled child per node, the completed output has the law of the target. *)
Theorem rheosampling_lossless L f : (D < L)%N -> E (decode L) f = E (complete p L [::]) f.
Proof.
move=> DL.
have H := @layered_lossless R V head has_sampled proxy fill D B N head_fac proxy_fac fill_fac
  tail_law lawt slots_uniq some_draw some_draw_pos (prefixes D) (@mem_prefixes D) p lawp legal ver ver_fair legal1 L f DL.
exact: H.
Qed.

(* The same for one string of more than D tokens. *)
Corollary rheosampling_string (y : prefix) : (D < size y)%N ->
  Pr (decode (size y)) y = target p [::] y.
Proof. by move=> Dy; rewrite /Pr rheosampling_lossless // -/(Pr _ _) -[y in Pr _ y]cat0s Pr_complete. Qed.
End RheoSampling.

(* RheoVerification: each string y of more than D tokens comes out with its target probability. *)
Theorem rheo_lossless (R : realFieldType) (V : finType) (p q : seq V -> V -> R)
    (lawp : forall u, law (p u)) (lawq : forall u, law (q u)) K m D B N (y : seq V) :
  (D < size y)%N -> Pr (decode p lawq K m D B N (@rheo R V) (size y)) y = target p [::] y.
Proof. exact: (rheosampling_string lawp _ _ _ _ _ (rheo_fair R V)). Qed.

(* RRSw: each string y of more than D tokens comes out with its target probability. *)
Theorem rrs_lossless (R : realFieldType) (V : finType) (p q : seq V -> V -> R)
    (lawp : forall u, law (p u)) (lawq : forall u, law (q u)) K m D B N (y : seq V) :
  (D < size y)%N -> Pr (decode p lawq K m D B N (@rrs R V) (size y)) y = target p [::] y.
Proof. exact: (rheosampling_string lawp _ _ _ _ _ (rrs_fair R V)). Qed.

(* Match: each string y of more than D tokens comes out with its target probability. *)
Theorem onehot_lossless (R : realFieldType) (V : finType) (p q : seq V -> V -> R)
    (lawp : forall u, law (p u)) (lawq : forall u, law (q u)) K m D B N (y : seq V) :
  (D < size y)%N -> Pr (decode p lawq K m D B N (@onehot R V) (size y)) y = target p [::] y.
Proof. exact: (rheosampling_string lawp _ _ _ _ _ (onehot_fair R V)). Qed.
