(* A construction that reads a table of potential draws (X_u) is predictable when what the first k insertions reveal
   decides the next one. Then it is the run of a well-formed policy. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Predictable.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation tree := (tree R V).
Notation policy := (policy R V).
Notation empty := (@empty R V).
Notation prog := (@prog R V).

(* One insertion; a sampled one does not name its token. *)
Inductive instr := IDet of prefix & V | ISamp of prefix.
Definition table := prefix -> V.

Definition instr_eq (i j : instr) : bool :=
  match i, j with
  | IDet u x, IDet v y => (u == v) && (x == y)
  | ISamp u, ISamp v => u == v
  | _, _ => false
  end.
Lemma instr_eqP : Equality.axiom instr_eq.
Proof.
move=> [u x|u] [v y|v] /=; try by constructor.
- by apply: (iffP andP) => [[/eqP-> /eqP->]|[-> ->]].
- by apply: (iffP eqP) => [->|[->]].
Qed.
Definition instr_eqMixin := EqMixin instr_eqP.
Canonical instr_eqType := EqType instr instr_eqMixin.

Variable t : prefix -> V -> R.        (* law of the potential draw of each prefix *)
Hypothesis lawt : forall u, law (t u).
Variable D : nat.

Definition app (T : table) (s : tree) (i : instr) : tree :=
  match i with
  | IDet u x => ins s u (Det R x)
  | ISamp u => ins s u (Samp (t u) (T u))
  end.
Definition grow (T : table) (l : seq instr) : tree := foldl (app T) empty l.

Definition reveals (l : seq instr) : seq prefix :=
  pmap (fun i => if i is ISamp u then Some u else None) l.

Definition onth (l : seq instr) (k : nat) : option instr := ohead (drop k l).

Variable build : table -> seq instr.
Definition agree (l : seq prefix) (T T' : table) : Prop := {in l, T =1 T'}.

(* The next insertion is decided by what the earlier ones revealed. *)
Definition predictable : Prop := forall T T' k, (k < size (build T))%N ->
  agree (reveals (take k (build T))) T T' -> onth (build T') k = onth (build T) k.

Definition positive (T : table) : Prop := forall u, 0 < t u (T u).

(* Insertions go below kept nodes of depth < D, and reveal no prefix twice. *)
Definition proper : Prop := forall T k i, positive T -> onth (build T) k = Some i ->
  let s := grow T (take k (build T)) in
  match i with
  | IDet u x => inT s [::] u /\ (size u < D)%N
  | ISamp u => [/\ inT s [::] u, (size u < D)%N & u \notin reveals (take k (build T))]
  end.

Hypothesis pred : predictable.
Hypothesis prop : proper.
Variable N : nat.
Hypothesis bounded : forall T, (size (build T) <= N)%N.

Lemma onth_some l k i : onth l k = Some i -> (k < size l)%N /\ drop k l = i :: drop k.+1 l.
Proof.
rewrite /onth; case: (ltnP k (size l)) => kl.
- by rewrite (drop_nth i kl) /= => -[->]; split.
- by rewrite drop_oversize.
Qed.

Lemma onth_none l k : onth l k = None -> drop k l = [::].
Proof. by rewrite /onth; case: (drop k l). Qed.

Lemma take_onth l k i : onth l k = Some i -> take k.+1 l = rcons (take k l) i.
Proof.
move=> /onth_some [kl d]; rewrite (take_nth i kl); congr rcons.
by have := drop_nth i kl; rewrite d => -[].
Qed.

Lemma reveals_rcons l i :
  reveals (rcons l i) = reveals l ++ (if i is ISamp u then [:: u] else [::]).
Proof. by rewrite /reveals -cats1 pmap_cat; case: i. Qed.

Lemma agreeW k j T T' : (j <= k)%N ->
  agree (reveals (take k (build T))) T T' -> agree (reveals (take j (build T))) T T'.
Proof.
move=> jk ag u; move=> uj; apply: ag; move: uj.
rewrite -(take_take jk) => uj.
by rewrite -(cat_take_drop j (take k _)) /reveals pmap_cat mem_cat uj.
Qed.

