(* E[tau] of predictable constructions: the sum of gains of their policy. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule trees policies lossless predictable tables
  martingale predictable_history gain.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section PredictableTau.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation history := (history R V).
Variable t : prefix -> V -> R.
Hypothesis lawt : forall u, law (t u).
Variables (D : nat) (build : table V -> seq (instr V)) (N : nat).
Hypothesis pred : predictable build.
Hypothesis prop : proper t D build.
Hypothesis bounded : forall T, (size (build T) <= N)%N.
Variable legal : history -> prefix -> (V -> R) -> Prop.
Hypothesis legal_build : forall T k u, positive t T -> onth (build T) k = Some (ISamp u) ->
  legal (history_of t T (take k (build T))) u (t u).
Variable Tdef : table V.
Hypothesis posdef : positive t Tdef.
Variable us : seq prefix.
Hypothesis all_us : forall u, (size u < D)%N -> u \in us.
Variables (p : prefix -> V -> R) (L : history -> mass R V) (run : history -> prog R V prefix).
Hypothesis mg : martingale p D legal L.
Hypothesis wk : walks D legal run L.

(* Theorem. For every predictable and proper construction whose reveals are legal: E[tau], the table drawn first, is the
   expected sum, over the insertions of its policy, of the mass of the new node right after its insertion. *)
Theorem predictable_tau : E (bind (drawall t Tdef us) (fun T => run (history_of t T (build T)))) (@tau R V) =
  gain L (pol t build N 0 Tdef) [::].
Proof.
have wfp : hwf D legal [::] (pol t build N 0 Tdef).
  by have := hwf_pol lawt pred prop legal_build N 0 posdef; rewrite take0.
rewrite -(expected_tau mg wk wfp) !E_bind.
have o : once t us [::] (pol t build N 0 Tdef) by have := once_pol pred prop all_us N 0 posdef; rewrite take0.
rewrite -(eager_lazy_history lawt posdef _ _ o); apply: E_ext => T.
by rewrite (hrun_pol t pred) ?drop0 ?addn0 // take0.
Qed.
End PredictableTau.
