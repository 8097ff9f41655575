(* Every verification that is a martingale of laws is lossless for every predictable construction:
   a construction that reads a table of potential draws is the run of a well-formed policy, and it makes no
   difference whether the table is drawn first or token by token.  As for trees, with the order of
   insertion kept. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless predictable tables martingale.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section PredictableHistory.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation table := (table V).
Notation policy := (policy R V).
Notation prog := (@prog R V).
Notation history := (history R V).

Variable t : prefix -> V -> R.        (* law of the potential draw of each prefix *)
Hypothesis lawt : forall u, law (t u).

(* The insertions of a construction, with the tokens that a table of draws gives them. *)
Definition entry (T : table) (i : instr V) : prefix * slot R V :=
  match i with IDet u x => (u, Det R x) | ISamp u => (u, Samp (t u) (T u)) end.
Definition history_of (T : table) (l : seq (instr V)) : history := map (entry T) l.

Lemma tree_history T l : tree_of (history_of T l) = grow t T l.
Proof.
rewrite /tree_of /grow /history_of; elim/last_ind: l => [//|l i IH].
by rewrite map_rcons !foldl_rcons IH; case: i.
Qed.

Lemma history_agree l T T' : agree (reveals l) T T' -> history_of T l = history_of T' l.
Proof.
move=> ag; apply/eq_in_map => i il; case: i il => [//|u] ul /=.
rewrite (ag u) //; rewrite /reveals mem_pmap; apply/mapP; by exists (ISamp u).
Qed.

Variables (D : nat) (build : table -> seq (instr V)).
Hypothesis pred : predictable build.
Hypothesis prop : proper t D build.
Variable N : nat.
Hypothesis bounded : forall T, (size (build T) <= N)%N.
Notation positive := (positive t).

(* Every reveal of the construction is legal for the verification. *)
Variable legal : history -> prefix -> (V -> R) -> Prop.
Hypothesis legal_build : forall T k u, positive T -> onth (build T) k = Some (ISamp u) ->
  legal (history_of T (take k (build T))) u (t u).

Lemma hwf_pol n k T : positive T -> hwf D legal (history_of T (take k (build T))) (pol t build n k T).
Proof.
elim: n k T => [//|n IH] k T pT /=.
case e: (onth (build T) k) => [[u x|u]|//] /=; have := prop pT e => /=; rewrite /in_tree tree_history.
- move=> [us ud]; split=> //; have := IH k.+1 T pT.
  by rewrite (take_onth e) /history_of map_rcons.
- move=> [us ud nu]; split=> // [|x tx]; first exact: legal_build.
  have := IH k.+1 _ (pos_upd pT tx); rewrite (take_upd pred x nu e) /history_of map_rcons -/(history_of _ _) /=.
  by rewrite -(history_agree (upd_agree x nu)) /upd eqxx.
Qed.

(* Run a policy on a table of draws. *)
Fixpoint hrun (pi : policy) (T : table) (h : history) : history :=
  match pi with
  | Stop => h
  | InsDet u x k => hrun k T (rcons h (u, Det R x))
  | InsSamp u t k => hrun (k (T u)) T (rcons h (u, Samp t (T u)))
  end.

Lemma hrun_pol n k T T' h : (size (build T) <= n + k)%N ->
  agree (reveals (take k (build T))) T T' ->
  hrun (pol t build n k T') T h = h ++ history_of T (drop k (build T)).
Proof.
elim: n k T' h => [|n IH] k T' h sz ag /=; first by rewrite drop_oversize ?cats0.
rewrite (pred2 pred ag); case e: (onth (build T) k) => [[u x|u]|]; last by rewrite (onth_none e) cats0.
- have [_ ->] := onth_some e; rewrite /= IH ?addnS -?addSn ?cat_rcons //.
  by rewrite (take_onth e) reveals_rcons cats0.
- have [_ ->] := onth_some e; rewrite /= IH ?addnS -?addSn ?cat_rcons //.
  rewrite (take_onth e) reveals_rcons => w; rewrite mem_cat inE /upd.
  by case: (w =P u) => [-> //|_]; rewrite orbF; exact: ag.
Qed.

Lemma hrun_ext us (pi : policy) T T' h seen : positive T -> once t us seen pi ->
  (forall u, u \notin seen -> T u = T' u) -> hrun pi T h = hrun pi T' h.
Proof.
move=> pT; elim: pi h seen => [//|u x k IH|u t' k IH] h seen /=; first exact: IH.
move=> [-> uus us' H] ag; rewrite -(ag u us'); apply: (IH _ _ (rcons seen u)); first exact: H.
by move=> w; rewrite mem_rcons inE negb_or => /andP[_ /ag].
Qed.
Lemma hrun_eq (pi : policy) T T' h : T =1 T' -> hrun pi T h = hrun pi T' h.
Proof.
move=> e; elim: pi h => [//|u x k IH|u t' k IH] h /=; first exact: IH.
by rewrite e IH.
Qed.

Variable Tdef : table.
Hypothesis posdef : positive Tdef.

Lemma eager_lazy_history us seen pi h f : once t us seen pi ->
  E (drawall t Tdef us) (fun T => f (hrun pi T h)) = E (hdraft pi h) f.
Proof.
elim: pi h seen => [|u x k IH|u t' k IH] h seen /=.
- by move=> _; rewrite E_cst E_drawall_1 // mulr1.
- exact: IH.
- move=> [-> uus us' H].
  rewrite (pull lawt _ uus) => [|T T' e]; last by rewrite e (hrun_eq _ _ e).
  apply: eq_bigr => x _; have [t0 _] := lawt u; have := t0 x.
  rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r.
  congr (_ * _); rewrite -(IH x _ _ (H x tx)).
  apply: (E_pos lawt) => // T pT; have -> : upd T u x u = x by rewrite /upd eqxx.
  congr f; apply: (hrun_ext _ (pos_upd pT tx) (H x tx)) => w; rewrite mem_rcons inE negb_or /upd => /andP[wu _].
  by rewrite (negbTE wu).
Qed.

Variable us : seq prefix.
Hypothesis all_us : forall u, (size u < D)%N -> u \in us.
Variable p : prefix -> V -> R.
Variables (L : history -> mass R V) (run : history -> prog prefix).
Hypothesis mg : martingale p D legal L.
Hypothesis rl : realises p D legal run L.

(* Draw the table, build the tree, verify it with its order of insertion, complete the output. *)
Definition decode_history (n : nat) : prog prefix :=
  bind (drawall t Tdef us) (fun T =>
  bind (run (history_of T (build T))) (fun w => complete p (n - size w) w)).

(* Theorem. For every predictable and proper construction whose reveals are legal, every martingale of laws and every
   program that realises it: drawing the table, building, verifying and completing is target sampling. *)
Theorem predictable_martingale n f : (D < n)%N ->
  E (decode_history n) f = E (complete p n [::]) f.
Proof.
move=> Dn; have wfp : hwf D legal [::] (pol t build N 0 Tdef) by have := hwf_pol N 0 posdef; rewrite take0.
rewrite -(martingale_lossless f mg rl wfp Dn) /decode_history /hdecode !E_bind.
have o : once t us [::] (pol t build N 0 Tdef) by have := once_pol pred prop all_us N 0 posdef; rewrite take0.
rewrite -(eager_lazy_history _ _ o); apply: E_ext => T.
by rewrite hrun_pol ?drop0 ?addn0 // ?take0 // E_bind.
Qed.
End PredictableHistory.
