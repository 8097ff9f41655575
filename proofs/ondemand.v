(* Drafting as it runs: X_u is drawn when u is expanded, and nothing else is drawn. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables rank_order
  construction layered layered_lossless rheosampling.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Queries.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation table := (table V).
Variable t : prefix -> V -> R.
Hypothesis lawt : forall u, law (t u).

(* A program that asks for potential draws. *)
Inductive asks (A : Type) : Type := QRet of A | Ask of prefix & (V -> asks A).
Fixpoint qbind A C (c : asks A) (g : A -> asks C) : asks C :=
  match c with QRet a => g a | Ask u k => Ask u (fun x => qbind (k x) g) end.
Fixpoint answer A (c : asks A) (T : table) : A :=
  match c with QRet a => a | Ask u k => answer (k (T u)) T end.
Fixpoint asked A (c : asks A) (T : table) : seq prefix :=
  match c with QRet _ => [::] | Ask u k => u :: asked (k (T u)) T end.
Fixpoint sample A (c : asks A) : prog R V A :=
  match c with QRet a => Ret R V a | Ask u k => Draw (t u) (fun x => sample (k x)) end.

Lemma answer_bind A C (c : asks A) (g : A -> asks C) T :
  answer (qbind c g) T = answer (g (answer c T)) T.
Proof. by elim: c => [|u k IH] /=. Qed.
Lemma asked_bind A C (c : asks A) (g : A -> asks C) T :
  asked (qbind c g) T = asked c T ++ asked (g (answer c T)) T.
Proof. by elim: c => [|u k IH] //=; rewrite IH. Qed.

Lemma answer_ext A (c : asks A) T T' : T =1 T' -> answer c T = answer c T'.
Proof. by move=> e; elim: c => [|u k IH] //=; rewrite e. Qed.

Lemma asked_upd A (c : asks A) T u x : u \notin asked c (upd T u x) ->
  asked c (upd T u x) = asked c T /\ answer c (upd T u x) = answer c T.
Proof.
elim: c => [//|v k IH] /=; rewrite inE negb_or => /andP[uv].
have -> : upd T u x v = T v by rewrite /upd eq_sym (negbTE uv).
by move=> /IH[-> ->].
Qed.

Variable Tdef : table.
Hypothesis posdef : positive t Tdef.

Lemma sample_table us A (c : asks A) f :
  (forall T, positive t T -> uniq (asked c T) /\ {subset asked c T <= us}) ->
  E (drawall t Tdef us) (fun T => f (answer c T)) = E (sample c) f.
Proof.
elim: c => [a|u k IH] H /=; first by rewrite E_cst E_drawall_1 // mulr1.
have uus : u \in us by have [_] := H _ posdef; apply; rewrite /= inE eqxx.
rewrite (pull lawt _ uus) => [|T T' e]; last by rewrite e (answer_ext _ e).
apply: eq_bigr => x _; have [t0 _] := lawt u; have := t0 x.
rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r.
have Hx T : positive t T -> [/\ u \notin asked (k x) (upd T u x),
    uniq (asked (k x) (upd T u x)) & {subset asked (k x) (upd T u x) <= us}].
  move=> pT; have [/=] := H _ (pos_upd pT tx).
  have -> : upd T u x u = x by rewrite /upd eqxx.
  move=> /andP[nu un] sub; split=> // w wi; apply: sub; rewrite inE wi orbT //.
congr (_ * _); rewrite -IH => [|T pT].
- apply: (E_pos lawt) => // T pT; have -> : upd T u x u = x by rewrite /upd eqxx.
  by have [nu _ _] := Hx T pT; have [_ ->] := asked_upd nu.
- by have [nu un sub] := Hx T pT; have [<- _] := asked_upd nu.
Qed.
End Queries.

Section OnDemand.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation table := (table V).
Variables (head : prefix -> seq (R * V)) (hasS : prefix -> bool) (proxy : prefix -> R).
Variable fill : prefix -> V -> seq (R * V).
Variables (D B N : nat).
Notation cand := (cand R V).
Notation layer := (layer head hasS proxy fill B).

(* Expand the beam of one layer, left to right; then layer after layer. *)
Fixpoint expand (beam : seq cand) : asks V (seq cand) :=
  match beam with
  | [::] => QRet V [::]
  | a :: beam' => Ask (pre a) (fun x => qbind (expand beam') (fun l =>
      QRet V ([seq s :: a | s <- slots head hasS proxy fill (pre a) x] ++ l)))
  end.
Fixpoint layers (n : nat) (last all : seq cand) : asks V (seq cand) :=
  match n with
  | 0 => QRet V all
  | n'.+1 => qbind (expand (take B (by_value last))) (fun new => layers n' new (all ++ new))
  end.
(* All candidates, then the best N in rank order. *)
Definition draft_kept : asks V (seq cand) :=
  qbind (layers D [:: [::]] [::]) (fun all => QRet V (take N (by_value all))).

Lemma answer_expand T beam :
  answer (expand beam) T = flatten [seq kids head hasS proxy fill T a | a <- beam].
