(* Programs that compute: the law of what a program returns, as a table of fractions.

   A program of `programs.v` has functions for laws and a sum for its meaning, neither of which reduces.  `comp` is the
   same with computed numbers; `same` says that a program and its copy draw from the same laws and return related
   values; `law_of` runs the copy along every branch of positive weight and adds up equal results. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs numbers.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* ---------- Definitions that reduce ---------- *)
Section Computing.
Variables (O : ops) (V : eqType) (es : seq V).     (* es lists the vocabulary *)

Inductive comp (A : Type) : Type :=
| CRet of A
| CDraw of (V -> O) & (V -> comp A)
| CFlip of O & (bool -> comp A).

Fixpoint cbind A C (c : comp A) (g : A -> comp C) : comp C :=
  match c with
  | CRet a => g a
  | CDraw l k => CDraw l (fun x => cbind (k x) g)
  | CFlip b k => CFlip b (fun c => cbind (k c) g)
  end.

Definition is0 (a : O) : bool := leb a (zero O) && leb (zero O) a.
Definition csum (l : seq O) : O := foldr (@add O) (zero O) l.

(* Branches of weight 0 are left out. *)
Fixpoint leaves A (w : O) (c : comp A) : seq (O * A) :=
  match c with
  | CRet a => [:: (w, a)]
  | CDraw l k => flatten [seq
      (let v := mul w (l x) in if is0 v then [::] else leaves v (k x)) | x <- es]
  | CFlip b k => flatten [seq
      (let v := mul w (if c then b else sub (one O) b) in if is0 v then [::] else leaves v (k c))
      | c <- [:: true; false]]
  end.

(* A law as a list of values with their probabilities. *)
Fixpoint put (A : eqType) (w : O) (a : A) (l : seq (A * O)) : seq (A * O) :=
  match l with
  | [::] => [:: (a, w)]
  | (b, v) :: l' => if a == b then (b, add v w) :: l' else (b, v) :: put w a l'
  end.
Fixpoint prob (A : eqType) (a : A) (l : seq (A * O)) : O :=
  if l is (b, v) :: l' then if a == b then v else prob a l' else zero O.
Definition gather (A : eqType) (l : seq (O * A)) : seq (A * O) := foldr (fun c => put c.1 c.2) [::] l.
Definition law_of A (C : eqType) (view : A -> C) (c : comp A) : seq (C * O) :=
  gather [seq (l.1, view l.2) | l <- leaves (one O) c].

(* The same function, each value computed once. *)
Fixpoint look (x : V) (l : seq (V * O)) : O :=
  if l is (y, v) :: l' then if x == y then v else look x l' else zero O.
Definition memo (f : V -> O) : V -> O := let l := [seq (x, f x) | x <- es] in fun x => look x l.

Lemma memoE f x : x \in es -> memo f x = f x.
Proof.
rewrite /memo /=; elim: es => [//|y l IH] /=; rewrite inE.
by case: (x =P y) => [->|_] //=; exact: IH.
Qed.
End Computing.

(* ---------- What they mean ---------- *)
Section Same.
Variables (O : ops) (R : realFieldType) (m : O -> R) (mm : meaning m).
Variables (V : finType) (es : seq V).
Hypothesis esE : es = enum V.
Notation comp := (comp O V).
Notation prog := (prog R V).

Definition same_law (l : V -> R) (l' : V -> O) : Prop := forall x, l x = m (l' x).

Fixpoint same A A' (P : A -> A' -> Prop) (c : prog A) (c' : comp A') : Prop :=
  match c, c' with
  | Ret a, CRet a' => P a a'
  | Draw l k, CDraw l' k' => same_law l l' /\ forall x, same P (k x) (k' x)
  | Flip b k, CFlip b' k' => b = m b' /\ forall c, same P (k c) (k' c)
  | _, _ => False
  end.

Lemma same_bind A A' C C' (P : A -> A' -> Prop) (Q : C -> C' -> Prop) c c' g g' :
  same P c c' -> (forall a a', P a a' -> same Q (g a) (g' a')) -> same Q (bind c g) (cbind c' g').
