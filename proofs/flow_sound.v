(* Every draw of FlowVerification that is reached is from a law: the weights at a node that the walk comes
   to are nowhere negative and not all 0. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless predictable tables
  rank_order construction layered layered_lossless rheosampling ondemand soundness
  martingale flow_law flow_masses flow_lossless predictable_history layered_history flow_sampling.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section FlowSound.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation history := (history R V).
Variable p : prefix -> V -> R.
Hypothesis lawp : forall u, law (p u).
Variable D : nat.
Notation valid := (valid D (@flow_legal R V)).

(* Theorem. For every valid history, each draw that FlowVerification reaches with positive probability is from a law. *)
Theorem flow_sound h : valid h -> sound (@any prefix) (flow p D h).
Proof.
move=> vh; rewrite /flow flow_state_tree; have lM := flow_law_is_law lawp vh.
suff H n u : in_tree h u -> 0 < flow_law p h u ->
    sound (@any prefix) (flow_walk p D (tree_of h) (flow_state p h).2 n u).
  by apply: H => //; rewrite (mass_root lM) ltr01.
elim: n u => [//|n IH] u ku Mu /=.
have wE y : weight p D (tree_of h) (flow_state p h).2 u y = flow_law p h (rcons u y) by exact: weight_mass.
have sE : \sum_z weight p D (tree_of h) (flow_state p h).2 u z = flow_law p h u.
  by rewrite (eq_bigr _ (fun y _ => wE y)) (mass_split lM).
split=> [|x]; rewrite ?sE ?wE.
- split=> [y|]; first by rewrite wE; apply: divr_ge0; [exact: (mass_ge0 lM)|exact: ltW].
  by rewrite -big_distrl /= sE divff // gt_eqF.
- move=> Mx; case: ifP => xu //; apply: IH; first by rewrite in_tree_rcons ku.
  by rewrite pmulr_lgt0 ?invr_gt0 in Mx.
Qed.

Variables (q : prefix -> V -> R).
Hypothesis lawq : forall u, law (q u).
Variables (K m : prefix -> nat) (B N : nat).
Notation t := (tail_law q K m).
Notation built := (build (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N).

Lemma built_valid T k : positive t T -> valid (history_of t T (take k (built T))).
Proof.
move=> pT; elim: k => [|k IH]; first by rewrite take0; exact: valid_nil.
case e: (onth (built T) k) => [i|]; last first.
  move/onth_none: e => /(congr1 size); rewrite size_drop => /eqP; rewrite subn_eq0 => sk.
  by rewrite take_oversize ?(leq_trans sk) // -(take_oversize sk).
have hf u c : c \in head q m u -> 0 <= c.1 <= 1 by exact: head_fac.
have pf u : 0 <= proxy q m u <= 1 by exact: proxy_fac.
have ff u x c : c \in fill q K m u x -> 0 <= c.1 <= proxy q m u by exact: fill_fac.
have su u x : 0 < t u x -> uniq (map (@tk R V) (slots (head q m) (has_sampled q K m) (proxy q m) (fill q K m) u x)).
  exact: slots_uniq.
have pr := layered_proper hf pf ff su pT e.
rewrite (take_onth e) /history_of map_rcons; case: i e pr => [u x|u] e /=.
- by move=> [ku ud]; apply: valid_det => //; rewrite /in_tree tree_history.
- move=> [ku ud _]; apply: valid_samp => //; first by rewrite /in_tree tree_history.
  + exact: lawt.
  + by apply: (layered_flow_legal hf pf ff su _ pT e) => w c; exact: head_off_tail.
Qed.

(* Theorem. The same for the whole step on RheoSampling trees, drafting and completion included. *)
Theorem flow_run_sound n :
  sound (@any prefix) (bind (flow_run_step p q K m D B N) (fun w => complete p (n - size w) w)).
Proof.
apply: (@sound_bind _ _ _ _ (@any prefix)); last by move=> w _; exact: sound_complete.
have lt := lawt lawq K m; have pos0 := some_draw_pos lawq K m.
apply: (sound_bind (sound_sample lt pos0 _)) => [T pT|l [T pT ->]].
- by have [] := asked_uniq D B N (@slots_uniq _ _ q K m) pT.
- rewrite answer_kept (planted_history _ _ _ _ _ _ _ t).
  by apply: flow_sound; have := built_valid (size (built T)) pT; rewrite take_size.
Qed.
End FlowSound.
