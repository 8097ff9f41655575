(* The prefix form of the criterion, on a step law that may come from anywhere.

   A step emits a string S of at most D + 1 tokens. The completed law is the target's product law on D + 1 tokens if and
   only if, wherever a step goes on after v, it goes on as the target does. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies lossless predictable tables rank_order construction rheosampling
  ondemand generate soundness.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Criterion.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).

Lemma E_le A (P : A -> Prop) (m : prog A) f g : sound P m -> (forall a, P a -> f a <= g a) -> E m f <= E m g.
Proof.
move=> + H; elim: m => [a|l k IH|b k IH] /=; first exact: H.
- move=> [[l0 _] K]; apply: ler_sum => x _; have := l0 x; rewrite le_eqVlt => /predU1P[<-|lx].
    by rewrite !mul0r.
  by apply: ler_wpmul2l; [exact: l0|exact/IH/K].
- move=> [/andP[b0 b1] K1 K0]; apply: ler_add.
  + move: b0; rewrite le_eqVlt => /predU1P[<-|bp]; first by rewrite !mul0r.
    by apply: ler_wpmul2l; [exact: ltW|exact/IH/K1].
  + move: b1; rewrite le_eqVlt => /predU1P[->|bp]; first by rewrite subrr !mul0r.
    by apply: ler_wpmul2l; [rewrite subr_ge0 ltW|exact/IH/K0].
Qed.

Lemma E_sound A (P : A -> Prop) (m : prog A) f g : sound P m -> (forall a, P a -> f a = g a) -> E m f = E m g.
Proof.
by move=> sm H; apply/eqP; rewrite eq_le !(E_le sm) // => a /H ->.
Qed.

