(* What the main theorems rest on. `make proofs` fails unless Coq answers "Closed under the global context" to every
   line: no axiom, no unproved statement. Laws are over any `realFieldType`, so not even the axioms of the reals. *)
From Rheo Require Import rheo_rule rrs_rule lossless predictable tables layered layered_lossless rheosampling ondemand
  generate soundness options slot_order generate_rules criterion negative martingale fair_martingale flow_law flow_lossless
  layered_history flow_chain
  gain predictable_tau flow_sampling flow_sound flow_small flow_options negative_rrs_tail.
From Rheo Require Import copies copied_flow copied_options negative_trees negative_bottom_up negative_flow.

Print Assumptions lossless.
Print Assumptions lossless_string.
Print Assumptions predictable_policy.
Print Assumptions predictable_lossless.
Print Assumptions layered_predictable.
Print Assumptions layered_lossless.
Print Assumptions rheo_lossless.
Print Assumptions rrs_lossless.
Print Assumptions onehot_lossless.
Print Assumptions run_lossless.
Print Assumptions rheo_generate.
Print Assumptions onehot_generate.
Print Assumptions rrs_generate.
Print Assumptions rrsw_generate.
Print Assumptions run_generate.
Print Assumptions rheo_fair.
Print Assumptions onehot_fair.
Print Assumptions rrs_fair.
Print Assumptions run_sound.
Print Assumptions factors_lossless.
Print Assumptions options_rheo_lossless.
Print Assumptions options_onehot_lossless.
Print Assumptions options_rrs_inserted_lossless.
Print Assumptions options_rheo_generate.
Print Assumptions slot_order_agrees.
Print Assumptions rrs_slot_order_lossless.
Print Assumptions rrsw_paper_proxy_lossless.
Print Assumptions prefix_criterion.
Print Assumptions prefix_criterion_emitted.
Print Assumptions peek_biased.
Print Assumptions martingale_lossless.
Print Assumptions rheo_martingale.
Print Assumptions rrs_martingale.
Print Assumptions onehot_martingale.
Print Assumptions flow_martingale.
Print Assumptions flow_lossless.
Print Assumptions layered_martingale.
Print Assumptions flow_chain_block.
Print Assumptions expected_tau.
Print Assumptions predictable_tau.
Print Assumptions gain_bound.
Print Assumptions flow_gain.
Print Assumptions flow_run_lossless.
Print Assumptions flow_generate.
Print Assumptions flow_run_sound.
Print Assumptions head_first_biased.
Print Assumptions short_emits.
Print Assumptions options_flow_lossless.
Print Assumptions options_flow_generate.
Print Assumptions rrsw_tail_proxy_biased.
Print Assumptions kept_copy.
Print Assumptions build_copy.
Print Assumptions tree_law_copy.
Print Assumptions rheo_step_copy.
Print Assumptions rrs_step_copy.
Print Assumptions onehot_step_copy.
Print Assumptions flow_step_copy.
Print Assumptions own_probability_biased.
Print Assumptions tail_probability_biased.
Print Assumptions low_proxy_biased.
Print Assumptions tie_by_token_biased.
Print Assumptions verify_full_q_biased.
Print Assumptions bottom_up_biased.
Print Assumptions flow_depth_first_biased.
Print Assumptions flow_layers_biased.
Print Assumptions option_rheo_step_copy.
Print Assumptions option_tree_copy.
