(* One decoding step with its parts as parameters: slots, ranking, law drawn from, law told to the verification.

   With the parts of sections 3 and 4 it is `run_step`, by definition; a fault is one other part.  The copy computes. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Rheo Require Import programs rules trees policies predictable rank_order construction rheosampling ondemand.
From Rheo Require Import numbers computing copied_rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* ---------- The step ---------- *)
Section Parts.
Variables (R : realFieldType) (V : finType).
Notation prefix := (seq V).
Notation cand := (cand R V).
Variable slots_of : prefix -> V -> seq (slotd R V).    (* slots of a node, given X *)
Variable rank : seq cand -> seq cand.                  (* best first *)
Variables drawn told : prefix -> V -> R.               (* law X is drawn from; law that verification is told *)
Variables (D B N : nat).

Fixpoint expand_parts (beam : seq cand) : asks V (seq cand) :=
  match beam with
  | [::] => QRet V [::]
  | a :: beam' => Ask (pre a) (fun x => qbind (expand_parts beam') (fun l =>
      QRet V ([seq s :: a | s <- slots_of (pre a) x] ++ l)))
  end.
Fixpoint layers_parts (n : nat) (last all : seq cand) : asks V (seq cand) :=
  match n with
  | 0 => QRet V all
  | n'.+1 => qbind (expand_parts (take B (rank last))) (fun new => layers_parts n' new (all ++ new))
  end.
Definition draft_parts : asks V (seq cand) :=
  qbind (layers_parts D [:: [::]] [::]) (fun all => QRet V (take N (rank all))).
Definition tree_parts (l : seq cand) : tree R V := foldl (plant told) (@empty R V) l.

Variables (ver : rule R V) (p : prefix -> V -> R).
Definition step_parts : prog R V prefix :=
  bind (sample drawn draft_parts) (fun l => walk ver p D.+1 (tree_parts l) [::]).
Definition decode_parts (L : nat) : prog R V prefix :=
  bind step_parts (fun w => complete p (L - size w) w).
End Parts.

(* In words: with the slots of section 4 and its ranking by value, this is the draft of `ondemand.v`. *)
Lemma draft_kept_parts (R : realFieldType) (V : finType) head hasS proxy fill D B N :
  @draft_kept R V head hasS proxy fill D B N = draft_parts (slots head hasS proxy fill) (@by_value R V) D B N.
Proof. by []. Qed.

(* In words: with the slots of section 3, values ranked as in section 4 and the tail law for both laws, this is the
   step that the theorems of `ondemand.v` speak about. *)
Lemma run_step_parts (R : realFieldType) (V : finType) (p q : seq V -> V -> R) K m D B N ver :
  run_step p q K m D B N ver =
  step_parts (slots (head q m) (has_sampled q K m) (proxy q m) (fill q K m)) (@by_value R V)
    (tail_law q K m) (tail_law q K m) D B N ver p.
Proof. by []. Qed.

(* ---------- Its copy ---------- *)
Section Copies.
Variables (O : ops) (V : finType).
Notation prefix := (seq V).

Definition cslotd : Type := (O * nat * bool * V)%type.
Definition ccand := seq cslotd.
Definition cpre (a : ccand) : prefix := rev (map snd a).
Fixpoint cvalue (a : ccand) : O := if a is s :: a' then mul (cvalue a') s.1.1.1 else one O.
Definition best_by (T : Type) (key : ccand -> T) (r : rel T) (l : seq ccand) : seq ccand :=
  map snd (sort (fun a b => r a.1 b.1) [seq (key a, a) | a <- l]).
Definition cby_value : seq ccand -> seq ccand := best_by cvalue (fun v w => leb w v).

Variable slots_of : prefix -> V -> seq cslotd.
Variable rank : seq ccand -> seq ccand.
Variables drawn told : prefix -> V -> O.
Variables (D B N : nat).

Fixpoint cexpand (beam : seq ccand) : asks V (seq ccand) :=
  match beam with
  | [::] => QRet V [::]
  | a :: beam' => Ask (cpre a) (let s_of := slots_of (cpre a) in fun x => qbind (cexpand beam') (fun l =>
      QRet V ([seq s :: a | s <- s_of x] ++ l)))
  end.
