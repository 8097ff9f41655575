(* A copy of FlowVerification that computes: masses, full masses, walk; and of the step in any order of insertion. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies predictable rank_order construction rheosampling ondemand.
From Rheo Require Import martingale flow_masses flow_sampling numbers computing copied_rules parts copies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Copies.
Variables (O : ops) (V : finType) (es : seq V).
Notation prefix := (seq V).
Notation comp := (comp O V).
Notation ctree := (ctree O V).
Definition chistory := seq (prefix * cslot O V).
Variables (p : prefix -> V -> O) (D : nat).

Record cmasses := CMasses {
  cmass_at : prefix -> O;
  crevealed : prefix -> option (O * O * (V -> O)) }.
Definition cuntouched (S : cmasses) (u : prefix) (y : V) : O :=
  match crevealed S u with
  | None => mul (cmass_at S u) (p u y)
  | Some (f, w, t) => mul f (cpos (sub (mul w (p u y)) (t y)))
  end.
Definition conly_root : cmasses := CMasses (fun v => if v == [::] then one O else zero O) (fun _ => None).
Definition cinsert_det (s : ctree) (S : cmasses) (u : prefix) (x : V) : cmasses :=
  if x \in map (@ctok O V) (s u) then S
  else let c := cuntouched S u x in CMasses (fun v => if v == rcons u x then c else cmass_at S v) (crevealed S).
Definition cinsert_samp (S : cmasses) (u : prefix) (t : V -> O) (x : V) : cmasses :=
  let w := cmass_at S u in
  let a := cmin (one O) (div (mul w (p u x)) (t x)) in
  let rest := csum [seq cpos (sub (t y) (mul w (p u y))) | y <- es] in
  let rho := if leb (one O) a then zero O else div (sub (one O) a) rest in
  CMasses (fun v => if v == rcons u x then a else mul rho (cmass_at S v))
          (fun v => if v == u then Some (rho, w, t) else
             if crevealed S v is Some (f, w', t') then Some (mul rho f, w', t') else None).
Definition cinsert (st : ctree * cmasses) (i : prefix * cslot O V) : ctree * cmasses :=
  (cins st.1 i.1 i.2,
   match i.2 with CDet x => cinsert_det st.1 st.2 i.1 x | CSamp t x => cinsert_samp st.2 i.1 t x end).
Definition cflow_state (h : chistory) : ctree * cmasses := foldl cinsert (@cempty O V, conly_root) h.

Fixpoint cfull (s : ctree) (S : cmasses) (n : nat) (u : prefix) : O :=
  match n with
  | 0 => cmass_at S u
  | n'.+1 => if s u is [::] then cmass_at S u
             else csum [seq if y \in map (@ctok O V) (s u) then cfull s S n' (rcons u y) else cuntouched S u y
                       | y <- es]
  end.
Definition cweight (s : ctree) (S : cmasses) (u : prefix) (y : V) : O :=
  if y \in map (@ctok O V) (s u) then cfull s S (D - size (rcons u y)) (rcons u y) else cuntouched S u y.
Fixpoint cflow_walk (s : ctree) (S : cmasses) (n : nat) (u : prefix) : comp prefix :=
  match n with
  | 0 => CRet O V u
  | n'.+1 => let w := memo es (cweight s S u) in let z := csum (map w es) in
      CDraw (memo es (fun y => div (w y) z)) (fun y =>
        if y \in map (@ctok O V) (s u) then cflow_walk s S n' (rcons u y) else CRet O V (rcons u y))
  end.
Definition cflow (h : chistory) : comp prefix :=
  let st := cflow_state h in cflow_walk st.1 st.2 D.+1 [::].

Variables (q : prefix -> V -> O) (K m : prefix -> nat) (B N : nat).
Definition cplanted (l : seq (ccand O V)) : chistory :=
  pmap (fun a => if a is c :: a' then
    Some (cpre a', if c.1.2 then CSamp (rheo_tail es q K m (cpre a')) c.2 else CDet c.2) else None) l.
(* Kept candidates are inserted in the order that `sorted` puts them in; the step of the theorems leaves rank order. *)
Definition cflow_step (sorted : seq (ccand O V) -> seq (ccand O V)) : comp prefix :=
  cbind (csample (rheo_tail es q K m) (rheo_draft es q K m D B N)) (fun l => cflow (cplanted (sorted l))).
