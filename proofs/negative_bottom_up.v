(* A leaf-first rule that looks right and is not: the children of a node try first, each with its weight.

   The weight of a deterministic child depends on whether its sampled sibling is kept, which may depend on draws inside
   that child's subtree.  Tree and draws are those of the theorems; only the verification is another one.  Model and
   numbers are those of docs/faults.md, and a test compares them. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies rank_order construction rheosampling ondemand.
From Rheo Require Import numbers computing copied_rules parts copies models biased.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* ---------- The rule ---------- *)
Section BottomUp.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation prog := (@prog R V).

Definition is_sampled (c : slot R V) : bool := if c is Samp _ _ then true else false.
Definition sampled_first (cs : seq (slot R V)) : seq (slot R V) :=
  [seq c <- cs | is_sampled c] ++ [seq c <- cs | ~~ is_sampled c].

(* The children cs of u try in turn; r is the mass left for each token, `left` the probability of having come this far.
   When all have failed, u succeeds with what is left. *)
Fixpoint tries (below : prefix -> R -> prog (option prefix)) (u : prefix) (cs : seq (slot R V)) (r : V -> R) (left : R)
    : prog (option prefix) :=
  match cs with
  | [::] => Flip ((\sum_y r y) / left) (fun b => if b
      then Draw (fun y => r y / \sum_z r z) (fun y => Ret R V (Some (rcons u y))) else Ret R V None)
  | Samp t x :: cs' => bind (below (rcons u x) (Num.min 1 (r x / t x))) (fun o => if o is Some v then Ret R V (Some v)
      else tries below u cs' (fun y => pos (r y - t y)) (1 - \sum_y Num.min (t y) (r y)))
  | Det x :: cs' => bind (below (rcons u x) (r x / left)) (fun o => if o is Some v then Ret R V (Some v)
      else tries below u cs' (fun y => if y == x then 0 else r y) (left - r x))
  end.

(* VERIFY(u, w): a string that extends u, with probability w, or nothing; n levels are left. *)
Fixpoint verify (p : prefix -> V -> R) (s : tree R V) (n : nat) (u : prefix) (w : R) : prog (option prefix) :=
  if n is n'.+1 then tries (verify p s n') u (sampled_first (s u)) (fun y => w * p u y) 1 else Ret R V None.

(* Draft as in section 4, verify leaf first, complete. *)
Definition bottom_up (p q : prefix -> V -> R) (K m : prefix -> nat) (D B N L : nat) : prog prefix :=
  let t := tail_law q K m in
  bind (sample t (draft_kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N)) (fun l =>
  bind (verify p (foldl (plant t) (@empty R V) l) D.+1 [::] 1) (fun o =>
  let w := if o is Some v then v else [::] in complete p (L - size w) w)).
End BottomUp.

(* ---------- Its copy ---------- *)
Section Copy.
Variables (O : ops) (V : finType) (es : seq V).
Notation prefix := (seq V).
Notation comp := (comp O V).

Definition cis_sampled (c : cslot O V) : bool := if c is CSamp _ _ then true else false.
Definition csampled_first (cs : seq (cslot O V)) : seq (cslot O V) :=
  [seq c <- cs | cis_sampled c] ++ [seq c <- cs | ~~ cis_sampled c].
Fixpoint ctries (below : prefix -> O -> comp (option prefix)) (u : prefix) (cs : seq (cslot O V))
    (r : V -> O) (left : O) : comp (option prefix) :=
  match cs with
  | [::] => let z := csum (map r es) in CFlip (div z left) (fun b => if b
      then CDraw (memo es (fun y => div (r y) z)) (fun y => CRet O V (Some (rcons u y))) else CRet O V None)
  | CSamp t x :: cs' => cbind (below (rcons u x) (cmin (one O) (div (r x) (t x)))) (fun o =>
      if o is Some v then CRet O V (Some v)
      else ctries below u cs' (memo es (fun y => cpos (sub (r y) (t y))))
             (sub (one O) (csum [seq cmin (t y) (r y) | y <- es])))
  | CDet x :: cs' => cbind (below (rcons u x) (div (r x) left)) (fun o => if o is Some v then CRet O V (Some v)
      else ctries below u cs' (memo es (fun y => if y == x then zero O else r y)) (sub left (r x)))
  end.
Fixpoint cverify (p : prefix -> V -> O) (s : ctree O V) (n : nat) (u : prefix) (w : O) : comp (option prefix) :=
  if n is n'.+1 then ctries (cverify p s n') u (csampled_first (s u)) (memo es (fun y => mul w (p u y))) (one O)
  else CRet O V None.
Definition cbottom_up (p q : prefix -> V -> O) (K m : prefix -> nat) (D B N L : nat) : comp prefix :=
  let t := rheo_tail es q K m in
  cbind (csample t (rheo_draft es q K m D B N)) (fun l =>
  cbind (cverify p (foldl (cplant t) (@cempty O V) l) D.+1 [::] (one O)) (fun o =>
  let w := if o is Some v then v else [::] in ccomplete p (L - size w) w)).
End Copy.

Section Same.
Variables (O : ops) (R : realFieldType) (mean : O -> R) (mm : meaning mean) (V : finType) (es : seq V).
Hypothesis esE : es = enum V.
Notation prefix := (seq V).

Lemma same_cat (a b : seq (slot R V)) (a' b' : seq (cslot O V)) : same_slots mean a a' -> same_slots mean b b' ->
  same_slots mean (a ++ b) (a' ++ b').
