(* Drawing the whole table before building, or token by token while building, gives the same law. So every predictable
   construction is lossless. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless predictable.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Tables.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation table := (table V).
Notation tree := (tree R V).
Notation policy := (policy R V).
Notation prog := (@prog R V).

Variable t : prefix -> V -> R.        (* law of the potential draw of each prefix *)
Hypothesis lawt : forall u, law (t u).
Notation positive := (positive t).

Variable D : nat.
Variable build : table -> seq (instr V).
Hypothesis pred : predictable build.
Hypothesis prop : proper t D build.
Variable N : nat.
Hypothesis bounded : forall T, (size (build T) <= N)%N.
Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

Variable Tdef : table.
Fixpoint drawall (us : seq prefix) : prog table :=
  match us with
  | [::] => Ret R V Tdef
  | u :: us' => Draw (t u) (fun x => bind (drawall us') (fun T => Ret R V (upd T u x)))
  end.

Lemma pull us u g : u \in us -> (forall T T', T =1 T' -> g T = g T') ->
  E (drawall us) g = \sum_x t u x * E (drawall us) (fun T => g (upd T u x)).
Proof.
move=> + ext; elim: us g ext => [//|v us IH] g ext; rewrite inE => uvs /=.
case: (u =P v) uvs => [<- _|uv /= uus].
- have [_ t1] := lawt u; apply: eq_bigr => x _; congr (_ * _).
  under [RHS]eq_bigr do rewrite E_bind.
  rewrite E_bind /=; transitivity (\sum_y t u y * E (drawall us) (fun T => g (upd T u x))).
    by rewrite -big_distrl /= t1 mul1r.
  apply: eq_bigr => y _; congr (_ * _); apply: E_ext => T /=; apply: ext => w.
  by rewrite /upd; case: eqP.
- transitivity (\sum_y t v y * \sum_x t u x * E (drawall us) (fun T => g (upd (upd T u x) v y))).
    apply: eq_bigr => y _; congr (_ * _); rewrite E_bind /=.
    apply: (IH (fun T => g (upd T v y))) => // T T' TT'; apply: ext => w.
    by rewrite /upd; case: eqP.
  under eq_bigr do rewrite big_distrr /=.
  rewrite exchange_big /=; apply: eq_bigr => x _; rewrite big_distrr /=.
  apply: eq_bigr => y _; rewrite mulrCA; congr (_ * (_ * _)); rewrite E_bind.
  apply: E_ext => T /=; apply: ext => w; rewrite /upd.
  by case: (w =P v) => [->|//]; case: (v =P u) => // vu; case: uv.
Qed.

(* A policy that draws X_u from t u, for u in us, once along a branch. *)
Fixpoint once (us seen : seq prefix) (pi : policy) : Prop :=
  match pi with
  | Stop => True
  | InsDet u x k => once us seen k
  | InsSamp u t' k =>
    [/\ t' = t u, u \in us, u \notin seen & forall x, 0 < t u x -> once us (rcons seen u) (k x)]
  end.

Lemma run_ext us (pi : policy) T T' s seen : positive T -> once us seen pi ->
  (forall u, u \notin seen -> T u = T' u) -> run pi T s = run pi T' s.
Proof.
move=> pT; elim: pi s seen => [//|u x k IH|u t' k IH] s seen /=; first exact: IH.
move=> [-> uus us' H] ag; rewrite -(ag u us'); apply: (IH _ _ (rcons seen u)); first exact: H.
by move=> w; rewrite mem_rcons inE negb_or => /andP[_ /ag].
Qed.
Lemma run_eq (pi : policy) T T' s : T =1 T' -> run pi T s = run pi T' s.
Proof.
move=> e; elim: pi s => [//|u x k IH|u t' k IH] s /=; first exact: IH.
by rewrite e IH.
Qed.

Hypothesis posdef : positive Tdef.

Lemma E_pos us g g' : (forall T, positive T -> g T = g' T) -> E (drawall us) g = E (drawall us) g'.
Proof.
elim: us g g' => [|u us IH] g g' e /=; first exact: e.
apply: eq_bigr => x _; have [t0 _] := lawt u; have := t0 x.
rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r.
congr (_ * _); rewrite !E_bind; apply: IH => T pT /=; apply: e; exact: pos_upd.
Qed.

Lemma E_drawall_1 us : E (drawall us) (fun _ => 1) = 1.
Proof.
elim: us => [//|u us IH] /=; have [_ t1] := lawt u; rewrite -[RHS]t1.
by apply: eq_bigr => x _; rewrite E_bind /= IH mulr1.
Qed.

(* Drawing the table first or token by token: the same law. *)
Lemma eager_lazy us seen pi s f : once us seen pi ->
  E (drawall us) (fun T => f (run pi T s)) = E (draft pi s) f.
Proof.
elim: pi s seen => [|u x k IH|u t' k IH] s seen /=.
- by move=> _; rewrite E_cst E_drawall_1 mulr1.
- exact: IH.
- move=> [-> uus us' H].
  rewrite (pull uus) => [|T T' e]; last by rewrite e (run_eq _ _ e).
  apply: eq_bigr => x _; have [t0 _] := lawt u; have := t0 x.
  rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r.
  congr (_ * _); rewrite -(IH x _ _ (H x tx)).
  apply: E_pos => T pT; have -> : upd T u x u = x by rewrite /upd eqxx.
  congr f; apply: (run_ext _ (pos_upd pT tx) (H x tx)) => w; rewrite mem_rcons inE negb_or /upd => /andP[wu _].
  by rewrite (negbTE wu).
Qed.

Notation pol := (pol t build).
Notation grow := (grow t).

Variable us : seq prefix.
Hypothesis all_us : forall u, (size u < D)%N -> u \in us.

Lemma once_pol n k T : positive T -> once us (reveals (take k (build T))) (pol n k T).
Proof.
elim: n k T => [//|n IH] k T pT /=.
case e: (onth (build T) k) => [[u x|u]|//] /=; have := prop pT e => /=.
- by move=> _; have := IH k.+1 T pT; rewrite (take_onth e) reveals_rcons cats0.
- move=> [_ ud nu]; split=> // [|x tx]; first exact: all_us.
  by have := IH k.+1 _ (pos_upd pT tx); rewrite (take_upd pred x nu e) reveals_rcons cats1.
Qed.

Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).

(* Draw the table, build the tree, verify it, complete the output. *)
Definition decode_table (L : nat) : prog prefix :=
  bind (drawall us) (fun T =>
  bind (walk ver p D.+1 (grow T (build T)) [::]) (fun w => complete p (L - size w) w)).

(* Every such construction is lossless with every fair rule that takes one sampled child per node: draw the table,
   build, walk, complete to L > D tokens; the output has the law of L target tokens. *)
Theorem predictable_lossless L f : (D < L)%N ->
  E (decode_table L) f = E (complete p L [::]) f.
Proof.
move=> DL; have [wfp runp] := predictable_policy lawt pred prop bounded legal1 posdef.
rewrite -(lossless lawp ver_fair f wfp DL) /decode /step !E_bind.
have o : once us [::] (pol N 0 Tdef) by have := once_pol N 0 posdef; rewrite take0.
rewrite -(eager_lazy _ _ o); apply: E_ext => T; rewrite runp !E_bind.
by [].
Qed.

End Tables.
