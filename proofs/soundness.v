(* Soundness of the programs themselves: every draw that is reached is from a law and every coin reached has a bias in
   [0, 1]. In particular an empty residual is never drawn from. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables rank_order
  construction layered layered_lossless rheosampling ondemand.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Sound.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).

(* P holds of every value returned with positive probability. *)
Fixpoint sound A (P : A -> Prop) (m : prog A) : Prop :=
  match m with
  | Ret a => P a
  | Draw l k => law l /\ forall x, 0 < l x -> sound P (k x)
  | Flip b k => [/\ 0 <= b <= 1, 0 < b -> sound P (k true) & b < 1 -> sound P (k false)]
  end.

Definition any A (a : A) := True.

Lemma sound_bind A C (P : A -> Prop) (Q : C -> Prop) (m : prog A) (g : A -> prog C) :
  sound P m -> (forall a, P a -> sound Q (g a)) -> sound Q (bind m g).
Proof.
move=> + H; elim: m => [a|l k IH|b k IH] /=; first exact: H.
- by move=> [ll K]; split=> // x /K; exact: IH.
- by move=> [b01 K1 K0]; split=> // [/K1|/K0]; exact: IH.
Qed.

Lemma acc01 (p t : V -> R) x : law p -> law t -> 0 <= acc p t x <= 1.
Proof.
move=> [p0 _] [t0 _]; rewrite /acc le_minl lexx /= le_minr ler01 /=.
by rewrite andbT divr_ge0.
Qed.

Lemma sampled_ok (cs : seq (slot R V)) (t : V -> R) x : oks cs -> sampled cs = Some (t, x) -> law t /\ 0 < t x.
Proof.
elim: cs => [//|[y|t' y] cs IH] /= [oc ocs]; first exact: IH.
by move=> [<- <-].
Qed.

Lemma sound_rheo (p : V -> R) cs : law p -> oks cs -> sound (@any V) (rheo p cs).
Proof.
move=> lp oc; rewrite /rheo; case e: (sampled cs) => [[t x]|] //=.
have [lt tx] := sampled_ok oc e; split=> // [|a1]; first exact: acc01.
by split=> //; apply: (law_res lp lt tx); rewrite lt_eqF.
Qed.

Lemma sound_rrs (p : V -> R) cs : law p -> oks cs -> sound (@any V) (rrs p cs).
Proof.
elim: cs p => [|[y|t y] cs IH] p lp //=.
- move=> [_ oc]; split=> // [|p1]; first by have [p0 _] := lp; rewrite p0 law_le1.
  by apply: IH => //; apply: law_del => //; rewrite lt_eqF.
- move=> [[lt ty] oc]; split=> // [|a1]; first exact: acc01.
  by apply: IH => //; apply: (law_res lp lt ty); rewrite lt_eqF.
Qed.

Lemma sound_onehot (p : V -> R) cs : law p -> sound (@any V) (onehot p cs).
Proof. by move=> lp; split. Qed.

Definition sound_rule (ver : rule R V) :=
  forall p cs, law p -> oks cs -> sound (@any V) (ver p cs).

Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variable ver : rule R V.
Hypothesis ver_sound : sound_rule ver.

Lemma sound_walk n s w : (forall u, oks (s u)) -> sound (@any prefix) (walk ver p n s w).
Proof.
move=> ok; elim: n w => [//|n IH] w /=.
by apply: sound_bind (ver_sound (lawp w) (ok w)) _ => y _; case: ifP.
Qed.

Lemma sound_complete n w : sound (@any prefix) (complete p n w).
Proof. by elim: n w => [//|n IH] w /=; split. Qed.

Lemma sound_sample (t : prefix -> V -> R) (T0 : table V) A (c : asks V A) :
  (forall u, law (t u)) -> positive t T0 ->
  (forall T, positive t T -> uniq (asked c T)) ->
  sound (fun a => exists2 T, positive t T & a = answer c T) (sample t c).
Proof.
move=> lt p0; elim: c => [a|u k IH] H /=; first by exists T0.
split=> // x tx.
have Hx T : positive t T -> (u \notin asked (k x) (upd T u x)) && uniq (asked (k x) (upd T u x)).
  move=> pT; have := H _ (pos_upd pT tx); rewrite /=.
  by have -> : upd T u x u = x by rewrite /upd eqxx.
have F : sound (fun a => exists2 T, positive t T & a = answer (k x) T) (sample t (k x)).
  by apply: IH => T pT; have /andP[nu] := Hx T pT; have [-> _] := asked_upd nu.
elim: (sample t (k x)) F => [a|l k' IHs|b k' IHs] /=.
- move=> [T pT ->]; exists (upd T u x); first exact: pos_upd.
  have -> : upd T u x u = x by rewrite /upd eqxx.
  by have /andP[nu _] := Hx T pT; have [_ ->] := asked_upd nu.
- by move=> [ll K]; split=> // y /K; exact: IHs.
- by move=> [b01 K1 K0]; split=> // [/K1|/K0]; exact: IHs.
Qed.

Lemma grow_oks (t : prefix -> V -> R) T l u : (forall u, law (t u)) -> positive t T ->
  oks (grow t T l u).
Proof.
move=> lt pT; rewrite /grow; elim/last_ind: l u => [//|l i IH] u; rewrite foldl_rcons.
by case: i => [v x|v] /=; rewrite /ins; case: eqP => // _; apply/oks_rcons; split.
Qed.

Variables (K m : prefix -> nat) (D B N : nat).
(* In a run of the step with a sound rule, completed to any length L: all draws that are reached are from laws, all
   coins that are reached have biases in [0, 1]. *)
Theorem run_sound L : sound (@any prefix) (run_decode p q K m D B N ver L).
Proof.
rewrite /run_decode; apply: (@sound_bind _ _ (@any prefix)); last by move=> w _; exact: sound_complete.
have lt := lawt lawq K m; have pos0 := some_draw_pos lawq K m.
apply: (sound_bind (sound_sample lt pos0 _)) => [T pT|l [T pT ->]].
- by have [] := asked_uniq D B N (@slots_uniq _ _ q K m) pT.
- by rewrite answer_kept plant_grow; apply: sound_walk => u; exact: grow_oks.
Qed.
End Sound.
