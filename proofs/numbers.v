(* Numbers to compute with: fractions in binary, and what they mean in a field.

   The theorems speak about a real field; its sums, enumerations and tests do not reduce.  The copies of the definitions
   take their numbers from a record of operations instead.  Two instances: the field itself, which makes a copy a
   definition over that field, and reduced fractions, which compute.  A map `m` that respects all operations carries
   what is computed with fractions over to the field. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Coq Require BinNums BinInt QArith_base Qreduction Lia.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Record ops := Ops {
  num :> Type;
  zero : num;
  one : num;
  add : num -> num -> num;
  sub : num -> num -> num;
  mul : num -> num -> num;
  div : num -> num -> num;
  leb : num -> num -> bool }.

Arguments leb : simpl never.

(* In words: a map m from computed numbers to the field R that respects constants, operations (x / 0 = 0) and order. *)
Record meaning (O : ops) (R : realFieldType) (m : O -> R) := Meaning {
  m0 : m (zero O) = 0;
  m1 : m (one O) = 1;
  mD : forall a b, m (add a b) = m a + m b;
  mB : forall a b, m (sub a b) = m a - m b;
  mM : forall a b, m (mul a b) = m a * m b;
  mV : forall a b, m (div a b) = m a / m b;
  mle : forall a b, leb a b = (m a <= m b) }.

(* ---------- The field itself ---------- *)
Definition field (R : realFieldType) : ops :=
  Ops (0 : R) 1 +%R (fun a b => a - b) *%R (fun a b => a / b) (fun a b => a <= b).

Lemma field_meaning (R : realFieldType) : meaning (O := field R) (fun a : R => a).
Proof. by []. Qed.

(* ---------- Fractions in binary ---------- *)
Import BinNums BinInt QArith_base.
Local Open Scope ring_scope.
Definition fractions : ops :=
  Ops (Qmake Z0 xH) (Qmake (Zpos xH) xH)
    (fun a b => Qreduction.Qred (Qplus a b)) (fun a b => Qreduction.Qred (Qminus a b))
    (fun a b => Qreduction.Qred (Qmult a b)) (fun a b => Qreduction.Qred (Qdiv a b)) Qle_bool.

Section Meaning.
Variable R : realFieldType.

Definition of_Z (z : Z) : R := (Z.to_nat z)%:R - (Z.to_nat (Z.opp z))%:R.
Definition of_Q (a : Q) : R := of_Z (Qnum a) / of_Z (Zpos (Qden a)).

Lemma of_ZE a b z : z = Z.sub (Z.of_nat a) (Z.of_nat b) -> of_Z z = a%:R - b%:R.
Proof.
move=> e; apply/eqP; rewrite /of_Z subr_eq addrAC eq_sym subr_eq -!natrD eqr_nat; apply/eqP.
rewrite -!plusE; Lia.lia.
Qed.

Lemma Z_diff z : z = Z.sub (Z.of_nat (Z.to_nat z)) (Z.of_nat (Z.to_nat (Z.opp z))).
Proof. Lia.lia. Qed.

Lemma of_ZD x y : of_Z (Z.add x y) = of_Z x + of_Z y.
Proof.
rewrite (@of_ZE (Z.to_nat x + Z.to_nat y) (Z.to_nat (Z.opp x) + Z.to_nat (Z.opp y))).
  by rewrite !natrD opprD addrACA.
rewrite -!plusE; Lia.lia.
Qed.

Lemma of_ZN x : of_Z (Z.opp x) = - of_Z x.
Proof. by rewrite /of_Z opprB Z.opp_involutive. Qed.

Lemma of_ZM x y : of_Z (Z.mul x y) = of_Z x * of_Z y.
Proof.
set a := Z.to_nat x; set b := Z.to_nat (Z.opp x); set c := Z.to_nat y; set d := Z.to_nat (Z.opp y).
rewrite (@of_ZE (a * c + b * d) (a * d + b * c)).
  rewrite !natrD !natrM /of_Z -/a -/b -/c -/d mulrBl !mulrBr opprD opprB addrACA.
  by rewrite [_ - a%:R * d%:R]addrC addrACA [- _ + _]addrC !addrA.
rewrite -!plusE -!multE !Nat2Z.inj_add !Nat2Z.inj_mul {1}(Z_diff x) {1}(Z_diff y) -/a -/b -/c -/d.
Lia.nia.
Qed.

Lemma of_Z_ge0 z : (0 <= of_Z z) = Z.leb Z0 z.
Proof.
apply/idP/idP => [|/Z.leb_le z0].
- case: z => [|p|p] //=; rewrite /of_Z /= sub0r oppr_ge0 lern0 => /eqP e.
  by have := Pos2Nat.is_pos p; rewrite e; Lia.lia.
- rewrite (@of_ZE (Z.to_nat z) 0) ?subr0 ?ler0n //; Lia.lia.
Qed.

Lemma of_Z_le x y : (of_Z x <= of_Z y) = Z.leb x y.
Proof.
rewrite -subr_ge0 -of_ZN -of_ZD of_Z_ge0; apply/idP/idP => /Z.leb_le H; apply/Z.leb_le; Lia.lia.
Qed.

Lemma of_pos p : 0 < of_Z (Zpos p).
Proof. by rewrite -[0](subrr (0%:R : R)) -[0%:R - 0%:R]/(of_Z Z0) ltNge of_Z_le. Qed.

Lemma of_Q_eq a b : Qeq a b -> of_Q a = of_Q b.
Proof.
rewrite /Qeq => /(congr1 of_Z); rewrite !of_ZM => e; rewrite /of_Q.
have na := lt0r_neq0 (of_pos (Qden a)); have nb := lt0r_neq0 (of_pos (Qden b)).
by apply/eqP; rewrite eqr_div //; apply/eqP; rewrite e.
Qed.

Lemma of_Q_red a : of_Q (Qreduction.Qred a) = of_Q a.
Proof. exact/of_Q_eq/Qreduction.Qred_correct. Qed.

Lemma of_Q_add a b : of_Q (Qplus a b) = of_Q a + of_Q b.
Proof.
rewrite /of_Q /= Pos2Z.inj_mul of_ZD !of_ZM addf_div //; exact/lt0r_neq0/of_pos.
Qed.

Lemma of_Q_opp a : of_Q (Qopp a) = - of_Q a.
Proof. by rewrite /of_Q /= of_ZN mulNr. Qed.

Lemma of_Q_mul a b : of_Q (Qmult a b) = of_Q a * of_Q b.
Proof. by rewrite /of_Q /= Pos2Z.inj_mul !of_ZM mulf_div. Qed.

Lemma of_Q_inv a : of_Q (Qinv a) = (of_Q a)^-1.
Proof.
rewrite /of_Q invf_div; case: a => [[|n|n] d] //=; last first.
  by rewrite -[Zneg d]/(Z.opp (Zpos d)) -[Zneg n]/(Z.opp (Zpos n)) !of_ZN invrN mulrN mulNr.
by rewrite /of_Z /= subrr mul0r invr0 mulr0.
Qed.

Lemma of_Q_le a b : Qle_bool a b = (of_Q a <= of_Q b).
Proof.
have pa := of_pos (Qden a); have pb := of_pos (Qden b).
by rewrite /of_Q ler_pdivr_mulr // mulrAC ler_pdivl_mulr // -!of_ZM of_Z_le.
Qed.

Definition read : fractions -> R := of_Q.
(* In words: computing with fractions and then reading them in R is computing in R. *)
Theorem read_meaning : meaning read.
Proof.
rewrite /read; split=> [||a b|a b|a b|a b|a b].
- by rewrite /of_Q /of_Z /= subrr mul0r.
- by rewrite /of_Q /of_Z /= subr0 divr1.
- by apply: (etrans (of_Q_red _)); exact: of_Q_add.
- by apply: (etrans (of_Q_red _)); rewrite of_Q_add of_Q_opp.
- by apply: (etrans (of_Q_red _)); exact: of_Q_mul.
- by apply: (etrans (of_Q_red _)); rewrite of_Q_mul of_Q_inv.
- exact: of_Q_le.
Qed.
End Meaning.
