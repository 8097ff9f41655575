(* Copies that compute, and their equality with what they copy: the rules of `rules.v`, the trees of `trees.v`, walk and
   completion of `policies.v`.  A copy has a `c` before its name and takes the list `es` of all tokens. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies numbers computing.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Copies.
Variables (O : ops) (V : eqType) (es : seq V).
Notation comp := (comp O V).
Notation prefix := (seq V).

Inductive cslot := CDet of V | CSamp of (V -> O) & V.
Definition ctok (c : cslot) : V := match c with CDet x => x | CSamp _ x => x end.
Definition crule := (V -> O) -> seq cslot -> comp V.

Definition cpos (z : O) : O := if leb z (zero O) then zero O else z.
Definition cres (p t : V -> O) : V -> O :=
  let z := csum [seq cpos (sub (p y) (t y)) | y <- es] in
  memo es (fun y => div (cpos (sub (p y) (t y))) z).
Definition cmin (a b : O) : O := if leb a b then a else b.
Definition cacc (p t : V -> O) (x : V) : O := cmin (one O) (div (p x) (t x)).
Definition cdel (r : V -> O) (x : V) : V -> O :=
  let z := sub (one O) (r x) in memo es (fun y => if y == x then zero O else div (r y) z).

Fixpoint csampled (cs : seq cslot) : option ((V -> O) * V) :=
  match cs with
  | [::] => None
  | CDet _ :: cs' => csampled cs'
  | CSamp t x :: _ => Some (t, x)
  end.
Definition crheo : crule := fun p cs =>
  match csampled cs with
  | None => CDraw p (@CRet O V V)
  | Some (t, x) => CFlip (cacc p t x) (fun b => if b then CRet O V x else CDraw (cres p t) (@CRet O V V))
  end.
Fixpoint crrs (r : V -> O) (cs : seq cslot) : comp V :=
  match cs with
  | [::] => CDraw r (@CRet O V V)
  | CDet x :: cs' => CFlip (r x) (fun b => if b then CRet O V x else crrs (cdel r x) cs')
  | CSamp t x :: cs' => CFlip (cacc r t x) (fun b => if b then CRet O V x else crrs (cres r t) cs')
  end.
Definition conehot : crule := fun p _ => CDraw p (@CRet O V V).

Definition ctree := prefix -> seq cslot.
Definition cempty : ctree := fun _ => [::].
Definition cins (s : ctree) (u : prefix) (c : cslot) : ctree :=
  fun w => if w == u then rcons (s u) c else s w.

Variables (ver : crule) (p : prefix -> V -> O).
Fixpoint cwalk (n : nat) (s : ctree) (w : prefix) : comp prefix :=
  match n with
  | 0 => CRet O V w
  | n'.+1 => cbind (ver (p w) (s w)) (fun y =>
      if y \in map ctok (s w) then cwalk n' s (rcons w y) else CRet O V (rcons w y))
  end.
Fixpoint ccomplete (n : nat) (w : prefix) : comp prefix :=
  match n with
  | 0 => CRet O V w
  | n'.+1 => CDraw (p w) (fun y => ccomplete n' (rcons w y))
  end.
End Copies.
Arguments CDet {O V}.

(* ---------- The copies are the definitions ---------- *)
Section Same.
Variables (O : ops) (R : realFieldType) (m : O -> R) (mm : meaning m).
Variables (V : finType) (es : seq V).
Hypothesis esE : es = enum V.
Notation prefix := (seq V).
Notation same_law := (same_law m).
Notation same := (same m).

Lemma memo_law (f : V -> O) : memo es f =1 f.
Proof. by move=> x; rewrite memoE // (in_es esE). Qed.

Lemma cposE z : m (cpos z) = pos (m z).
Proof. by rewrite /cpos /pos (mle mm) (m0 mm); case: leP => _; rewrite // (m0 mm). Qed.

Lemma cminE a b : m (cmin a b) = Num.min (m a) (m b).
Proof. by rewrite /cmin (mle mm); case: leP. Qed.

Lemma same_res p p' t t' : same_law p p' -> same_law t t' -> same_law (res p t) (cres es p' t').
Proof.
move=> ep et x; rewrite /res /cres memo_law (mV mm) cposE (mB mm) ep et; congr (_ / _).
by rewrite (csumE mm esE); apply: eq_bigr => y _; rewrite cposE (mB mm) ep et.
Qed.

Lemma same_acc (p t : V -> R) p' t' x : same_law p p' -> same_law t t' -> acc p t x = m (cacc p' t' x).
Proof. by move=> ep et; rewrite /acc /cacc cminE (m1 mm) (mV mm) ep et. Qed.

