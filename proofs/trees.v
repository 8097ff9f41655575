(* Kept trees: a function from a prefix to its kept children, in the order of insertion. An insertion below a kept node
   of depth < D preserves the invariant `inv`. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Trees.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation slot := (slot R V).
Notation Det := (@Det R V).

(* A tree maps each prefix to its kept children in the order of insertion. *)
Definition tree := prefix -> seq slot.
Definition empty : tree := fun _ => [::].
Definition ins (s : tree) (u : prefix) (c : slot) : tree :=
  fun w => if w == u then rcons (s u) c else s w.
Definition toks (s : tree) (u : prefix) : seq V := map (@tok R V) (s u).

(* Is w ++ u reached from w by kept children only? *)
Fixpoint inT (s : tree) (w u : prefix) : bool :=
  match u with
  | [::] => true
  | x :: u' => (x \in toks s w) && inT s (rcons w x) u'
  end.

Variable D : nat.

Lemma ins_off s u c w : w != u -> ins s u c w = s w.
Proof. by rewrite /ins => /negbTE ->. Qed.

Lemma ins_on s u c : ins s u c u = rcons (s u) c.
Proof. by rewrite /ins eqxx. Qed.

Lemma inT_cat s w u v : inT s w (u ++ v) = inT s w u && inT s (w ++ u) v.
Proof.
elim: u w => [|x u IH] w /=; first by rewrite cats0.
by rewrite IH cat_rcons andbA.
Qed.

Record inv (s : tree) : Prop := Inv {
  inv_ok : forall w, oks (s w);
  inv_par : forall w, (0 < size (s w))%N -> inT s [::] w;
  inv_depth : forall w, (D <= size w)%N -> s w = [::] }.

Lemma inv_empty : inv empty.
Proof. by split. Qed.

Lemma inT_ins s u c w v : inT s w v -> inT (ins s u c) w v.
Proof.
elim: v w => [|x v IH] w //= /andP[xw /IH ->]; rewrite andbT.
rewrite /toks /ins; case: (w =P u) => [wu|_]; last exact: xw.
by rewrite map_rcons mem_rcons inE -wu -/(toks s w) xw orbT.
Qed.

Lemma inv_ins s u c : inv s -> inT s [::] u -> (size u < D)%N -> okslot c -> inv (ins s u c).
Proof.
move=> [ok par dep] us ud oc; split=> w.
- by rewrite /ins; case: (w =P u) => _ //; exact/oks_rcons.
- move=> H; apply: inT_ins; move: H; rewrite /ins; case: (w =P u) => [->|_] //; exact: par.
- rewrite /ins; case: (w =P u) => [->|_]; last exact: dep.
  by rewrite leqNgt ud.
Qed.

End Trees.
