(* The generation loop: steps repeated until there are enough tokens. Draft law, slots, rheostat, beam and budget of a
   step may depend on the whole history. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables rank_order
  construction layered layered_lossless rheosampling ondemand.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Generate.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).

Fixpoint supp A (P : A -> Prop) (m : prog A) : Prop :=
  match m with
  | Ret a => P a
  | Draw l k => forall x, supp P (k x)
  | Flip b k => forall c, supp P (k c)
  end.

Lemma supp_bind A C (P : A -> Prop) (Q : C -> Prop) (m : prog A) (g : A -> prog C) :
  supp P m -> (forall a, P a -> supp Q (g a)) -> supp Q (bind m g).
Proof. by move=> + H; elim: m => [a|l k IH|b k IH] /= => [/H|K x|K c] //; apply: IH. Qed.

Lemma supp_true A (m : prog A) : supp (fun _ => True) m.
Proof. by elim: m => /=. Qed.

Lemma E_supp A (P : A -> Prop) (m : prog A) f g :
  supp P m -> (forall a, P a -> f a = g a) -> E m f = E m g.
Proof.
move=> + H; elim: m => [a|l k IH|b k IH] /= => [/H|K|K] //.
- by apply: eq_bigr => x _; rewrite IH.
- by rewrite !IH.
Qed.

Lemma supp_walk ver (p : prefix -> V -> R) n s w :
  supp (fun v : prefix => (size w <= size v)%N) (walk ver p n s w).
Proof.
elim: n w => [|n IH] w /=; first exact: leqnn.
apply: (supp_bind (supp_true _)) => y _.
case: ifP => _ /=; last by rewrite size_rcons.
have := IH (rcons w y); move: (walk _ _ _ _ _) => m; rewrite size_rcons.
by elim: m => [a|l k IHm|b k IHm] /=; [exact: ltnW|move=> H x; exact: IHm|move=> H c; exact: IHm].
Qed.

Lemma supp_walk1 ver (p : prefix -> V -> R) n s :
  supp (fun v : prefix => (0 < size v)%N) (walk ver p n.+1 s [::]).
Proof.
rewrite /=; apply: (supp_bind (supp_true _)) => y _; case: ifP => _ //=.
exact: (supp_walk _ _ _ _ [:: y]).
Qed.

Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Definition after (h u : prefix) := p (h ++ u).

Lemma complete_after n h w f :
  E (complete p n (h ++ w)) f = E (complete (after h) n w) (fun v => f (h ++ v)).
