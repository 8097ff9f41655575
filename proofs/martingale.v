(* The general form: a verification is a martingale of laws.

   Every history of insertions gives a law of the completed output, written as a mass function: M v is
   the probability that the output starts with v.  If deterministic insertions leave it alone, if the
   reveal of a sampled slot keeps its mean, and if outside the kept tree it continues with the target,
   then walking it down the kept tree is lossless for every well-formed policy. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Masses.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).

(* M v: the mass of the strings that start with v. *)
Definition mass := prefix -> R.

(* Masses of a law on endless strings: nowhere negative, 1 in all, and each is shared by the next tokens. *)
Record is_law (M : mass) : Prop := IsLaw {
  mass_ge0 : forall v, 0 <= M v;
  mass_root : M [::] = 1;
  mass_split : forall v, \sum_x M (rcons v x) = M v }.

(* Expectation of f over the strings that start with w and have n more tokens. *)
Fixpoint expect (M : mass) (n : nat) (w : prefix) (f : prefix -> R) : R :=
  match n with
  | 0 => M w * f w
  | n'.+1 => \sum_x expect M n' (rcons w x) f
  end.

Lemma expect_ext M M' n w f : (forall v, M (w ++ v) = M' (w ++ v)) -> expect M n w f = expect M' n w f.
Proof.
elim: n w => [|n IH] w H /=; first by have := H [::]; rewrite cats0 => ->.
by apply: eq_bigr => x _; apply: IH => v; rewrite cat_rcons.
Qed.

Lemma expect_lin (t : V -> R) (M : V -> mass) n w f :
  \sum_x t x * expect (M x) n w f = expect (fun v => \sum_x t x * M x v) n w f.
Proof.
elim: n w => [|n IH] w /=; first by rewrite big_distrl; apply: eq_bigr => x _; rewrite mulrA.
under eq_bigr do rewrite big_distrr /=.
by rewrite exchange_big /=; apply: eq_bigr => y _; exact: IH.
Qed.

Lemma expect0 M n w f : (forall v, M (w ++ v) = 0) -> expect M n w f = 0.
Proof.
elim: n w => [|n IH] w H /=; first by have := H [::]; rewrite cats0 => ->; rewrite mul0r.
by rewrite big1 // => x _; apply: IH => v; rewrite cat_rcons.
Qed.

Variable p : prefix -> V -> R.

(* Where the masses continue with the target, the expectation is that of target sampling. *)
Lemma expect_target M n w f : (forall v x, M (rcons (w ++ v) x) = M (w ++ v) * p (w ++ v) x) ->
  expect M n w f = M w * E (complete p n w) f.
Proof.
elim: n w => [//|n IH] w H /=; rewrite big_distrr /=; apply: eq_bigr => x _.
rewrite IH => [|v y]; last by rewrite cat_rcons.
by have := H [::] x; rewrite cats0 => ->; rewrite mulrA.
Qed.

Lemma mass_below M : is_law M -> forall w v, M w = 0 -> M (w ++ v) = 0.
Proof.
move=> [M0 _ Ms] w v; elim/last_ind: v => [|v x IH] Mw; first by rewrite cats0.
have := Ms (w ++ v); rewrite (IH Mw) => /eqP; rewrite psumr_eq0 => [|y _]; last exact: M0.
by move=> /allP /(_ x (mem_index_enum _)) /eqP; rewrite -rcons_cat.
Qed.

(* The walk: at a kept node w draw y from the current law, given that the output starts with w. *)
Fixpoint mass_walk (M : mass) (s : tree R V) (n : nat) (w : prefix) : prog prefix :=
  match n with
  | 0 => Ret R V w
  | n'.+1 => Draw (fun y => M (rcons w y) / M w) (fun y =>
      if y \in toks s w then mass_walk M s n' (rcons w y) else Ret R V (rcons w y))
  end.
End Masses.

Section Martingale.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).
Notation slot := (slot R V).
Notation mass := (mass R V).
Notation policy := (policy R V).

(* What a growing kept tree remembers: its insertions in order, sampled ones with their law and token. *)
Definition history := seq (prefix * slot).
Definition tree_of (h : history) : tree R V := foldl (fun s i => ins s i.1 i.2) (@empty R V) h.
Definition in_tree (h : history) (v : prefix) : bool := inT (tree_of h) [::] v.