Proof.
move=> + H; elim: c c' => [a|l k IH|b k IH] [a'|l' k'|b' k'] //=; first exact: H.
- by move=> [ll K]; split=> // x; exact: IH.
- by move=> [bb K]; split=> // x; exact: IH.
Qed.

Lemma in_es x : x \in es.
Proof. by rewrite esE mem_enum. Qed.

Lemma is0E a : is0 a = (m a == 0).
Proof. by rewrite /is0 !(mle mm) (m0 mm) -eq_le. Qed.

Lemma sum_es (F : V -> R) : \sum_x F x = \sum_(x <- es) F x.
Proof. by rewrite esE big_enum. Qed.

Lemma csumE (F : V -> O) : m (csum (map F es)) = \sum_x m (F x).
Proof.
rewrite sum_es; elim: es => [|x l IH] /=; first by rewrite big_nil (m0 mm).
by rewrite big_cons (mD mm) IH.
Qed.

Lemma sum_flatten A B (g : A -> seq B) (h : B -> R) l :
  \sum_(b <- flatten (map g l)) h b = \sum_(a <- l) \sum_(b <- g a) h b.
Proof. by elim: l => [|a l IH] /=; rewrite ?big_nil // big_cat big_cons IH. Qed.

Lemma same_leaves A A' (P : A -> A' -> Prop) f f' c c' w : same P c c' ->
  (forall a a', P a a' -> f a = f' a') ->
  m w * E c f = \sum_(l <- leaves es w c') m l.1 * f' l.2.
Proof.
move=> + H; elim: c c' w => [a|l k IH|b k IH] [a'|l' k'|b' k'] w //=.
- by move=> /H ->; rewrite big_seq1.
- move=> [ll K]; rewrite sum_flatten sum_es big_distrr /=; apply: eq_bigr => x _.
  rewrite is0E (mM mm) mulrA ll; case: eqP => [->|_]; first by rewrite mul0r big_nil.
  by rewrite -(mM mm); exact: IH.
- move=> [-> K]; rewrite cats0 big_cat mulrDr !mulrA /=.
  by congr (_ + _); rewrite is0E (mM mm) ?(mB mm) ?(m1 mm); case: eqP => [->|_];
    rewrite ?mul0r ?big_nil // -?(m1 mm) -?(mB mm) -(mM mm); exact: IH.
Qed.

Lemma prob_put (A : eqType) w (a b : A) l : m (prob b (put w a l)) = m (prob b l) + (a == b)%:R * m w.
Proof.
elim: l => [|[d v] l IH] /=.
  by rewrite [b == a]eq_sym; case: eqP => _; rewrite (m0 mm) add0r ?mul1r ?mul0r // (m0 mm).
case: (a =P d) => [->|ad] /=.
  by rewrite [b == d]eq_sym; case: eqP => _; rewrite ?(mD mm) ?mul1r ?mul0r ?addr0.
by case: (b =P d) => [->|_]; rewrite ?IH //; case: eqP => // _; rewrite mul0r addr0.
Qed.

Lemma prob_gather (A : eqType) (b : A) l : m (prob b (gather l)) = \sum_(x <- l) m x.1 * (x.2 == b)%:R.
Proof.
elim: l => [|[w a] l IH] /=; first by rewrite big_nil (m0 mm).
by rewrite prob_put IH big_cons addrC mulrC.
Qed.

(* In words: the table of a copy holds the probability of every value, 0 for those that are not in it. *)
Theorem law_ofP A A' (C : eqType) (P : A -> A' -> Prop) (view : A -> C) (view' : A' -> C) c c' y :
  same P c c' -> (forall a a', P a a' -> view a = view' a') ->
  E c (fun a => (view a == y)%:R) = m (prob y (law_of es view' c')).
Proof.
move=> s H; rewrite prob_gather big_map -[LHS]mul1r -{1}(m1 mm).
by rewrite (same_leaves _ s (f' := fun a' => (view' a' == y)%:R)) // => a a' /H ->.
Qed.

(* In words: for a program and its copy that return the same, the table holds Pr[y] of every y. *)
Corollary Pr_law_of (A : eqType) (c : prog A) c' y : same eq c c' -> Pr c y = m (prob y (law_of es id c')).
Proof. by move=> s; apply: (law_ofP _ s) => a a' ->. Qed.
End Same.