(* The law of the emitted string. *)
Definition flow_step_law : seq (prefix * O) := law_of es id (cflow_step id).
End Copies.

(* ---------- The copy is the definition ---------- *)
Section Same.
Variables (O : ops) (R : realFieldType) (mean : O -> R) (mm : meaning mean) (V : finType) (es : seq V).
Hypothesis esE : es = enum V.
Notation prefix := (seq V).
Notation same_law := (same_law mean).
Variables (p q : prefix -> V -> R) (p' q' : prefix -> V -> O).
Hypothesis pE : forall u, same_law (p u) (p' u).
Hypothesis qE : forall u, same_law (q u) (q' u).
Variables (K m : prefix -> nat) (D B N : nat).

Definition same_reveal (a : option (R * R * (V -> R))) (a' : option (O * O * (V -> O))) : Prop :=
  match a, a' with
  | Some (f, w, t), Some (f', w', t') => [/\ f = mean f', w = mean w' & same_law t t']
  | None, None => True
  | _, _ => False
  end.
Definition same_masses (S : masses R V) (S' : cmasses O V) : Prop :=
  (forall v, mass_at S v = mean (cmass_at S' v)) /\ forall v, same_reveal (revealed S v) (crevealed S' v).

Lemma same_untouched S S' u y : same_masses S S' -> untouched p S u y = mean (cuntouched p' S' u y).
Proof.
move=> [sa sr]; rewrite /untouched /cuntouched.
case: (revealed S u) (crevealed S' u) (sr u) => [[[f w] t]|] [[[f' w'] t']|] //=.
- by move=> [-> -> et]; rewrite (mM mm) (cposE mm) (mB mm) (mM mm) pE et.
- by rewrite (mM mm) sa pE.
Qed.

Lemma same_det s s' S S' u x : same_tree mean s s' -> same_masses S S' ->
  same_masses (insert_det p s S u x) (cinsert_det p' s' S' u x).
Proof.
move=> ss sS; rewrite /insert_det /cinsert_det /toks (same_toks (ss u)); case: ifP => // _.
have [sa sr] := sS; split=> //= v; case: eqP => // _; exact: same_untouched.
Qed.

Lemma same_samp S S' u t t' x : same_masses S S' -> same_law t t' ->
  same_masses (insert_samp p S u t x) (cinsert_samp es p' S' u t' x).
Proof.
move=> [sa sr] et.
have ea : Num.min 1 (mass_at S u * p u x / t x) = mean (cmin (one O) (div (mul (cmass_at S' u) (p' u x)) (t' x))).
  by rewrite (cminE mm) (m1 mm) (mV mm) (mM mm) sa pE et.
have er : (if Num.min 1 (mass_at S u * p u x / t x) < 1
           then (1 - Num.min 1 (mass_at S u * p u x / t x)) / \sum_y pos (t y - mass_at S u * p u y) else 0) =
  mean (let a := cmin (one O) (div (mul (cmass_at S' u) (p' u x)) (t' x)) in
        if leb (one O) a then zero O
        else div (sub (one O) a) (csum [seq cpos (sub (t' y) (mul (cmass_at S' u) (p' u y))) | y <- es])).
  rewrite /= ea (mle mm) (m1 mm); case: leP => _; first by rewrite (m0 mm).
  rewrite (mV mm) (mB mm) (m1 mm) (csumE mm esE); congr (_ / _); apply: eq_bigr => y _.
  by rewrite (cposE mm) (mB mm) (mM mm) sa pE et.
split=> v; rewrite /insert_samp /cinsert_samp /= er.
- by case: eqP => _; rewrite ?ea // (mM mm) sa.
- case: eqP => _ //=.
  case: (revealed S v) (crevealed S' v) (sr v) => [[[f w] t1]|] [[[f' w'] t1']|] //= [-> -> e].
  by rewrite (mM mm).
Qed.

Fixpoint same_history (h : history R V) (h' : chistory O V) : Prop :=
  match h, h' with
  | [::], [::] => True
  | i :: k, i' :: k' => [/\ i.1 = i'.1, same_slots mean [:: i.2] [:: i'.2] & same_history k k']
  | _, _ => False
  end.

Lemma same_state h h' : same_history h h' ->
  same_tree mean (flow_state p h).1 (cflow_state es p' h').1 /\
  same_masses (flow_state p h).2 (cflow_state es p' h').2.
Proof.
rewrite /flow_state /cflow_state.
pose start := (@empty R V, only_root R V); pose start' := (@cempty O V, conly_root O V).
have : same_tree mean start.1 start'.1 /\ same_masses start.2 start'.2.
  by split=> //; split=> //= v; case: eqP => _; rewrite ?(m0 mm) ?(m1 mm).
rewrite -/start -/start'; move: start start' => st st'.
elim: h h' st st' => [|[u c] h IH] [|[u' c'] h'] st st' // [ss sS] /= [<- sc sh]; apply: IH => //; split=> /=.
- exact: same_ins.
- case: c c' sc => [x|t x] [x'|t' x'] //=; first by move=> [<- _]; exact: same_det.
  by move=> [et <- _]; exact: same_samp.
Qed.

Lemma same_full s s' S S' n u : same_tree mean s s' -> same_masses S S' ->
  full p s S n u = mean (cfull es p' s' S' n u).
Proof.
move=> ss sS; have [sa _] := sS; elim: n u => [|n IH] u //=.
have e : \sum_y (if y \in toks s u then full p s S n (rcons u y) else untouched p S u y) =
  mean (csum [seq if y \in map (@ctok O V) (s' u) then cfull es p' s' S' n (rcons u y) else cuntouched p' S' u y
             | y <- es]).
  rewrite (csumE mm esE) /toks (same_toks (ss u)).
  by apply: eq_bigr => y _; case: ifP => _; [exact: IH|exact: same_untouched].
by move: (ss u); rewrite e; case: (s u) (s' u) => [|[x|t x] ?] [|[x'|t' x'] ?].
Qed.

Lemma same_weight s s' S S' u y : same_tree mean s s' -> same_masses S S' ->
  weight p D s S u y = mean (cweight es p' D s' S' u y).
Proof.
move=> ss sS; rewrite /weight /cweight /toks (same_toks (ss u)).
by case: ifP => _; [exact: same_full|exact: same_untouched].
Qed.

Lemma same_flow_walk s s' S S' n u : same_tree mean s s' -> same_masses S S' ->
  same mean eq (flow_walk p D s S n u) (cflow_walk es p' D s' S' n u).
Proof.
move=> ss sS; elim: n u => [//|n IH] u /=; split=> y; last first.
  by rewrite /toks (same_toks (ss u)); case: ifP.
rewrite (memo_law esE) (mV mm) (memo_law esE) (csumE mm esE) (same_weight _ _ ss sS).
by congr (_ / _); apply: eq_bigr => z _; rewrite (memo_law esE) (same_weight _ _ ss sS).
Qed.

Lemma same_planted_history l :
  same_history (planted (tail_law q K m) (map (map (@mean_slot O R mean V)) l)) (cplanted es q' K m l).
Proof.
elim: l => [//|[|c a] l IH] //=; rewrite (pre_mean mean); split=> //=.
rewrite /smp /tk /mean_slot /=; case: c.1.2 => //=; split=> //; exact: (tail_law_copy mm esE qE).
Qed.

(* In words: whatever order the kept nodes are inserted in, the copy draws from the same laws and returns the same. *)
Theorem same_flow_step (sorted : seq (cand R V) -> seq (cand R V)) (csorted : seq (ccand O V) -> seq (ccand O V)) :
  (forall l, sorted (map (map (@mean_slot O R mean V)) l) = map (map (@mean_slot O R mean V)) (csorted l)) ->
  same mean eq
    (bind (sample (tail_law q K m)
       (draft_kept (head q m) (has_sampled q K m) (proxy q m) (fill q K m) D B N))
       (fun l => flow p D (planted (tail_law q K m) (sorted l))))
    (cflow_step es p' D q' K m B N csorted).
Proof.
move=> so; rewrite draft_kept_parts.
apply: (same_bind (P := @same_cands O R mean V)) => [|l l' ->].
  exact: (same_sample (tail_law_copy mm esE qE K m)
    (same_draft (rheo_slots_copy mm esE qE K m) (by_value_mean mm) D B N)).
rewrite so; have [ss sS] := same_state (same_planted_history (csorted l')).
exact: same_flow_walk.
Qed.

(* In words: for every string y, the table of the copy holds the probability that one step with FlowVerification
   emits y. *)
Theorem flow_step_copy y :
  Pr (flow_run_step p q K m D B N) y = mean (prob y (flow_step_law es p' D q' K m B N)).
Proof. by apply: (Pr_law_of mm esE); exact: (same_flow_step (sorted := id)). Qed.
End Same.