Lemma tree_rcons h u c : tree_of (rcons h (u, c)) = ins (tree_of h) u c.
Proof. by rewrite /tree_of foldl_rcons. Qed.

Variable p : prefix -> V -> R.                         (* target *)
Variable D : nat.                                      (* depth *)
Variable legal : history -> prefix -> (V -> R) -> Prop. (* may u reveal a token of this law now? *)

(* Histories that a well-formed policy reaches with positive probability. *)
Inductive valid : history -> Prop :=
| valid_nil : valid [::]
| valid_det h u x : valid h -> in_tree h u -> (size u < D)%N -> valid (rcons h (u, Det R x))
| valid_samp h u t x : valid h -> in_tree h u -> (size u < D)%N -> law t -> legal h u t -> 0 < t x ->
    valid (rcons h (u, Samp t x)).

(* Well-formed policies, as in [wf], with a condition on the whole history. *)
Fixpoint hwf (h : history) (pi : policy) : Prop :=
  match pi with
  | Stop => True
  | InsDet u x k => [/\ in_tree h u, (size u < D)%N & hwf (rcons h (u, Det R x)) k]
  | InsSamp u t k => [/\ in_tree h u, (size u < D)%N, law t, legal h u t
                       & forall x, 0 < t x -> hwf (rcons h (u, Samp t x)) (k x)]
  end.

Fixpoint hdraft (pi : policy) (h : history) : prog history :=
  match pi with
  | Stop => Ret R V h
  | InsDet u x k => hdraft k (rcons h (u, Det R x))
  | InsSamp u t k => Draw t (fun x => hdraft (k x) (rcons h (u, Samp t x)))
  end.

(* L h is the current law of the completed output after the history h. *)
Record martingale (L : history -> mass) : Prop := Martingale {
  mg_law : forall h, valid h -> is_law (L h);
  mg_start : forall v, L [::] v = target p [::] v;
  mg_det : forall h u x v, valid h -> in_tree h u -> (size u < D)%N ->
    L (rcons h (u, Det R x)) v = L h v;
  mg_samp : forall h u t v, valid h -> in_tree h u -> (size u < D)%N -> law t -> legal h u t ->
    \sum_x t x * L (rcons h (u, Samp t x)) v = L h v;
  mg_target : forall h v x, valid h -> ~~ in_tree h v -> L h (rcons v x) = L h v * p v x }.

(* A program that looks at the history has the law L once its output is completed from the target. *)
Definition realises (run : history -> prog prefix) (L : history -> mass) : Prop :=
  forall h n f, valid h -> (D < n)%N ->
  E (bind (run h) (fun w => complete p (n - size w) w)) f = expect (L h) n [::] f.

Definition hdecode (run : history -> prog prefix) (n : nat) (pi : policy) : prog prefix :=
  bind (bind (hdraft pi [::]) run) (fun w => complete p (n - size w) w).

Lemma valid_inv h : valid h -> inv D (tree_of h).
Proof.
elim=> [|{}h u x _ iv ku ud|{}h u t x _ iv ku ud lt _ tx]; first exact: inv_empty.
- by rewrite tree_rcons; apply: inv_ins.
- by rewrite tree_rcons; apply: inv_ins.
Qed.