Proof.
move=> + sb; elim: a a' => [|[x|t x] a IH] [|[x'|t' x'] a'] //=; first by move=> [-> /IH].
by move=> [tt -> /IH].
Qed.

Lemma same_first (cs : seq (slot R V)) (cs' : seq (cslot O V)) :
  same_slots mean cs cs' -> same_slots mean (sampled_first cs) (csampled_first cs').
Proof.
move=> s; apply: same_cat; elim: cs cs' s => [|[x|t x] cs IH] [|[x'|t' x'] cs'] //=.
- by move=> [_ /IH].
- by move=> [tt -> /IH].
- by move=> [-> /IH].
- by move=> [_ _ /IH].
Qed.

Notation same_below := (fun below below' => forall u w w', w = mean w' ->
  same mean eq (below u w) (below' u w')).

Lemma same_tries (below : prefix -> R -> prog R V (option prefix)) (below' : prefix -> O -> comp O V (option prefix))
    u cs cs' r r' left left' :
  same_below below below' -> same_slots mean cs cs' -> same_law mean r r' -> left = mean left' ->
  same mean eq (tries below u cs r left) (ctries es below' u cs' r' left').
Proof.
move=> sb; elim: cs cs' r r' left left' => [|[x|t x] cs IH] [|[x'|t' x'] cs'] r r' left left' //=.
- move=> _ sr ->; split; first by rewrite (mV mm) (csumE mm esE) (eq_bigr _ (fun y _ => sr y)).
  case=> //=; split=> // y; rewrite (memo_law esE) (mV mm) (csumE mm esE) sr.
  by rewrite (eq_bigr _ (fun y _ => sr y)).
- move=> [<- sc] sr e; apply: same_bind => [|o _ <-]; first by apply: sb; rewrite (mV mm) sr e.
  case: o => [v|] //=; apply: IH => // [y|]; last by rewrite (mB mm) sr e.
  by rewrite (memo_law esE); case: (y == x); rewrite ?(m0 mm).
- move=> [st <- sc] sr e; apply: same_bind => [|o _ <-].
    by apply: sb; rewrite (cminE mm) (m1 mm) (mV mm) sr st.
  case: o => [v|] //=; apply: IH => // [y|].
    by rewrite (memo_law esE) (cposE mm) (mB mm) sr st.
  rewrite (mB mm) (m1 mm) (csumE mm esE); congr (_ - _); apply: eq_bigr => y _.
  by rewrite (cminE mm) sr st.
Qed.

Variables (p q : prefix -> V -> R) (p' q' : prefix -> V -> O).
Hypothesis pE : forall u, same_law mean (p u) (p' u).
Hypothesis qE : forall u, same_law mean (q u) (q' u).

Lemma same_verify s s' n : same_tree mean s s' -> same_below (verify p s n) (cverify es p' s' n).
Proof.
move=> ss; elim: n => [//|n IH] u w w' e /=; apply: same_tries => //; last by rewrite (m1 mm).
- exact: same_first.
- by move=> y; rewrite (memo_law esE) (mM mm) e pE.
Qed.

(* In words: the copy draws from the same laws and returns the same strings. *)
Theorem same_bottom_up K m D B N L : same mean eq (bottom_up p q K m D B N L) (cbottom_up es p' q' K m D B N L).
Proof.
have tE := tail_law_copy mm esE qE K m; rewrite /bottom_up draft_kept_parts.
apply: (same_bind (P := @same_cands O R mean V)) => [|l l' ->].
  exact: (same_sample tE (same_draft (rheo_slots_copy mm esE qE K m) (by_value_mean mm) D B N)).
apply: (same_bind (P := eq)) => [|o _ <-].
  by apply: same_verify; [exact: (same_planted tE)|rewrite (m1 mm)].
exact: same_complete.
Qed.
End Same.

(* ---------- The counterexample ---------- *)
(* A prefix that is not in a table has all its mass on token 0. *)
Definition bottom_up_target : rows :=
  [:: ([::], [:: (0, 1); (1, 2); (1, 2)]); ([:: 1], [:: (0, 1); (1, 1); (0, 1)])]%N.
Definition bottom_up_draft : rows :=
  [:: ([::], [:: (0, 1); (3, 4); (1, 4)]); ([:: 1], [:: (1, 2); (1, 4); (1, 4)]);
      ([:: 1; 0], [:: (1, 2); (1, 2); (0, 1)]); ([:: 1; 2], [:: (1, 2); (1, 2); (0, 1)])]%N.
(* bottom-up.  In words: for m = 1, K = B = 2, N = 4, D = 3 and these laws, token 1 comes first with probability 3/4 in
   place of 1/2. *)
Theorem bottom_up_biased (R : realFieldType) :
  let p := law_in R bottom_up_target in let q := law_in R bottom_up_draft in
  biased p q 4 (bottom_up (V := [finType of 'I_3]) p q (fun _ => 2) (fun _ => 1) 3 2 4 4)%N
    [:: lift ord0 ord0 : 'I_3] (3%:R / 4%:R) (1%:R / 2%:R).
Proof.
refine (@biased_copy R 3 _ _ _ _ _ _ (3, 4)%N (1, 2)%N
  (@same_bottom_up _ _ _ (read_meaning R) _ _ (tokensE 3) _ _ _ _ (computed_law R _) (computed_law R _) _ _ _ _ _ _) _).
by vm_compute.
Qed.