Lemma E_mass A (P : A -> Prop) (m : prog A) c : sound P m -> E m (fun _ => c) = c.
Proof.
elim: m => [//|l k IH|b k IH] /=.
- move=> [[l0 l1] K]; rewrite -[RHS]mul1r -l1 big_distrl /=; apply: eq_bigr => x _.
  have := l0 x; rewrite le_eqVlt => /predU1P[<-|/K /IH -> //]; by rewrite !mul0r.
- move=> [/andP[b0 b1] K1 K0].
  have -> : b * E (k true) (fun _ => c) = b * c.
    move: b0; rewrite le_eqVlt => /predU1P[<-|/K1 /IH -> //]; by rewrite !mul0r.
  have -> : (1 - b) * E (k false) (fun _ => c) = (1 - b) * c.
    move: b1; rewrite le_eqVlt => /predU1P[->|/K0 /IH -> //]; by rewrite subrr !mul0r.
  by rewrite -mulrDl addrC subrK mul1r.
Qed.

Lemma E_sub A (m : prog A) f g c : E m (fun a => f a - g a * c) = E m f - E m g * c.
Proof.
elim: m => [//|l k IH|b k IH] /=.
- by rewrite big_distrl -sumrB /=; apply: eq_bigr => x _; rewrite IH mulrBr mulrA.
- by rewrite !IH; set d := 1 - b; rewrite !mulrBr !mulrA mulrDl opprD addrACA.
Qed.

Lemma E_sum A (m : prog A) (F : V -> A -> R) : E m (fun a => \sum_x F x a) = \sum_x E m (F x).
Proof.
transitivity (\sum_x 1 * E m (F x)); last by apply: eq_bigr => x _; rewrite mul1r.
by rewrite -E_lin; apply: E_ext => a; apply: eq_bigr => x _; rewrite mul1r.
Qed.

Definition starts (v w : prefix) : bool := take (size v) w == v.
Definition goes_on (v w : prefix) : bool := starts v w && (size v < size w)%N.  (* v is a proper prefix of w *)

Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Variables (D : nat) (step : prog prefix).
Hypothesis step_sound : sound (fun w => (size w <= D.+1)%N) step.

Definition completed : prog prefix := bind step (fun w => complete p (D.+1 - size w) w).
Definition starts_with v : R := E step (fun w => (starts v w)%:R).
Definition goes_on_after v : R := E step (fun w => (goes_on v w)%:R).

(* Probability that w, completed, starts with u. *)
Definition reach (u w : prefix) : R :=
  if starts u w then 1 else if goes_on w u then target p w (drop (size w) u) else 0.
Definition mass u : R := E step (reach u).

Lemma target_rcons w u x : target p w (rcons u x) = target p w u * p (w ++ u) x.
Proof.
elim: u w => [|y u IH] w /=; first by rewrite cats0 mulr1 mul1r.
by rewrite IH mulrA cat_rcons.
Qed.

Lemma starts_rcons v x w : starts (rcons v x) w = goes_on v w && (nth x w (size v) == x).
Proof.
rewrite /goes_on /starts size_rcons; case: (ltnP (size v) (size w)) => vw.
- by rewrite (take_nth x vw) eqseq_rcons andbT.
- rewrite andbF; apply/negP => /eqP e.
  have : (size (take (size v).+1 w) <= size w)%N by rewrite size_take; case: ltnP => // /ltnW.
  by rewrite e size_rcons ltnNge vw.
Qed.

Lemma starts_size v w : starts v w -> (size v <= size w)%N.
Proof.
by rewrite /starts => /eqP /(congr1 size) <-; rewrite size_take; case: ltnP => // /ltnW.
Qed.

Lemma goes_on_rcons w v x : goes_on w (rcons v x) = starts w v.
Proof.
rewrite /goes_on /starts size_rcons ltnS; case: (leqP (size w) (size v)) => wv.
- by rewrite andbT -cats1 takel_cat.
- by rewrite andbF; apply/esym/negP => /starts_size; rewrite leqNgt wv.
Qed.

Lemma starts_eq v w : starts v w -> ~~ goes_on v w -> w = v.
Proof.
rewrite /goes_on => vw; rewrite vw /= -leqNgt => wv; move: vw.
by rewrite /starts take_oversize // => /eqP.
Qed.

Lemma starts_goes v w : starts v w -> goes_on w v = false.
Proof. by move=> /starts_size vw; rewrite /goes_on ltnNge vw andbF. Qed.

(* One token further: reach changes by what a step that goes on after v does. *)
Lemma reach_rcons v x w :
  reach (rcons v x) w - reach v w * p v x = (starts (rcons v x) w)%:R - (goes_on v w)%:R * p v x.
Proof.
rewrite /reach goes_on_rcons starts_rcons.
case vw: (starts v w); last first.
  have -> : goes_on v w = false by rewrite /goes_on vw.
  rewrite /= mul0r subr0; case wv: (starts w v).
  - have -> : goes_on w v.
      rewrite /goes_on wv ltnNge; apply/negP => vs; move: vw wv; rewrite /starts (take_oversize vs) => + /eqP e.
      by rewrite e take_size eqxx.
    have ev : w ++ drop (size w) v = v by rewrite -{1}(eqP wv) cat_take_drop.
    by rewrite drop_rcons ?starts_size // target_rcons ev subrr.
  - have -> : goes_on w v = false by rewrite /goes_on wv.
    by rewrite mul0r subrr.
case g: (goes_on v w) => /=.
- case: eqP => _; rewrite ?mul1r //.
  have -> : starts w v = false.
    by apply/negP => /starts_size; move: g; rewrite /goes_on => /andP[_]; rewrite ltnNge => /negP.
  by [].
- have -> : w = v by apply: starts_eq; rewrite ?g.
  by rewrite /starts take_size eqxx drop_rcons // drop_size /= mulr1 mul1r subrr mul0r subr0.
Qed.

Lemma mass_rcons v x : mass (rcons v x) - mass v * p v x = starts_with (rcons v x) - goes_on_after v * p v x.
Proof. by rewrite -!E_sub; apply: E_ext => w; exact: reach_rcons. Qed.

Lemma reach_sum v w : reach v w = \sum_x reach (rcons v x) w.
Proof.
have [_ p1] := lawp v.
have e x : reach (rcons v x) w = reach v w * p v x + ((starts (rcons v x) w)%:R - (goes_on v w)%:R * p v x).
  by rewrite -reach_rcons addrC subrK.
under eq_bigr do rewrite e.
rewrite big_split /= sumrB -!big_distrr /= p1 !mulr1.
suff -> : \sum_x (starts (rcons v x) w)%:R = (goes_on v w)%:R :> R by rewrite subrr addr0.
under eq_bigr do rewrite starts_rcons.
case g: (goes_on v w) => /=; last by rewrite big1.
case: w g {e} => [|y w] g; first by move: g; rewrite /goes_on andbF.
rewrite (bigD1 (nth y (y :: w) (size v))) //= big1 ?addr0 => [|x xn].
  by rewrite (set_nth_default y) ?eqxx //; move: g => /andP[].
by rewrite (set_nth_default y) ?(eq_sym _ x) ?(negbTE xn) //; move: g => /andP[].
Qed.

Lemma mass_sum v : mass v = \sum_x mass (rcons v x).
Proof. by rewrite -E_sum; apply: E_ext => w; exact: reach_sum. Qed.

Lemma complete_off n w y : ~~ starts w y -> E (complete p n w) (fun v => (v == y)%:R) = 0.
Proof.
elim: n w => [|n IH] w wy /=.
  by case: eqP wy => // <-; rewrite /starts take_size eqxx.
apply: big1 => x _; rewrite IH ?mulr0 //; apply: contra wy.
by rewrite starts_rcons => /andP[/andP[]].
Qed.

Lemma Pr_completed y : size y = D.+1 -> Pr completed y = mass y.
Proof.
move=> sy; rewrite /Pr E_bind; apply: (E_sound step_sound) => w sw; rewrite /reach.
case wy: (starts w y); last first.
  rewrite complete_off ?wy //; case: ifP => [yw|_]; last by rewrite /goes_on wy.
  have e : w = y by apply: starts_eq => //; rewrite /goes_on yw /= -leqNgt sy.
  by move: wy; rewrite e /starts take_size eqxx.
have ey : w ++ drop (size w) y = y by rewrite -{1}(eqP wy) cat_take_drop.
have -> : E (complete p (D.+1 - size w) w) (fun v => (v == y)%:R) = target p w (drop (size w) y).
  by rewrite -(Pr_complete p w) ey size_drop sy.
case: ifP => [yw|yw].
  have e : w = y by apply: starts_eq => //; rewrite /goes_on yw /= -leqNgt sy.
  by rewrite e drop_size.
case: ifP => // gw; move: gw yw; rewrite /goes_on wy /= => /negbT; rewrite -leqNgt => ys.
by rewrite -(eqP wy) /starts (take_oversize ys) take_size eqxx.
Qed.

Lemma mass_nil : mass [::] = 1.
Proof.
rewrite -[RHS](E_mass 1 step_sound); apply: E_ext => w.
by rewrite /reach /starts take0 eqxx.
Qed.

(* Let S be the outcome of any program whose draws are from laws and whose coins have biases in [0, 1], of at most D + 1
   tokens. The completed law gives every string of D + 1 tokens its target probability if and only if for all strings v
   of at most D tokens and all x: Pr[S starts with v x] = Pr[v is a proper prefix of S] p(x | v). *)
Theorem prefix_criterion :
  (forall y, size y = D.+1 -> Pr completed y = target p [::] y) <->
  (forall v x, (size v <= D)%N -> starts_with (rcons v x) = goes_on_after v * p v x).
Proof.
split=> [H v x vD|H y sy].
- have M n u : (size u + n = D.+1)%N -> mass u = target p [::] u.
    elim: n u => [|n IH] u un; first by rewrite -Pr_completed ?H // -un addn0.
    rewrite mass_sum; transitivity (\sum_y target p [::] u * p u y).
      by apply: eq_bigr => y _; rewrite (IH (rcons u y)) ?target_rcons // size_rcons addSn -addnS.
    by rewrite -big_distrr /=; have [_ ->] := lawp u; rewrite mulr1.
  apply/eqP; rewrite -subr_eq0 -mass_rcons.
  rewrite (M (D - size v)%N (rcons v x)) ?size_rcons ?addSn ?subnKC //.
  by rewrite (M (D - size v).+1 v) ?addnS ?subnKC // target_rcons subrr.
- rewrite Pr_completed //; have : (size y <= D.+1)%N by rewrite sy.
  elim/last_ind: y {sy} => [|v x IH]; first by rewrite mass_nil.
  rewrite size_rcons ltnS => vD; rewrite target_rcons -(IH (leqW vD)).
  by apply/eqP; rewrite -subr_eq0 mass_rcons H // subrr.
Qed.

(* It is enough to look at the proper prefixes of strings that are emitted with positive probability. *)
Corollary prefix_criterion_emitted :
  (forall y, size y = D.+1 -> Pr completed y = target p [::] y) <->
  (forall v x, 0 < goes_on_after v -> starts_with (rcons v x) = goes_on_after v * p v x).
Proof.
have le v x : 0 <= starts_with (rcons v x) <= goes_on_after v.
  rewrite -(E_mass 0 step_sound); apply/andP; split; apply: (E_le step_sound) => w _; first exact: ler0n.
  by rewrite ler_nat starts_rcons; case: goes_on => //=; exact: leq_b1.
have long v : (D < size v)%N -> goes_on_after v = 0.
  move=> Dv; rewrite -(E_mass 0 step_sound); apply: (E_sound step_sound) => w wD.
  by rewrite /goes_on ltnNge (leq_trans wD Dv) andbF.
rewrite prefix_criterion; split=> [H v x v0|H v x _]; last first.
  case: (ltrP 0 (goes_on_after v)) => [|v0]; first exact: H.
  have /andP[a b] := le v x; have e : goes_on_after v = 0 by apply/eqP; rewrite eq_le v0 (le_trans a b).
  by rewrite e mul0r; apply/eqP; rewrite eq_le a -[X in _ <= X]e b.
by apply: H; rewrite leqNgt; apply/negP => /long e; rewrite e ltxx in v0.
Qed.
End Criterion.