Lemma in_tree_size h v : valid h -> in_tree h v -> (size v <= D)%N.
Proof.
move=> /valid_inv iv; case/lastP: v => [//|v x]; rewrite /in_tree -cats1 inT_cat size_cat addn1 /=.
case: (ltnP (size v) D) => // /(inv_depth iv) e; by rewrite /toks e andbF.
Qed.

Lemma in_tree_cat h v w : in_tree h (v ++ w) -> in_tree h v.
Proof. by rewrite /in_tree inT_cat => /andP[]. Qed.
Lemma in_tree_rcons h v x : in_tree h (rcons v x) = in_tree h v && (x \in toks (tree_of h) v).
Proof. by rewrite /in_tree -cats1 inT_cat /= andbT. Qed.

Lemma target_rcons w v x : target p w (rcons v x) = target p w v * p (w ++ v) x.
Proof.
elim: v w => [|y v IH] w /=; first by rewrite cats0 mulr1 mul1r.
by rewrite IH cat_rcons mulrA.
Qed.

(* Theorem. For every martingale of laws L and every history, the walk that draws each next token from L has the law L
   once its output is completed from the target: zero masses included, since the walk never comes to them. *)
Theorem mass_walk_realises L : martingale L ->
  realises (fun h => mass_walk (L h) (tree_of h) D.+1 [::]) L.
Proof.
move=> mg h k f vh Dk; have lw := mg_law mg vh; have [M0 M1 Ms] := lw.
suff H n w : in_tree h w -> (n + size w = D.+1)%N ->
    L h w * E (bind (mass_walk (L h) (tree_of h) n w) (fun v => complete p (k - size v) v)) f =
    expect (L h) (k - size w) w f.
  by have := H D.+1 [::] isT (addn0 _); rewrite M1 mul1r subn0.
elim: n w => [|n IH] w kw nw.
  by have := in_tree_size vh kw; rewrite add0n in nw; rewrite nw ltnn.
have wk : (size w < k)%N by apply: leq_ltn_trans Dk; exact: in_tree_size kw.
have [Mw|Mw] := eqVneq (L h w) 0.
  by rewrite Mw mul0r expect0 // => v; exact: mass_below.
have -> : (k - size w = (k - size w).-1.+1)%N by rewrite prednK // subn_gt0.
rewrite /= big_distrr /=; apply: eq_bigr => y _.
rewrite mulrA mulrCA divff // mulr1.
have e : ((k - size w).-1 = k - size (rcons w y))%N by rewrite size_rcons subnS.
rewrite e; case: ifP => yw.
  by rewrite IH // ?in_tree_rcons ?kw // size_rcons addnS.
rewrite /= (@expect_target _ _ p) // => v x; apply: (mg_target mg) => //.
by apply/negP => /in_tree_cat; rewrite in_tree_rcons yw andbF.
Qed.

Lemma draft_martingale L run pi h n f : martingale L -> realises run L -> valid h -> hwf h pi -> (D < n)%N ->
  E (bind (bind (hdraft pi h) run) (fun w => complete p (n - size w) w)) f = expect (L h) n [::] f.
Proof.
move=> mg rl + + Dn; elim: pi h => [|u x k IH|u t k IH] h vh /=.
- by move=> _; exact: rl.
- move=> [ku ud wk]; rewrite IH //; last exact: valid_det.
  by apply: expect_ext => v; exact: (mg_det mg).
- move=> [ku ud lt lg wk].
  rewrite -(@expect_ext _ _ (fun v => \sum_x t x * L (rcons h (u, Samp t x)) v)) => [|v]; last exact: (mg_samp mg).
  rewrite -expect_lin; apply: eq_bigr => x _; have [t0 _] := lt; have := t0 x.
  rewrite le_eqVlt => /predU1P[<-|tx]; first by rewrite !mul0r.
  by congr (_ * _); apply: IH; [exact: valid_samp|exact: wk].
Qed.

(* Theorem (general form). For every martingale of laws L, every program that realises it, every well-formed policy, and
   every f of the output completed to n > D tokens: the mean of f is its mean under target sampling. *)
Theorem martingale_lossless L run pi n f : martingale L -> realises run L -> hwf [::] pi -> (D < n)%N ->
  E (hdecode run n pi) f = E (complete p n [::]) f.
Proof.
move=> mg rl wfp Dn; rewrite /hdecode (draft_martingale _ mg rl valid_nil wfp Dn).
rewrite (@expect_target _ _ p) => [|v x]; last by rewrite !(mg_start mg) target_rcons.
by rewrite (mass_root (mg_law mg valid_nil)) mul1r.
Qed.

(* Hence every string of more than D tokens has the target's probability. *)
Corollary martingale_string L run pi y : martingale L -> realises run L -> hwf [::] pi -> (D < size y)%N ->
  Pr (hdecode run (size y) pi) y = target p [::] y.
Proof.
move=> mg rl wfp Dy; rewrite /Pr (martingale_lossless _ mg rl) // -/(Pr _ _).
by rewrite -[y in Pr _ y]cat0s Pr_complete.
Qed.
End Martingale.