Proof.
elim: n w => [//|n IH] w /=; apply: eq_bigr => x _.
by rewrite rcons_cat IH.
Qed.

Lemma complete_more L k h f : (L - size h <= k)%N ->
  E (complete p k h) (fun v => f (take L v)) =
  E (complete p (L - size h) h) (fun v => f (take L v)).
Proof.
elim: k h => [|k IH] h; first by rewrite leqn0 => /eqP ->.
case e: (L - size h)%N => [|j] jk /=; last first.
  apply: eq_bigr => x _; congr (_ * _).
  have ej : (L - size (rcons h x) = j)%N by rewrite size_rcons subnS e.
  by rewrite IH ?ej.
have Lh : (L <= size h)%N by rewrite -subn_eq0 e.
transitivity (\sum_x p h x * f (take L h)); last by rewrite -big_distrl /=; have [_ ->] := lawp h; rewrite mul1r.
apply: eq_bigr => x _; congr (_ * _).
have e0 : (L - size (rcons h x) = 0)%N by apply/eqP; rewrite subn_eq0 size_rcons ltnW.
by rewrite IH e0 //= -cats1 takel_cat.
Qed.

(* A decoding step may depend on the whole history. *)
Variable D : nat.
Variable st : prefix -> prog prefix.
Hypothesis st_pos : forall h, supp (fun w : prefix => (0 < size w)%N) (st h).
Hypothesis st_lossless : forall h L f, (D < L)%N ->
  E (bind (st h) (fun w => complete (after h) (L - size w) w)) f = E (complete (after h) L [::]) f.

Fixpoint generate (fuel L : nat) (h : prefix) : prog prefix :=
  match fuel with
  | 0 => Ret R V (take L h)
  | n.+1 => if (L <= size h)%N then Ret R V (take L h)
            else bind (st h) (fun w => generate n L (h ++ w))
  end.

Lemma generate_from n L h f : (L <= n + size h)%N ->
  E (generate n L h) f = E (complete p (L - size h) h) (fun v => f (take L v)).
Proof.
elim: n h => [|n IH] h /=; first by rewrite add0n -subn_eq0 => /eqP ->.
move=> Lh; case: (leqP L (size h)) => [|hL]; first by rewrite -subn_eq0 => /eqP ->.
rewrite E_bind; set M := maxn (L - size h) D.+1.
have LM : (L - size h <= M)%N by exact: leq_maxl.
pose g v := f (take L (h ++ v)).
transitivity (E (bind (st h) (fun w => complete (after h) (M - size w) w)) g).
  rewrite E_bind; apply: (E_supp (st_pos h)) => w w0.
  rewrite IH; last first.
    by apply: (leq_trans Lh); rewrite size_cat addSn -addnS leq_add2l -addn1 leq_add2l.
  rewrite -(complete_after _ _ _ (fun v => f (take L v))).
  apply/esym/complete_more; rewrite size_cat subnDA; exact: leq_sub2r.
rewrite st_lossless ?leq_maxr // -(complete_more _ LM).
by have := complete_after M h [::] (fun v => f (take L v)); rewrite cats0 => ->.
Qed.

Lemma supp_complete n w : supp (fun v : prefix => size v = n + size w)%N (complete p n w).
Proof.
elim: n w => [//|n IH] w /= x; have := IH (rcons w x).
by rewrite size_rcons addnS addSn.
Qed.

(* If every step, given the whole past, is lossless and emits at least one token, then repeating steps until there are
   as many tokens as in y gives y with its target probability. *)
Theorem generate_lossless (y : prefix) : Pr (generate (size y) (size y) [::]) y = target p [::] y.
Proof.
rewrite /Pr generate_from ?addn0 // subn0 -[RHS](Pr_complete p [::] y) /Pr.
apply: (E_supp (supp_complete (size y) [::])) => v; rewrite addn0 => <-.
by rewrite take_size /=.
Qed.
End Generate.

(* RheoSampling, step after step; draft laws and parameters may depend on the whole history. *)
Section RheoGenerate.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p : prefix -> V -> R) (q : prefix -> prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall h u, law (q h u).
Variables (K m : prefix -> prefix -> nat) (D : nat) (B N : prefix -> nat).
Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

Definition step_after (h : prefix) : prog R V prefix :=
  run_step (after p h) (q h) (K h) (m h) D (B h) (N h) ver.

(* RheoSampling repeated, with any fair rule that takes one sampled child per node: each string y is generated with its
   target probability. The draft laws and K, m, B, N of a step may depend on everything generated so far. *)
Theorem run_generate (y : prefix) :
  Pr (generate step_after (size y) (size y) [::]) y = target p [::] y.
Proof.
apply: (generate_lossless lawp (D := D)) => [h|h L f DL].
- by apply: (supp_bind (supp_true _)) => l _; exact: supp_walk1.
- exact: (run_lossless (p := after p h) (fun u => lawp (h ++ u)) (lawq h)
      (K h) (m h) (B h) (N h) ver_fair legal1 f DL).
Qed.
End RheoGenerate.

(* The main theorem. RheoSampling with RheoVerification, repeated: for every vocabulary, all target and draft laws, all
   K, m, D, B, N (all but D may depend on the history, K and m on the node too): each string y is generated with
   probability p(y_1) p(y_2 | y_1) ... *)
Theorem rheo_generate (R : realFieldType) (V : finType) (p : seq V -> V -> R)
    (q : seq V -> seq V -> V -> R) (lawp : forall u, law (p u)) (lawq : forall h u, law (q h u))
    K m D B N (y : seq V) :
  Pr (generate (step_after p q K m D B N (@rheo R V)) (size y) (size y) [::]) y = target p [::] y.
Proof. exact: (run_generate lawp lawq _ _ _ _ _ (rheo_fair R V)). Qed.
