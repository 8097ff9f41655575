(* FlowVerification as a martingale of laws.

   At the reveal of X = x below u the single-draft test is made against the whole current law: its parts
   are the strings through uy, one part for each y, and the strings that do not pass through u.  Inside a
   part nothing changes.  This is a martingale for every predictable policy: no condition on the
   order of a node's children, their number, or the laws that its sampled slots are drawn from. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless martingale flow_test.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Reveal.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation mass := (mass R V).

(* Masses of the next token at u. *)
Definition next (M : mass) (u : prefix) (y : V) : R := M (rcons u y).

(* The law after the reveal of X = x below u.  Strings that do not start with v are multiplied by rho if
   v is u or above it; those through uy are spread as before inside their new mass. *)
Definition reveal (M : mass) (u : prefix) (t : V -> R) (x : V) : mass := fun v =>
  if seq.prefix v u then 1 - rho (next M u) t x * (1 - M v)
  else if seq.prefix u v then
    (if drop (size u) v is y :: _ then M v * (shifted (next M u) t x y / M (rcons u y)) else 0)
  else rho (next M u) t x * M v.

(* Where a prefix v lies, seen from u. *)
Variant place (u v : prefix) : Type :=
| Above w of u = v ++ w
| Below y w of v = rcons u y ++ w
| Beside of ~~ seq.prefix v u & ~~ seq.prefix u v.

Lemma placeP u v : place u v.
Proof.
case vu: (seq.prefix v u).
  by apply: (Above (w := drop (size v) u)); move: vu; rewrite prefixE => /eqP e; rewrite -{1}e cat_take_drop.
case uv: (seq.prefix u v); last by apply: Beside; rewrite ?vu ?uv.
case e: (drop (size u) v) => [|y w].
  have eu : u = v by rewrite -[RHS](cat_take_drop (size u)) e cats0; apply/eqP; rewrite eq_sym -prefixE.
  by rewrite eu prefix_refl in vu.
apply: (Below (y := y) (w := w)); rewrite cat_rcons -e.
by move: uv; rewrite prefixE => /eqP {1}<-; rewrite cat_take_drop.
Qed.

Variables (M : mass) (u : prefix) (t : V -> R).
Notation l := (next M u).

Lemma reveal_above x v w : u = v ++ w -> reveal M u t x v = 1 - rho l t x * (1 - M v).
Proof. by move=> e; rewrite /reveal {1}e prefix_prefix. Qed.

Lemma below_prefix (v w : prefix) y : (seq.prefix (rcons v y ++ w) v = false) * (seq.prefix v (rcons v y ++ w) = true).
Proof.
split; last by rewrite cat_rcons prefix_prefix.
apply/negP => /prefixP[s /(congr1 size)] /eqP.
by rewrite !size_cat size_rcons -{1}[size v]addn0 -addnA addSnnS eqn_add2l.
Qed.

Lemma reveal_below x y w : reveal M u t x (rcons u y ++ w) =
  M (rcons u y ++ w) * (shifted l t x y / M (rcons u y)).
Proof.
rewrite /reveal !below_prefix.
by rewrite cat_rcons drop_size_cat.
Qed.

Lemma reveal_beside x v : ~~ seq.prefix v u -> ~~ seq.prefix u v -> reveal M u t x v = rho l t x * M v.
Proof. by rewrite /reveal => /negbTE -> /negbTE ->. Qed.

Hypothesis lawM : is_law M.
Let M0 := mass_ge0 lawM.

Lemma mass_le v w : M (v ++ w) <= M v.
Proof.
elim/last_ind: w => [|w x IH]; first by rewrite cats0.
apply: le_trans IH; rewrite -(mass_split lawM (v ++ w)) (bigD1 x) //= -rcons_cat ler_addl.
by apply: sumr_ge0 => y _; exact: M0.
Qed.

Lemma mass_le1 v : M v <= 1.
Proof. by have := mass_le [::] v; rewrite (mass_root lawM). Qed.

Lemma mass_beside v w : ~~ seq.prefix v w -> ~~ seq.prefix w v -> M v + M w <= 1.
Proof.
rewrite -(mass_root lawM); suff H s : ~~ seq.prefix v w -> ~~ seq.prefix w v -> M (s ++ v) + M (s ++ w) <= M s.
  exact: (H [::]).
elim: v w s => [|a v IH] [|b w] s //; rewrite ?prefix0s ?prefixs0 //.
rewrite !prefix_cons; have [->|ab] := eqVneq a b => /= vw wv.
  rewrite -!cat_rcons; apply: le_trans (IH _ _ vw wv) _.
  by have := mass_le s [:: b]; rewrite cats1.
rewrite -(mass_split lawM s) (bigD1 a) //= (bigD1 b) 1?eq_sym //= addrA.
rewrite -!cat_rcons; apply: le_trans (ler_add (mass_le _ _) (mass_le _ _)) _.
by rewrite ler_addl sumr_ge0.
Qed.

Lemma next_ge0 y : 0 <= l y. Proof. exact: M0. Qed.
Lemma next_le1 : \sum_y l y <= 1. Proof. by rewrite (mass_split lawM) mass_le1. Qed.

Hypothesis lt : law t.

Lemma shifted_next x : 0 < t x -> \sum_y shifted l t x y = 1 - rho l t x * (1 - M u).
Proof. by move=> tx; rewrite (shifted_sum next_ge0 lt tx) (mass_split lawM). Qed.

(* (M) *)
Lemma reveal_mean v : \sum_x t x * reveal M u t x v = M v.
Proof.
have [t0 t1] := lt; have lge := next_ge0; have lle := next_le1.
have full : rest l t = 0 -> M u = 1 by case/(rest_eq0 lle lt) => <- _; rewrite (mass_split lawM).
case: (placeP u v) => [w e|y w ->|vu uv].
- under eq_bigr do rewrite (reveal_above _ e) mulrBr mulr1.
  rewrite sumrB t1 (rho_mean lge lt) ?subKr // => /full u1; apply/eqP; rewrite subr_eq0 eq_sym eq_le mass_le1 /=.
  by rewrite -u1 e mass_le.
- under eq_bigr do rewrite reveal_below mulrCA.
  rewrite -big_distrr /=; under eq_bigr do rewrite mulrA.
  rewrite -big_distrl /= (shifted_mean lge lle lt).
  have [e|ne] := eqVneq (l y) 0; first by rewrite e mul0r mulr0 (mass_below lawM).
  by rewrite divff // mulr1.
- under eq_bigr do rewrite (reveal_beside _ vu uv).
  apply: (rho_mean lge lt) => /full u1; apply/eqP; rewrite eq_le M0 andbT.
  by have := mass_beside vu uv; rewrite u1 ger_addr.
Qed.

(* Strings beside u stay beside it. *)
Lemma beside_rcons v z : ~~ seq.prefix v u -> ~~ seq.prefix u v ->
  ~~ seq.prefix (rcons v z) u /\ ~~ seq.prefix u (rcons v z).
Proof.
move=> vu uv; split; apply/negP.
- by move=> /(prefix_trans (prefix_rcons v z)); apply/negP.
- case/prefixP => s; case/lastP: s => [|s a] e.
    by rewrite cats0 in e; rewrite -e prefix_rcons in vu.
  by move: e; rewrite -rcons_cat => /rcons_inj[e _]; rewrite e prefix_prefix in uv.
Qed.

Lemma reveal_law x : 0 < t x -> is_law (reveal M u t x).
Proof.
move=> tx; have lge := next_ge0; have lle := next_le1; have r0 : 0 <= rho l t x by exact: rho_ge0.
split=> [v||v].
- case: (placeP u v) => [w e|y w ->|vu uv].
  + rewrite (reveal_above _ e); apply: le_trans (_ : 1 - rho l t x * (1 - M u) <= _).
      by rewrite -shifted_next // sumr_ge0 // => y _; exact: shifted_ge0.
    by rewrite ler_add2l ler_opp2 ler_wpmul2l // ler_add2l ler_opp2 e mass_le.
  + by rewrite reveal_below mulr_ge0 ?divr_ge0 ?M0 //; exact: shifted_ge0.
  + by rewrite reveal_beside // mulr_ge0 ?M0.
- by rewrite (reveal_above x (w := u)) // (mass_root lawM) subrr mulr0 subr0.
- case: (placeP u v) => [w e|y w ->|vu uv].
  + rewrite (reveal_above _ e); case: w e => [|b w] e.
      rewrite cats0 in e; rewrite -e -shifted_next //; apply: eq_bigr => y _.
      have := reveal_below x y [::]; rewrite !cats0 => ->.
      have [z|nz] := eqVneq (M (rcons u y)) 0; last by rewrite mulrC divfK.
      by rewrite z mul0r (shifted0 lt x z).
    rewrite (bigD1 b) //= (reveal_above x (w := w)) ?cat_rcons //.
    rewrite (eq_bigr (fun z => rho l t x * M (rcons v z))) => [|z zb].
      rewrite -big_distrr /= -(mass_split lawM v) [in RHS](bigD1 b) //=.
      by rewrite [in RHS]opprD [in RHS]addrA [in RHS]mulrBr [in RHS]opprB [in RHS]addrA [in RHS]addrAC.
    apply: reveal_beside; rewrite e.
    * by rewrite -cats1 prefix_catr // eqxx prefix_cons (negbTE zb).
    * by rewrite -cats1 prefix_catr // eqxx prefix_cons eq_sym (negbTE zb).
  + under eq_bigr do rewrite rcons_cat reveal_below -rcons_cat.
    by rewrite -big_distrl /= (mass_split lawM) reveal_below.
  + rewrite reveal_beside // -(mass_split lawM) big_distrr /=; apply: eq_bigr => z _.
    by have [a b] := beside_rcons z vu uv; rewrite reveal_beside.
Qed.
End Reveal.

(* The law of FlowVerification after a history. *)
Section FlowLaw.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Variables (p : prefix -> V -> R) (D : nat) (legal : history R V -> prefix -> (V -> R) -> Prop).
Hypothesis lawp : forall u, law (p u).

Definition flow_step (M : mass R V) (i : prefix * slot R V) : mass R V :=
  match i.2 with Det _ => M | Samp t x => reveal M i.1 t x end.
Definition flow_law (h : history R V) : mass R V := foldl flow_step (target p [::]) h.

Lemma flow_law_det h u x : flow_law (rcons h (u, Det R x)) = flow_law h.
Proof. by rewrite /flow_law foldl_rcons. Qed.
Lemma flow_law_samp h u t x : flow_law (rcons h (u, Samp t x)) = reveal (flow_law h) u t x.
Proof. by rewrite /flow_law foldl_rcons. Qed.

Lemma target_law : is_law (target p [::]).
Proof.
split=> // [v|v]; last first.
  under eq_bigr do rewrite target_rcons.
  by rewrite -big_distrr /=; have [_ ->] := lawp v; rewrite mulr1.
elim: v (@nil V) => [|y v IH] w /=; first exact: ler01.
by have [p0 _] := lawp w; rewrite mulr_ge0.
Qed.

Lemma in_tree_ins (h : history R V) u c v : in_tree h v -> in_tree (rcons h (u, c)) v.
Proof. by rewrite /in_tree tree_rcons; exact: inT_ins. Qed.

Lemma flow_law_is_law h : valid D legal h -> is_law (flow_law h).
Proof.
elim=> [|{}h u x _ lh _ _|{}h u t x _ lh _ _ lt _ tx]; first exact: target_law.
- by rewrite flow_law_det.
- by rewrite flow_law_samp; apply: reveal_law.
Qed.

Lemma flow_law_target h : valid D legal h -> forall v x, ~~ in_tree h v ->
  flow_law h (rcons v x) = flow_law h v * p v x.
Proof.
elim=> [|{}h u x vh IH ku ud|{}h u t x vh IH ku ud lt lg tx] v z nk; first exact: target_rcons.
- by rewrite flow_law_det IH //; apply: contra nk; exact: in_tree_ins.
- have nk' : ~~ in_tree h v by apply: contra nk; exact: in_tree_ins.
  rewrite flow_law_samp; case: (placeP u v) => [w e|y w e|vu uv].
  + by move: ku; rewrite e => /in_tree_cat kv; rewrite kv in nk'.
  + by rewrite {1}e rcons_cat reveal_below -rcons_cat -e IH // e reveal_below mulrAC.
  + by have [a b] := beside_rcons z vu uv; rewrite !reveal_beside // IH // mulrA.
Qed.

(* Theorem. For every target, depth and condition on reveals (none at all included), the laws of FlowVerification are a
   martingale. *)
Theorem flow_martingale : martingale p D legal flow_law.
Proof.
split=> //.
- exact: flow_law_is_law.
- by move=> h u x v _ _ _; rewrite flow_law_det.
- move=> h u t v vh _ _ lt _; under eq_bigr do rewrite flow_law_samp.
  by apply: reveal_mean => //; exact: flow_law_is_law.
- by move=> h v x vh; exact: flow_law_target.
Qed.

(* Hence walking down the current law is lossless for every well-formed policy. *)
Corollary flow_law_lossless pi n f : hwf D legal [::] pi -> (D < n)%N ->
  E (hdecode p (fun h => mass_walk (flow_law h) (tree_of h) D.+1 [::]) n pi) f = E (complete p n [::]) f.
Proof. exact/martingale_lossless/mass_walk_realises/flow_martingale/flow_martingale. Qed.
End FlowLaw.
