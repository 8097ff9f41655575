"""Which function of which public package is audited, as what, and how to say it on the command line."""

from __future__ import annotations

import importlib.metadata
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rheo_proof.audit.naming import load

FOLDER = "tests.audit.peers"
TABLES = (
    *("dyadic", "zeros", "disjoint", "short", "nan draft", "nan target"),
    *("R01", "R01-equal", "R12", "R16", "R20", "R28", "R39"),
)
"""The tables of the battery on which verdicts are recorded; `command` runs the whole battery."""


@dataclass(frozen=True)
class Peer:
    """One audited function: the package as it is installed, the call of ours that hands it the tables, the adapter.

    `verifier` names what is audited; the released packages compute in float32, so float64 tables are left out.
    `seeded`: it seeds a generator in each call, so that ordinary calls say nothing and none are made.
    """

    call: str
    package: str
    verifier: str
    adapter: str = "chain"
    options: dict[str, Any] = field(default_factory=dict)
    declared: str | None = None
    seeded: bool = False

    @property
    def name(self) -> str:
        """`peer_flashspec:flashspec` -> `flashspec`."""
        return self.call.partition(":")[2]

    @property
    def version(self) -> str | None:
        """The installed release; None where there is none."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def function(self) -> Callable[..., Any]:
        """The call, and with it the package, imported."""
        return load(f"{FOLDER}.{self.call}")

    @property
    def command(self) -> str:
        """The audit on the command line, from the root of the repository."""
        words = ["rheo-prove", "audit", f"{FOLDER}.{self.call}", "--adapter", self.adapter, "--dtype", "float32"]
        if "returns" in self.options:
            words += ["--returns", self.options["returns"]]
        for option, value in self.options.items():
            if option != "returns":
                words += ["--set", f"{option}={value}"]
        if self.declared is not None:
            words += ["--declare", self.declared]
        if self.seeded:
            words += ["--calls", "0"]
        return shlex.join(words)


STEP = {"returns": "tokens"}
PADDED = {"returns": "padded"}
NO_BONUS = {"returns": "padded", "bonus": False}

PEERS: tuple[Peer, ...] = (
    Peer("peer_transformers:transformers", "transformers", "generation.utils._speculative_sampling"),
    Peer(
        "peer_transformers:transformers_ensemble",
        "transformers",
        "generation.utils._speculative_sampling, assistant_ensemble_weight=0.5",
        declared="mix 1/2",
    ),
    Peer(
        "peer_transformers:transformers_single_position",
        "transformers",
        "generation.candidate_generator.SinglePositionMultiTokenCandidateGenerator, then _speculative_sampling",
        "step",
        STEP,
    ),
    Peer("peer_litgpt:litgpt", "litgpt", "generate.speculative_decoding.speculative_decoding", "step", STEP),
    Peer(
        "peer_vllm:vllm",
        "vllm",
        "model_executor.layers.rejection_sampler.RejectionSampler",
        options=PADDED,
    ),
    Peer(
        "peer_vllm:vllm_typical",
        "vllm",
        "model_executor.layers.typical_acceptance_sampler.TypicalAcceptanceSampler",
        options=PADDED,
        declared="typical acceptance",
    ),
    Peer(
        "peer_vllm_ascend:vllm_ascend",
        "vllm-ascend",
        "sample.rejection_sampler: sample_recovered_tokens, rejection_random_sample_pytorch",
        options=PADDED,
    ),
    Peer(
        "peer_vllm_ascend:vllm_ascend_ngram",
        "vllm-ascend",
        "sample.rejection_sampler, the same without draft rows",
        options=PADDED,
    ),
    Peer(
        "peer_sglang:sglang",
        "sglang",
        "srt.speculative.uno_utils._sparse_rejection_from_support",
    ),
    Peer(
        "peer_sglang:sglang_dspark",
        "sglang",
        "kernels.ops.speculative.dspark.blockwise_rejection.blockwise_rejection_torch",
        seeded=True,
    ),
    Peer("peer_flashspec:flashspec", "flashspec", "sampling.rejection.rejection_step"),
    Peer(
        "peer_flashspec:flashspec_without_bonus", "flashspec", "sampling.rejection.rejection_sample", options=NO_BONUS
    ),
    Peer(
        "peer_flashspec:flashspec_one_hot", "flashspec", "sampling.rejection.rejection_step_onehot, on sampled drafts"
    ),
    Peer(
        "peer_flashspec:flashspec_typical",
        "flashspec",
        "sampling.typical.typical_sample",
        options=NO_BONUS,
        declared="typical acceptance",
    ),
    Peer("peer_economize:economize", "economize", "decoding.verifiers.RejectionVerifier.verify", seeded=True),
    Peer(
        "peer_economize:economize_batch", "economize", "decoding.verifiers.RejectionVerifier.verify_batch", seeded=True
    ),
    Peer(
        "peer_economize:economize_tree",
        "economize",
        "decoding.verifiers.RejectionVerifier.verify_tree, on a chain",
        seeded=True,
    ),
    Peer(
        "peer_economize:economize_typical",
        "economize",
        "decoding.verifiers.TypicalVerifier.verify",
        declared="typical acceptance",
        seeded=True,
    ),
    Peer("peer_dflash:dflash", "dflash", "model._rejection_sample"),
    Peer(
        "peer_seqspecdecod:seqspecdecod_standard",
        "sequential-speculative-decoding",
        "seqspecdecod.standard_sd.standard_speculative_step",
        "step",
        STEP,
    ),
    Peer(
        "peer_seqspecdecod:seqspecdecod_naive",
        "sequential-speculative-decoding",
        "seqspecdecod.naive_hsd.naive_hsd_step",
        "step",
        STEP,
    ),
    Peer(
        "peer_seqspecdecod:seqspecdecod_capped",
        "sequential-speculative-decoding",
        "seqspecdecod.capped_hsd.capped_hsd_step",
        "step",
        STEP,
    ),
    Peer("peer_specdec:specdec", "specdec", "decoder.SpecDecoder: generate_small, verify", "step", STEP),
    Peer(
        "peer_speculative_decoding:speculative_decoding",
        "speculative-decoding",
        "speculative_decoding.speculative_decoding",
        "step",
        {"returns": "tokens", "loops": True},
    ),
    Peer("peer_mini_infer:mini_infer", "mini-infer", "speculative.verifier.speculative_step", "step", STEP),
    Peer("peer_rotalabs:rotalabs", "rotalabs-accel", "speculative.sampling.rejection_sample"),
    Peer("peer_rotalabs:rotalabs_chain", "rotalabs-accel", "speculative.core.verify_tokens", "step", STEP),
    Peer("peer_rotalabs:rotalabs_eagle", "rotalabs-accel", "speculative.eagle.eagle_verify", "step", STEP),
    Peer("peer_csaq:csaq", "csaq-quant", "inference.CSAQInferenceEngine._generate_speculative", "step", STEP),
    Peer("peer_eagle:eagle", "eagle-llm", "model.utils.evaluate_posterior, temperature 1", "step", STEP),
    Peer("peer_eagle:eagle_half", "eagle-llm", "model.utils.evaluate_posterior, temperature 1/2", "step", STEP),
    Peer(
        "peer_medusa:medusa",
        "medusa-llm",
        "model.utils.evaluate_posterior",
        "step",
        STEP,
        declared="typical acceptance",
    ),
)