Lemma pred_take T T' k : (k <= size (build T))%N -> agree (reveals (take k (build T))) T T' ->
  take k (build T') = take k (build T).
Proof.
elim: k => [|k IH] kT ag; first by rewrite !take0.
have ag' := agreeW (leqnSn k) ag.
have e := pred kT ag'.
case eT: (onth (build T) k) e => [i|] e; last first.
  by move: eT => /onth_none /(congr1 size); rewrite size_drop => /eqP; rewrite subn_eq0 leqNgt kT.
by rewrite (take_onth eT) (take_onth e) IH // ltnW.
Qed.

Lemma pred2 T T' k : agree (reveals (take k (build T))) T T' ->
  onth (build T') k = onth (build T) k.
Proof.
move=> ag; case: (ltnP k (size (build T))) => [kT|kT]; first exact: pred.
have -> : onth (build T) k = None by rewrite /onth drop_oversize.
case: (leqP (size (build T')) k) => [kT'|kT']; first by rewrite /onth drop_oversize.
set k0 := size (build T) in kT.
have ag0 : agree (reveals (take k0 (build T))) T T' by exact: agreeW ag.
have e0 : take k0 (build T') = take k0 (build T) by apply: pred_take.
have lt0 : (k0 < size (build T'))%N by exact: leq_ltn_trans kT'.
have := pred lt0 (T' := T); rewrite e0 => H.
have : onth (build T) k0 = onth (build T') k0 by apply: H => u /ag0 ->.
rewrite {1}/onth drop_size /onth /=.
by case: (build T') lt0 => [//|a l] lt0; rewrite (drop_nth a lt0).
Qed.

Definition upd (T : table) (u : prefix) (x : V) : table := fun w => if w == u then x else T w.

Fixpoint pol (n k : nat) (T : table) : policy :=
  match n with
  | 0 => @Stop R V
  | n'.+1 =>
    match onth (build T) k with
    | None => @Stop R V
    | Some (IDet u x) => InsDet u x (pol n' k.+1 T)
    | Some (ISamp u) => InsSamp u (t u) (fun x => pol n' k.+1 (upd T u x))
    end
  end.

(* Run a policy on a table of draws. *)
Fixpoint run (pi : policy) (T : table) (s : tree) : tree :=
  match pi with
  | Stop => s
  | InsDet u x k => run k T (ins s u (Det R x))
  | InsSamp u t k => run (k (T u)) T (ins s u (Samp t (T u)))
  end.

Lemma agreeC l T T' : agree l T T' -> agree l T' T.
Proof. by move=> ag u /ag ->. Qed.

Lemma run_pol n k T T' s : (size (build T) <= n + k)%N ->
  agree (reveals (take k (build T))) T T' ->
  run (pol n k T') T s = foldl (app T) s (drop k (build T)).
Proof.
elim: n k T' s => [|n IH] k T' s sz ag /=; first by rewrite drop_oversize.
rewrite (pred2 ag); case e: (onth (build T) k) => [[u x|u]|]; last by rewrite (onth_none e).
- have [_ ->] := onth_some e; rewrite /= IH ?addnS -?addSn //.
  by rewrite (take_onth e) reveals_rcons cats0.
- have [_ ->] := onth_some e; rewrite /= IH ?addnS -?addSn //.
  rewrite (take_onth e) reveals_rcons => w; rewrite mem_cat inE /upd.
  by case: (w =P u) => [-> //|_]; rewrite orbF; exact: ag.
Qed.

Lemma grow_agree l T T' : agree (reveals l) T T' -> grow T l = grow T' l.
Proof.
rewrite /grow; elim/last_ind: l => [//|l i IH].
rewrite reveals_rcons => ag; rewrite !foldl_rcons IH; last first.
  by move=> u ul; apply: ag; rewrite mem_cat ul.
case: i ag => [//|u] ag /=.
by rewrite (ag u) // mem_cat inE eqxx orbT.
Qed.

Lemma sampled_grow T l u : u \notin reveals l -> sampled (grow T l u) = None.
Proof.
rewrite /grow; elim/last_ind: l => [//|l i IH].
rewrite reveals_rcons mem_cat negb_or foldl_rcons => /andP[/IH e].
case: i => [v x|v] /=; rewrite /ins.
- by case: (u =P v) => [<-|_] // _; rewrite sampled_rconsD.
- by rewrite inE => /negbTE ->.
Qed.

(* Any fair rule that accepts one sampled slot per node: RheoVerification, RRSw, one-hot. *)
Variables (legal : seq (slot R V) -> Prop) (ver : rule R V).
Hypothesis ver_fair : fair legal ver.
Hypothesis legal1 : forall cs, sampled cs = None -> legal cs.

Lemma pos_upd T u x : positive T -> 0 < t u x -> positive (upd T u x).
Proof. by move=> pT tx w; rewrite /upd; case: (w =P u) => [->|]. Qed.

Lemma upd_agree k T u x : u \notin reveals (take k (build T)) ->
  agree (reveals (take k (build T))) T (upd T u x).
Proof.
by move=> nu w wl; rewrite /upd; case: (w =P u) => // e; rewrite -e wl in nu.
Qed.

Lemma take_upd k T u x i : u \notin reveals (take k (build T)) -> onth (build T) k = Some i ->
  take k.+1 (build (upd T u x)) = rcons (take k (build T)) i.
Proof.
move=> nu e; have ag := upd_agree x nu.
have e' := pred2 ag; rewrite e in e'.
rewrite (take_onth e'); congr rcons; apply: pred_take => //.
by have [/ltnW] := onth_some e.
Qed.

Lemma wf_pol n k T : positive T -> wf legal D (grow T (take k (build T))) (pol n k T).
Proof.
elim: n k T => [//|n IH] k T pT /=.
case e: (onth (build T) k) => [[u x|u]|//] /=; have := prop pT e => /=.
- move=> [us ud]; split=> //; have := IH k.+1 T pT.
  by rewrite (take_onth e) /grow foldl_rcons.
- move=> [us ud nu]; split=> // [|x tx]; first exact/legal1/sampled_grow.
  have := IH k.+1 _ (pos_upd pT tx); rewrite (take_upd x nu e) /grow foldl_rcons -/(grow _ _) /=.
  by rewrite -(grow_agree (upd_agree x nu)) /upd eqxx.
Qed.

(* Every predictable construction that inserts below kept nodes, reveals no prefix twice, and inserts at most N nodes
   is a well-formed policy: on every table, running the policy grows the tree that the construction builds. *)
Theorem predictable_policy T0 : positive T0 ->
  wf legal D empty (pol N 0 T0) /\
  forall T, run (pol N 0 T0) T empty = grow T (build T).
Proof.
move=> p0; split; first by have := wf_pol N 0 p0; rewrite take0.
by move=> T; rewrite run_pol ?drop0 // ?addn0 // take0.
Qed.

(* Eager draws: the table is drawn first, on the prefixes us. *)

End Predictable.
