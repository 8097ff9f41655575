(* FlowVerification on the smallest example, by computation: two tokens, target (3/4, 1/4), sampled slots
   drawn from (1/2, 1/2), D = 1.

   Right: the sampled slot of the root, then token 0 as a fill.  The hypotheses of [flow_lossless] hold, and
   the first token has the target's law.  Wrong: token 0 as a head first, though the sampled slot may draw it.
   The scalars of a node do not say then what the law is, and the first token is 0 with 7/8.
   Last, a chain of one token: block verification emits 0 with 1/2, by computation; FlowVerification too. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Rheo Require Import programs rules rheo_rule trees policies martingale flow_masses flow_lossless
  block flow_chain.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Notation Rat := rat_realFieldType.
Notation Two := [finType of 'I_2].

Definition of2 (a b : rat) (x : 'I_2) : rat := if x == ord0 then a else b.
Definition quarter (k : nat) : rat := k%:Q / 4%:Q.
Definition p2 (w : seq 'I_2) := of2 (quarter 3) (quarter 1).
Definition t2 := of2 (quarter 2) (quarter 2).
Definition o0 : 'I_2 := ord0.
Definition o1 : 'I_2 := lift ord0 ord0.

Lemma sum2 (F : 'I_2 -> rat) : \sum_x F x = F o0 + F o1.
Proof. by rewrite big_ord_recl big_ord_recl big_ord0 addr0. Qed.

Lemma law2 a b : 0 <= a -> 0 <= b -> a + b = 1 -> @law Rat Two (of2 a b).
Proof. by move=> a0 b0 ab; split=> [x|]; [rewrite /of2; case: ifP|rewrite sum2]. Qed.

Lemma laws2 : (forall w, @law Rat Two (p2 w)) /\ @law Rat Two t2.
Proof. by split=> [w|]; apply: law2; vm_compute. Qed.

Definition sampled_first : policy Rat Two := InsSamp [::] t2 (fun x => InsDet [::] o0 (@Stop Rat Two)).
Definition head_first : policy Rat Two := InsDet [::] o0 (InsSamp [::] t2 (fun _ => @Stop Rat Two)).

(* The right policy satisfies the hypotheses of [flow_lossless]. *)
Theorem sampled_first_wf : hwf 1 (@flow_legal Rat Two) [::] sampled_first.
Proof. by have [_ l2] := laws2; split=> //=; split. Qed.

(* The first token of the walk is 0. *)
Definition first_flow (pi : policy Rat Two) : rat :=
  Pr (bind (hdraft pi [::]) (fun h => let st := flow_state p2 h in flow_walk p2 1 st.1 st.2 1 [::])) [:: o0].

(* The numbers of the test: a and rho for both tokens. *)
Definition a2 (x : 'I_2) : rat := if x == o0 then 1 else quarter 2.
Definition rho2 (x : 'I_2) : rat := if x == o0 then 0 else 2%:Q.

Lemma numbers x : Num.min 1 (1 * p2 [::] x / t2 x) = a2 x /\
  (if a2 x < 1 then (1 - a2 x) / (\sum_y pos (t2 y - 1 * p2 [::] y)) else 0) = rho2 x.
Proof. by rewrite sum2; case: x => [[|[|//]] i]; split; apply/eqP; vm_compute. Qed.

Lemma insert_samp2 S x : mass_at S [::] = 1 -> insert_samp p2 S [::] t2 x =
  Masses (fun v => if v == [:: x] then a2 x else rho2 x * mass_at S v)
    (fun v => if v == [::] then Some (rho2 x, 1, t2) else
      if revealed S v is Some (f, w, t) then Some (rho2 x * f, w, t) else None).
Proof. by move=> e; rewrite /insert_samp e; have [-> ->] := numbers x. Qed.

Lemma first_walk (s : tree Rat Two) (S : masses Rat Two) :
  Pr (flow_walk p2 1 s S 1 [::]) [:: o0] =
  weight p2 1 s S [::] o0 / (weight p2 1 s S [::] o0 + weight p2 1 s S [::] o1).
Proof.
rewrite /Pr [flow_walk _ _ _ _ _ _]/= [LHS]/= !sum2.
by case: ifP => _; case: ifP => _; rewrite /= mulr1 mulr0 addr0.
Qed.

(* Its first token is 0 with the target's 3/4: computed, not taken from the theorem. *)
Theorem sampled_first_right : first_flow sampled_first = quarter 3.
Proof.
transitivity (\sum_x t2 x * Pr (flow_walk p2 1 (ins (ins (@empty Rat Two) [::] (Samp t2 x)) [::] (Det Rat o0))
  (insert_det p2 (ins (@empty Rat Two) [::] (Samp t2 x)) (insert_samp p2 (only_root Rat Two) [::] t2 x) [::] o0)
  1 [::]) [:: o0]); first by [].
by rewrite sum2 !first_walk !insert_samp2.
Qed.

(* The wrong policy lacks nothing but that the head lies outside the law of the sampled slot. *)
Theorem head_first_wf : hwf 1 (fun h u _ => sampled (tree_of h u) = None) [::] head_first.
Proof. by have [_ l2] := laws2; split=> //=; split. Qed.

(* Its first token is 0 with 7/8 in place of 3/4. *)
Theorem head_first_biased : first_flow head_first = 7%:Q / 8%:Q.
Proof.
transitivity (\sum_x t2 x * Pr (flow_walk p2 1 (ins (ins (@empty Rat Two) [::] (Det Rat o0)) [::] (Samp t2 x))
  (insert_samp p2 (insert_det p2 (@empty Rat Two) (only_root Rat Two) [::] o0) [::] t2 x)
  1 [::]) [:: o0]); first by [].
by rewrite sum2 !first_walk !insert_samp2.
Qed.

(* A chain of the one token 1, drawn from (1/2, 1/2). *)
Definition short : links Rat Two := [:: (t2, o1)].
Lemma short_drawn : drawn short.
Proof. by have [_ l2] := laws2; move=> c [<-|//]; split. Qed.

(* Block verification emits token 0 in its place with probability 1/2, by computation; FlowVerification by
   [flow_chain_block]. *)
Theorem short_emits : Pr (block p2 short) [:: o0] = quarter 2 /\ Pr (flow p2 1 (chain [::] short)) [:: o0] = quarter 2.
Proof.
have e : Pr (block p2 short) [:: o0] = quarter 2.
  transitivity (next_weight p2 1 [::] t2 o1 * (\sum_y normed (p2 [:: o1]) y * ([:: o1; y] == [:: o0])%:R) +
      (1 - next_weight p2 1 [::] t2 o1) * (\sum_y normed (left_over p2 1 [::] t2) y * ([:: y] == [:: o0])%:R)).
    by rewrite /Pr /block /short; cbn [stages rev catrev from_last E].
  rewrite /normed !sum2. apply/eqP. vm_compute. reflexivity.
have l2 := proj1 laws2; have d := short_drawn.
split; first exact: e.
by rewrite (flow_chain_block_string l2 [:: o0] d (leqnn 1)).
Qed.
