(* Block verification of one sampled chain (arXiv 2403.10444), and its law in closed form. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless flow_test.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Block.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).
Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).

(* A chain: tokens from the root down, each with the law q_i that it was drawn from. *)
Definition links := seq ((V -> R) * V).
Definition drawn (l : links) : Prop := forall c, List.In c l -> law c.1 /\ 0 < c.1 c.2.

(* w_0 = 1, w_i = min(1, w_(i-1) p(x_i) / q_i(x_i)); s_i = (w_i p - q_(i+1))+ after x_1 .. x_i, S_i = sum s_i.
   Coins: h_n = w_n, and h_i = S_i / (S_i + 1 - w_i) for i < n, 1 if that is 0/0. *)
Definition left_over (w : R) (u : prefix) (q : V -> R) (y : V) : R := pos (w * p u y - q y).
Definition next_weight (w : R) (u : prefix) (q : V -> R) (x : V) : R := Num.min 1 (w * p u x / q x).
Definition coin (S w : R) : R := if (S == 0) && (w == 1) then 1 else S / (S + 1 - w).
Definition normed (s : V -> R) (y : V) : R := s y / \sum_z s z.

(* Prefix, coin, and unnormalised law of the next token, from the root down. *)
Fixpoint stages (w : R) (u : prefix) (l : links) : seq (prefix * R * (V -> R)) :=
  match l with
  | [::] => [:: (u, w, p u)]
  | (q, x) :: l' => (u, coin (\sum_y left_over w u q y) w, left_over w u q)
                    :: stages (next_weight w u q x) (rcons u x) l'
  end.

(* The coins are tossed from the last one; the first true one wins, and h_0 = 1 is not tossed. *)
Fixpoint from_last (ss : seq (prefix * R * (V -> R))) : prog prefix :=
  match ss with
  | [::] => Ret R V [::]
  | (u, h, s) :: ss' =>
    let emit := Draw (normed s) (fun y => Ret R V (rcons u y)) in
    if ss' is [::] then emit else Flip h (fun b => if b then emit else from_last ss')
  end.

Definition block (l : links) : prog prefix := from_last (rev (stages 1 [::] l)).

(* The law of the output: x_1 .. x_i y has the probability (product of the later rho) (w_i p(y) - q_(i+1)(y))+,
   and x_1 .. x_n y has w_n p(y). *)
Definition tested (w : R) (u : prefix) : V -> R := fun y => w * p u y.
Fixpoint later (w : R) (u : prefix) (l : links) : R :=
  match l with
  | [::] => 1
  | (q, x) :: l' => rho (tested w u) q x * later (next_weight w u q x) (rcons u x) l'
  end.
Fixpoint outcome (w : R) (u : prefix) (l : links) (f : prefix -> R) : R :=
  match l with
  | [::] => \sum_y w * p u y * f (rcons u y)
  | (q, x) :: l' => \sum_y later w u l * left_over w u q y * f (rcons u y)
                    + outcome (next_weight w u q x) (rcons u x) l' f
  end.

Variable f : prefix -> R.
Definition emitted (st : prefix * R * (V -> R)) : R := \sum_y normed st.2 y * f (rcons st.1.1 y).
Fixpoint value_from (ss : seq (prefix * R * (V -> R))) (r : R) : R :=
  if ss is st :: ss' then value_from ss' (st.1.2 * emitted st + (1 - st.1.2) * r) else r.