Proof. by elim: beam => [//|a l IH] /=; rewrite answer_bind IH. Qed.
Lemma asked_expand T beam : asked (expand beam) T = map (@pre R V) beam.
Proof. by elim: beam => [//|a l IH] /=; rewrite asked_bind IH /= cats0. Qed.

Lemma answer_layers T n l all :
  answer (layers n (layer T l) all) T = all ++ flatten [seq layer T i | i <- iota l.+1 n].
Proof.
elim: n l all => [|n IH] l all /=; first by rewrite cats0.
rewrite answer_bind answer_expand.
by rewrite (IH l.+1) -catA.
Qed.

Lemma asked_layers T n l all : asked (layers n (layer T l) all) T =
  flatten [seq map (@pre R V) (take B (by_value (layer T i))) | i <- iota l n].
Proof.
elim: n l all => [//|n IH] l all /=.
by rewrite asked_bind answer_expand asked_expand (IH l.+1).
Qed.

Lemma answer_kept T : answer draft_kept T = kept head hasS proxy fill D B N T.
Proof. by rewrite /draft_kept answer_bind /= (answer_layers T D 0 [::]). Qed.

Lemma asked_kept T : asked draft_kept T =
  flatten [seq map (@pre R V) (take B (by_value (layer T i))) | i <- iota 0 D].
Proof. by rewrite /draft_kept asked_bind /= cats0 (asked_layers T D 0 [::]). Qed.

Variable t : prefix -> V -> R.
Hypothesis lawt : forall u, law (t u).
Hypothesis slots_uniq : forall u x, 0 < t u x -> uniq (map (@tk R V) (slots head hasS proxy fill u x)).

Lemma asked_uniq T : positive t T ->
  uniq (asked draft_kept T) /\ (forall u, u \in asked draft_kept T -> (size u < D)%N).
Proof.
move=> pT; rewrite asked_kept; split; last first.
  move=> u /flattenP[k /mapP[l + ->] /mapP[a + ->]]; rewrite mem_iota add0n => lD.
  by move=> /mem_take; rewrite mem_sort => /size_layer sa; rewrite size_rev size_map sa.
move: 0%N D => i n; elim: n i => [//|n IH] i /=.
rewrite cat_uniq IH andbT; apply/andP; split.
- rewrite map_inj_in_uniq ?take_uniq ?sort_uniq ?(uniq_created (layer_pw _ _ _ _ _ _ _)) //.
  move=> a d /mem_take + /mem_take; rewrite !mem_sort => al dl; exact: (pre_inj slots_uniq pT al dl).
- apply/hasPn => u /flattenP[k /mapP[j + ->] /mapP[d + ->]].
  rewrite mem_iota => /andP[ij _] /mem_take; rewrite mem_sort => /size_layer sd.
  apply/negP => /mapP[a /mem_take]; rewrite mem_sort => /size_layer sa /(congr1 size).
  by rewrite !size_rev !size_map sd sa => e; rewrite e ltnn in ij.
Qed.

(* The kept tree, from the kept candidates alone. *)
Definition plant (s : tree R V) (a : cand) : tree R V :=
  if a is c :: a' then ins s (pre a') (if smp c then Samp (t (pre a')) (tk c) else Det R (tk c)) else s.

Lemma plant_grow T : foldl plant (@empty R V) (kept head hasS proxy fill D B N T) =
  grow t T (build head hasS proxy fill D B N T).
Proof.
rewrite /grow /build; set l := kept _ _ _ _ _ _ _ _.
have : {subset l <= candidates head hasS proxy fill D B T}.
  by move=> a /mem_take; rewrite mem_sort.
elim/last_ind: l => [//|l a IH] sub; rewrite map_rcons !foldl_rcons IH; last first.
  by move=> c cl; apply: sub; rewrite mem_rcons inE cl orbT.
have := sub a; rewrite mem_rcons inE eqxx mem_candidates => /(_ isT).
case: a {sub} => [//|c a] /andP[_]; rewrite /= mem_layerS' => /and3P[_ _ cs].
by case sc: (smp c) => //=; have [_ ->] := slots_smp cs sc.
Qed.
End OnDemand.

Section RheoSampling.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p q : prefix -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (D B N : nat).
Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

Notation t := (tail_law q K m).
(* Draft (drawing at every expansion), prune, verify, complete. *)
Definition run_step : prog R V prefix :=
  bind (sample t (draft_kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N))
    (fun l => walk ver p D.+1 (foldl (plant t) (@empty R V) l) [::]).
Definition run_decode L : prog R V prefix :=
  bind run_step (fun w => complete p (L - size w) w).

(* RheoSampling as it runs, drawing on demand: for all laws p and q, all K, m, D, B, N, and every fair rule that takes
   one sampled child per node, the output completed to any length L > D has the law of L target tokens. *)
Theorem run_lossless L f : (D < L)%N -> E (run_decode L) f = E (complete p L [::]) f.
Proof.
move=> DL; rewrite -(rheosampling_lossless lawp lawq K m B N ver_fair legal1 f DL).
rewrite /run_decode /run_step /decode !E_bind.
rewrite -(sample_table (lawt lawq K m) (some_draw_pos lawq K m) (us := prefixes V D)).
- by apply: E_ext => T; rewrite answer_kept plant_grow [RHS]E_bind.
- move=> T pT; have [un sz] := asked_uniq D B N (@slots_uniq _ _ q K m) pT.
  by split=> // u /sz; exact: mem_prefixes.
Qed.
End RheoSampling.
