(* A mutant refuted: the sampled child valued by its own probability, which lets the construction peek at X. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Rheo Require Import programs rules rheo_rule trees policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* Section 3 with head m = 0, K = 2, D = 1, N = 1, and the mutant "the sampled slot is valued by its
   own probability": the kept node is X if t(X) >= t(fill), else the fill.  Vocabulary of 3 tokens. *)
Definition tab (a : seq rat) (x : 'I_3) : rat := nth 0 a x.
Definition frac (a b : nat) : rat := a%:Q / b%:Q.
Definition pT := tab [:: frac 1 2; frac 3 10; frac 1 5].
Definition tQ := tab [:: frac 1 2; frac 1 4; frac 1 4].
Definition target3 (w : seq 'I_3) := pT.
Definition fill (x : 'I_3) : 'I_3 := if x == ord0 then lift ord0 ord0 else ord0.

Definition peek_tree (x : 'I_3) : tree rat_realFieldType [finType of 'I_3] :=
  ins (@empty _ _) [::] (if tQ (fill x) <= tQ x then Samp tQ x else Det _ (fill x)).

(* The first emitted token. *)
Definition peek : prog rat_realFieldType [finType of 'I_3] (seq 'I_3) :=
  Draw tQ (fun x => walk (@rheo _ _) target3 1 (peek_tree x) [::]).

Lemma laws3 : law pT /\ law tQ.
Proof.
split; split; try by (rewrite !big_ord_recl big_ord0; apply/eqP; vm_compute).
- by case=> [[|[|[|//]]] i]; rewrite /pT /tab /=; vm_compute.
- by case=> [[|[|[|//]]] i]; rewrite /tQ /tab /=; vm_compute.
Qed.

Definition o0 : 'I_3 := ord0.

(* With p = (1/2, 3/10, 1/5), q = (1/2, 1/4, 1/4), m = 0, K = 2, D = N = 1 and the sampled child valued by q(X), the
   first token is 0 with probability 3/4 instead of 1/2. *)
Theorem peek_biased :
  Pr peek [:: o0] = frac 3 4 /\ target target3 [::] [:: o0] = frac 1 2.
Proof.
split; last by apply/eqP; vm_compute.
have k0 : tQ (fill ord0) <= tQ ord0 by vm_compute.
have k1 : (tQ (fill (lift ord0 ord0)) <= tQ (lift ord0 ord0)) = false by vm_compute.
rewrite /Pr /peek /= !big_ord_recl !big_ord0 /=.
rewrite /peek_tree k0 !k1 /rheo /= /res !big_ord_recl !big_ord0 /=.
by apply/eqP; vm_compute.
Qed.