Lemma same_del r r' x : same_law r r' -> same_law (del r x) (cdel es r' x).
Proof.
move=> er y; rewrite /cdel memo_law /del; case: (y == x); first by rewrite (m0 mm).
by rewrite (mV mm) (mB mm) (m1 mm) !er.
Qed.

Fixpoint same_slots (cs : seq (slot R V)) (cs' : seq (cslot O V)) : Prop :=
  match cs, cs' with
  | [::], [::] => True
  | Det x :: l, CDet x' :: l' => x = x' /\ same_slots l l'
  | Samp t x :: l, CSamp t' x' :: l' => [/\ same_law t t', x = x' & same_slots l l']
  | _, _ => False
  end.

Lemma same_toks cs cs' : same_slots cs cs' -> map (@tok R V) cs = map (@ctok O V) cs'.
Proof.
elim: cs cs' => [|[x|t x] cs IH] [|[x'|t' x'] cs'] //=; first by move=> [-> /IH ->].
by move=> [_ -> /IH ->].
Qed.

Lemma same_rcons cs cs' c c' : same_slots cs cs' -> same_slots [:: c] [:: c'] ->
  same_slots (rcons cs c) (rcons cs' c').
Proof.
move=> + H; elim: cs cs' => [|[x|t x] cs IH] [|[x'|t' x'] cs'] //=; first by move=> [-> /IH].
by move=> [tt -> /IH].
Qed.

Definition same_rule (ver : rule R V) (ver' : crule O V) : Prop :=
  forall p p' cs cs', same_law p p' -> same_slots cs cs' -> same eq (ver p cs) (ver' p' cs').

(* In words: on equal laws and equal slots, the copy of one-hot verification draws from the same law. *)
Theorem same_onehot : same_rule (@onehot R V) (@conehot O V).
Proof. by []. Qed.

(* In words: so does the copy of RheoVerification, in its coin and its residual. *)
Theorem same_rheo : same_rule (@rheo R V) (crheo es).
Proof.
move=> p p' cs cs' ep e; rewrite /rheo /crheo.
have : match sampled cs, csampled cs' with
  | None, None => True
  | Some (t, x), Some (t', x') => same_law t t' /\ x = x'
  | _, _ => False end.
  by elim: cs cs' e => [|[x|t x] cs IH] [|[x'|t' x'] cs'] //= []; [move=> _ /IH|].
case: (sampled cs) (csampled cs') => [[t x]|] [[t' x']|] //= [et <-].
split; first exact: same_acc.
by case=> //=; split=> //; exact: same_res.
Qed.

(* In words: so does the copy of RRSw, in every coin and in the last residual. *)
Theorem same_rrs : same_rule (@rrs R V) (crrs es).
Proof.
move=> p p' cs; elim: cs p p' => [|[x|t x] cs IH] p p' [|[x'|t' x'] cs'] ep //=.
- by move=> [<- e]; split=> // -[] //=; apply: IH => //; exact: same_del.
- move=> [et <- e]; split; first exact: same_acc.
  by case=> //=; apply: IH => //; exact: same_res.
Qed.

Definition same_tree (s : tree R V) (s' : ctree O V) : Prop := forall u, same_slots (s u) (s' u).

Lemma same_ins s s' u c c' : same_tree s s' -> same_slots [:: c] [:: c'] ->
  same_tree (ins s u c) (cins s' u c').
Proof. by move=> ss cc w; rewrite /ins /cins; case: eqP => _ //; exact: same_rcons. Qed.

Variables (ver : rule R V) (ver' : crule O V).
Hypothesis sv : same_rule ver ver'.
Variables (p : prefix -> V -> R) (p' : prefix -> V -> O).
Hypothesis sp : forall u, same_law (p u) (p' u).

(* In words: on equal trees, the copy of the walk draws the same and ends in the same strings. *)
Theorem same_walk n s s' w : same_tree s s' -> same eq (walk ver p n s w) (cwalk ver' p' n s' w).
Proof.
move=> ss; elim: n w => [//|n IH] w /=.
apply: same_bind (sv (sp w) (ss w)) _ => y _ <-.
by rewrite /toks (same_toks (ss w)); case: ifP.
Qed.

(* In words: so does the copy of completing a string from the target. *)
Theorem same_complete n w : same eq (complete p n w) (ccomplete p' n w).
Proof. by elim: n w => [//|n IH] w /=. Qed.
End Same.