Fixpoint clayers (n : nat) (last all : seq ccand) : asks V (seq ccand) :=
  match n with
  | 0 => QRet V all
  | n'.+1 => qbind (cexpand (take B (rank last))) (fun new => clayers n' new (all ++ new))
  end.
Definition cdraft : asks V (seq ccand) :=
  qbind (clayers D [:: [::]] [::]) (fun all => QRet V (take N (rank all))).

Fixpoint csample A (c : asks V A) : comp O V A :=
  match c with QRet a => CRet O V a | Ask u k => CDraw (drawn u) (fun x => csample (k x)) end.
Definition cplant (s : ctree O V) (a : ccand) : ctree O V :=
  if a is c :: a' then cins s (cpre a') (if c.1.2 then CSamp (told (cpre a')) c.2 else CDet c.2) else s.

Variables (ver : crule O V) (p : prefix -> V -> O).
Definition cstep : comp O V prefix :=
  cbind (csample cdraft) (fun l => cwalk ver p D.+1 (foldl cplant (@cempty O V) l) [::]).
Definition cdecode (L : nat) : comp O V prefix :=
  cbind cstep (fun w => ccomplete p (L - size w) w).
End Copies.

(* ---------- The copy is the step ---------- *)
Section Same.
Variables (O : ops) (R : realFieldType) (m : O -> R) (mm : meaning m) (V : finType).
Notation prefix := (seq V).

Definition mean_slot (s : cslotd O V) : slotd R V := (m s.1.1.1, s.1.1.2, s.1.2, s.2).
Notation mean_cand := (map mean_slot).

Lemma sort_ext (T : Type) (r r' : rel T) l : r =2 r' -> sort r l = sort r' l.
Proof.
move=> e; rewrite !sortE.
have em : forall a b, merge r a b = merge r' a b.
  elim=> [//|x a IH]; elim=> [//|y b IHb] /=.
  by rewrite e IH; case: ifP => // _; congr (_ :: _); exact: IHb.
have push : forall ss a, merge_sort_push r a ss = merge_sort_push r' a ss.
  by elim=> [//|[|y b] ss IH] a //=; rewrite -[merge r (y :: b) a]/(merge r (y :: b) a) em IH.
elim: l [::] => [|x l IH] ss /=; last by rewrite push IH.
by elim: ss [::] => [//|b ss IH] a /=; rewrite em IH.
Qed.

Lemma pre_mean a : pre (mean_cand a) = cpre a.
Proof. by rewrite /pre /cpre -map_comp. Qed.

Lemma value_mean a : value (mean_cand a) = m (cvalue a).
Proof. by elim: a => [|s a IH] /=; rewrite ?(m1 mm) // IH (mM mm). Qed.

Lemma best_byE (T : Type) (key : ccand O V -> T) r l : best_by key r l = sort (fun a b => r (key a) (key b)) l.
Proof. by rewrite /best_by sort_map -map_comp map_id. Qed.

Lemma by_value_mean l : by_value (map mean_cand l) = map mean_cand (cby_value l).
Proof.
rewrite /by_value sort_map /cby_value best_byE; congr map; apply: sort_ext => a b /=.
by rewrite (mle mm) !value_mean.
Qed.

Fixpoint same_asks A A' (P : A -> A' -> Prop) (c : asks V A) (c' : asks V A') : Prop :=
  match c, c' with
  | QRet a, QRet a' => P a a'
  | Ask u k, Ask u' k' => u = u' /\ forall x, same_asks P (k x) (k' x)
  | _, _ => False
  end.

Lemma same_qbind A A' C C' (P : A -> A' -> Prop) (Q : C -> C' -> Prop) c c' g g' :
  same_asks P c c' -> (forall a a', P a a' -> same_asks Q (g a) (g' a')) ->
  same_asks Q (qbind c g) (qbind c' g').
Proof.
move=> + H; elim: c c' => [a|u k IH] [a'|u' k'] //=; first exact: H.
by move=> [uu K]; split=> // x; exact: IH.
Qed.

Lemma same_answer A A' (P : A -> A' -> Prop) c c' T : same_asks P c c' -> P (answer c T) (answer c' T).
Proof. by elim: c c' => [a|u k IH] [a'|u' k'] //= [<- K]; exact: IH. Qed.

Definition same_cands (l : seq (cand R V)) (l' : seq (ccand O V)) : Prop := l = map mean_cand l'.

Variables (slots_of : prefix -> V -> seq (slotd R V)) (cslots_of : prefix -> V -> seq (cslotd O V)).
Hypothesis slotsE : forall u x, slots_of u x = map mean_slot (cslots_of u x).
Variables (rank : seq (cand R V) -> seq (cand R V)) (crank : seq (ccand O V) -> seq (ccand O V)).
Hypothesis rankE : forall l, rank (map mean_cand l) = map mean_cand (crank l).
Variables (drawn told : prefix -> V -> R) (cdrawn ctold : prefix -> V -> O).
Hypothesis drawnE : forall u, same_law m (drawn u) (cdrawn u).
Hypothesis toldE : forall u, same_law m (told u) (ctold u).
Variables (D B N : nat).

Lemma same_expand beam : same_asks same_cands (expand_parts slots_of (map mean_cand beam)) (cexpand cslots_of beam).
Proof.
elim: beam => [//|a beam IH] /=; split=> [|x]; first exact: pre_mean.
apply: same_qbind IH _ => l l' ->; rewrite /= /same_cands map_cat pre_mean slotsE -!map_comp.
by [].
Qed.

Lemma same_layers n last all : same_asks same_cands
  (layers_parts slots_of rank B n (map mean_cand last) (map mean_cand all)) (clayers cslots_of crank B n last all).
Proof.
elim: n last all => [//|n IH] last all /=.
rewrite rankE -map_take; apply: same_qbind (same_expand _) _ => l l' ->.
by rewrite -map_cat; exact: IH.
Qed.

(* In words: if slots and ranking have copies, the copy of the draft asks for the same draws and keeps the same. *)
Theorem same_draft : same_asks same_cands (draft_parts slots_of rank D B N) (cdraft cslots_of crank D B N).
Proof.
apply: same_qbind (same_layers D [:: [::]] [::]) _ => l l' -> /=.
by rewrite /same_cands rankE map_take.
Qed.

Lemma same_sample A A' (P : A -> A' -> Prop) c c' :
  same_asks P c c' -> same m P (sample drawn c) (csample cdrawn c').
Proof.
elim: c c' => [a|u k IH] [a'|u' k'] //= [<- K]; split=> [|x]; first exact: drawnE.
exact: IH.
Qed.

Lemma same_planted l : same_tree m (tree_parts told (map mean_cand l)) (foldl (cplant ctold) (@cempty O V) l).
Proof.
rewrite /tree_parts; elim/last_ind: l => [//|l [|s a] IH]; rewrite map_rcons !foldl_rcons //=.
rewrite pre_mean; apply: same_ins => //; rewrite /smp /tk /mean_slot /=.
by case: s.1.2 => //=; split.
Qed.

Variables (ver : rule R V) (ver' : crule O V) (p : prefix -> V -> R) (p' : prefix -> V -> O).
Hypothesis verE : same_rule m ver ver'.
Hypothesis pE : forall u, same_law m (p u) (p' u).

(* In words: the copy of the step, made of copies of its parts, draws from the same laws and returns
   the same strings. *)
Theorem same_step : same m eq (step_parts slots_of rank drawn told D B N ver p)
  (cstep cslots_of crank cdrawn ctold D B N ver' p').
Proof.
apply: same_bind (same_sample same_draft) _ => l l' ->.
exact: (same_walk verE pE) (same_planted _).
Qed.

(* In words: the same for the completed output. *)
Theorem same_decode L : same m eq (decode_parts slots_of rank drawn told D B N ver p L)
  (cdecode cslots_of crank cdrawn ctold D B N ver' p' L).
Proof. by apply: same_bind same_step _ => w _ <-; exact: same_complete. Qed.
End Same.
Arguments by_value_mean {O R m} mm {V} l.
