(* Generation, step after step, with the other rules: recursive rejection and one-hot verification. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules rheo_rule rrs_rule trees policies lossless rheosampling ondemand generate.
From Rheo Require Import options slot_order.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Rules.
Variables (R : realFieldType) (V : finType) (p : seq V -> V -> R) (q : seq V -> seq V -> V -> R).
Hypothesis lawp : forall u, law (p u).
Hypothesis lawq : forall h u, law (q h u).

(* For all laws p and q and all K, m, D, B, N: repeating the step with one-hot verification emits y with the
   probability that the target gives it. *)
Theorem onehot_generate K m D B N (y : seq V) :
  Pr (generate (step_after p q K m D B N (@onehot R V)) (size y) (size y) [::]) y = target p [::] y.
Proof. exact: (run_generate lawp lawq _ _ _ _ _ (onehot_fair R V)). Qed.

(* The same with recursive rejection, children tested in the order of insertion. *)
Theorem rrs_generate K m D B N (y : seq V) :
  Pr (generate (step_after p q K m D B N (@rrs R V)) (size y) (size y) [::]) y = target p [::] y.
Proof. exact: (run_generate lawp lawq _ _ _ _ _ (rrs_fair R V)). Qed.

(* The same with recursive rejection as specified: children tested in slot order, the paper's proxy. *)
Theorem rrsw_generate (K m : seq V -> seq V -> nat) D B N (y : seq V) :
  Pr (generate (fun h => slot_step (after p h) (q h) (K h) (m h) D (B h) (N h)
    (rheosampling.proxy (q h) (m h)) (scaled_fill (q h) (K h) (m h) (fun _ => 1)) (@rrs R V)) (size y) (size y) [::]) y
  = target p [::] y.
Proof.
apply: (generate_lossless lawp (D := D)) => [h|h L f DL].
- by apply: (supp_bind (supp_true _)) => l _; exact: supp_walk1.
- by apply: (rrsw_paper_proxy_lossless (p := after p h) (fun u => lawp (h ++ u)) (lawq h) (K h) (m h)
    (B h) (N h) _ f DL) => u; rewrite ler01 lexx.
Qed.
End Rules.