Lemma from_lastE ss st tl : E (from_last (rev ss ++ st :: tl)) f = value_from ss (E (from_last (st :: tl)) f).
Proof.
elim: ss st tl => [//|[[u h] s] ss IH] st tl.
by rewrite rev_cons cat_rcons IH.
Qed.

Section Step.
Variables (w : R) (u : prefix) (q : V -> R).
Hypotheses (w0 : 0 <= w) (w1 : w <= 1) (lq : law q).
Notation S := (\sum_y left_over w u q y).

Lemma tested_sum : \sum_y tested w u y = w.
Proof. by rewrite -big_distrr /=; have [_ ->] := lawp u; rewrite mulr1. Qed.
Lemma tested_ge0 y : 0 <= tested w u y.
Proof. by have [p0 _] := lawp u; rewrite mulr_ge0. Qed.

Lemma left_ge0 : 0 <= S.
Proof. by apply: sumr_ge0 => y _; exact: pos_ge0. Qed.

Lemma rest_left : rest (tested w u) q = 1 - w + S.
Proof. by rewrite restE // tested_sum. Qed.

Lemma rest0 : rest (tested w u) q = 0 -> [/\ S = 0, w = 1 & forall y, left_over w u q y = 0].
Proof.
rewrite rest_left => /eqP; rewrite paddr_eq0 ?subr_ge0 ?left_ge0 // subr_eq0 => /andP[/eqP <- /eqP s0].
split=> // y; move/eqP: s0; rewrite psumr_eq0 => [/allP /(_ y (mem_index_enum _)) /eqP //|z _].
exact: pos_ge0.
Qed.

Lemma next_weight01 x : 0 < q x -> 0 <= next_weight w u q x <= 1.
Proof.
move=> qx; have [p0 _] := lawp u; rewrite /next_weight le_minl lexx /= le_minr ler01 /=.
by rewrite andbT divr_ge0 ?mulr_ge0 // ltW.
Qed.

(* What coin and residual do together. *)
Lemma coin_left r : coin S w * emitted (u, coin S w, left_over w u q) + (1 - coin S w) * r =
  (\sum_y left_over w u q y * f (rcons u y) + (1 - w) * r) / rest (tested w u) q.
Proof.
rewrite /emitted /=; have [e|ne] := eqVneq (rest (tested w u) q) 0.
  have [s0 e1 l0] := rest0 e; have -> : coin S w = 1 by rewrite /coin s0 e1 !eqxx.
  rewrite e invr0 mulr0 subrr mul0r addr0 mul1r.
  by apply: big1 => y _; rewrite /normed s0 invr0 mulr0 mul0r.
have ec : coin S w = S / rest (tested w u) q.
  rewrite /coin; case: ifP => [/andP[/eqP s0 /eqP e1]|_]; last by rewrite rest_left [1 - w + _]addrC addrA.
  by move: ne; rewrite rest_left s0 {1}e1 subrr addr0 eqxx.
rewrite [RHS]mulrDl ec; congr (_ + _).
  rewrite [LHS]big_distrr [RHS]big_distrl /=; apply: eq_bigr => y _; rewrite /normed.
  have [s0|sn] := eqVneq S 0; last first.
    have alg (a b c d : R) : a != 0 -> a / b * (c / a * d) = c * d / b.
      by move=> a0; rewrite mulrAC mulrA (mulrC a) divfK.
    exact: alg.
  have -> : left_over w u q y = 0.
    move/eqP: s0; rewrite psumr_eq0 => [/allP /(_ y (mem_index_enum _)) /eqP //|z _]; exact: pos_ge0.
  by rewrite !mul0r mulr0.
rewrite -[1 in LHS](divff ne) -mulrBl; rewrite {1}rest_left addrK.
by rewrite mulrAC.
Qed.
End Step.

Lemma value_stages w u l r : 0 <= w <= 1 -> drawn l ->
  value_from (stages w u l) r = outcome w u l f + (1 - w) * later w u l * r.
Proof.
elim: l w u r => [|[q x] l IH] w u r /andP[w0 w1] dl.
  rewrite /= mulr1 /emitted /= big_distrr /=; congr (_ + _); apply: eq_bigr => y _.
  by have [_ p1] := lawp u; rewrite /normed p1 divr1 mulrA.
have [lq qx] := dl (q, x) (or_introl erefl); have w01 := next_weight01 u w0 qx.
have dl' : drawn l by move=> c cl; apply: dl; right.
rewrite [LHS]/= IH // (coin_left u w1 lq) /=.
have -> : (1 - next_weight w u q x) * later (next_weight w u q x) (rcons u x) l *
  ((\sum_y left_over w u q y * f (rcons u y) + (1 - w) * r) / rest (tested w u) q) =
  rho (tested w u) q x * later (next_weight w u q x) (rcons u x) l *
  (\sum_y left_over w u q y * f (rcons u y) + (1 - w) * r).
  have alg (a b c d : R) : a * b * (c / d) = a / d * b * c.
    by rewrite mulrA (mulrAC a d^-1 b) (mulrAC (a * b) d^-1 c).
  exact: alg.
rewrite mulrDr addrA; congr (_ + _); last by rewrite mulrCA !mulrA.
rewrite addrC; congr (_ + _); rewrite big_distrr /=; apply: eq_bigr => y _; by rewrite mulrA.
Qed.

(* Theorem. For every target, every chain of drawn tokens and every f: the mean of f over the output of block
   verification is that of the closed form, divisions by 0 included. *)
Theorem block_outcome l : drawn l -> E (block l) f = outcome 1 [::] l f.
Proof.
case: l => [_|[q x] l dl]; rewrite /block /=.
  by apply: eq_bigr => y _; have [_ p1] := lawp [::]; rewrite /normed p1 divr1 mul1r.
have [lq qx] := dl (q, x) (or_introl erefl); have w01 := next_weight01 [::] ler01 qx.
have dl' : drawn l by move=> c cl; apply: dl; right.
rewrite rev_cons -cats1 from_lastE value_stages // addrC; congr (_ + _).
have rl : rest (tested 1 [::]) q = \sum_y left_over 1 [::] q y.
  by rewrite rest_left // subrr add0r.
rewrite big_distrr /=; apply: eq_bigr => y _; rewrite /rho rl -[acc _ _ _]/(next_weight 1 [::] q x) /normed mulrA.
have alg (a b c d : R) : a * b * (c / d) = a / d * b * c.
  by rewrite mulrA (mulrAC a d^-1 b) (mulrAC (a * b) d^-1 c).
by rewrite alg.
Qed.
End Block.
