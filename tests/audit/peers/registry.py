"""Which function of which public package is audited, as what, and how to say it on the command line."""

from __future__ import annotations

import importlib.metadata
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rheo_proof.audit.naming import load

FOLDER = "tests.audit.peers"


@dataclass(frozen=True)
class Peer:
    """One audited function: the package as it is installed, the call of ours that hands it the tables, the adapter.

    `verifier` names what is audited; the released packages compute in float32, so float64 tables are left out.
    """

    call: str
    package: str
    verifier: str
    adapter: str = "chain"
    options: dict[str, Any] = field(default_factory=dict)
    declared: str | None = None
    loose: bool = False

    @property
    def name(self) -> str:
        """`chains:flashspec` -> `flashspec`."""
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
        """The call, imported; the package itself is imported when it is called."""
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
        return shlex.join(words)


STEP = {"returns": "tokens"}
PADDED = {"returns": "padded"}
NO_BONUS = {"returns": "padded", "bonus": False}

PEERS: tuple[Peer, ...] = (
    Peer("chains:transformers", "transformers", "generation.utils._speculative_sampling"),
    Peer(
        "chains:transformers_ensemble",
        "transformers",
        "generation.utils._speculative_sampling, assistant_ensemble_weight=0.5",
        declared="mix 1/2",
    ),
    Peer(
        "steps:transformers_single_position",
        "transformers",
        "generation.candidate_generator.SinglePositionMultiTokenCandidateGenerator, then _speculative_sampling",
        "step",
        STEP,
    ),
    Peer("steps:litgpt", "litgpt", "generate.speculative_decoding.speculative_decoding", "step", STEP),
    Peer(
        "chains:vllm_0_8",
        "vllm",
        "model_executor.layers.rejection_sampler.RejectionSampler",
        options=PADDED,
        loose=True,
    ),
    Peer(
        "chains:vllm_0_8_typical",
        "vllm",
        "model_executor.layers.typical_acceptance_sampler.TypicalAcceptanceSampler",
        options=PADDED,
        declared="typical acceptance",
        loose=True,
    ),
    Peer(
        "chains:vllm_ascend",
        "vllm-ascend",
        "sample.rejection_sampler: sample_recovered_tokens, rejection_random_sample_pytorch",
        options=PADDED,
        loose=True,
    ),
    Peer(
        "chains:vllm_ascend_ngram",
        "vllm-ascend",
        "sample.rejection_sampler, the same without draft rows",
        options=PADDED,
        loose=True,
    ),
    Peer(
        "chains:sglang",
        "sglang",
        "srt.speculative.uno_utils._sparse_rejection_from_support",
        loose=True,
    ),
    Peer(
        "chains:sglang_dspark",
        "sglang",
        "kernels.ops.speculative.dspark.blockwise_rejection.blockwise_rejection_torch",
        loose=True,
    ),
    Peer("chains:flashspec", "flashspec", "sampling.rejection.rejection_step"),
    Peer("chains:flashspec_without_bonus", "flashspec", "sampling.rejection.rejection_sample", options=NO_BONUS),
    Peer("chains:flashspec_one_hot", "flashspec", "sampling.rejection.rejection_step_onehot, on sampled drafts"),
    Peer(
        "chains:flashspec_typical",
        "flashspec",
        "sampling.typical.typical_sample",
        options=NO_BONUS,
        declared="typical acceptance",
    ),
    Peer("chains:economize", "economize", "decoding.verifiers.RejectionVerifier.verify"),
    Peer("chains:economize_batch", "economize", "decoding.verifiers.RejectionVerifier.verify_batch"),
    Peer("chains:economize_tree", "economize", "decoding.verifiers.RejectionVerifier.verify_tree, on a chain"),
    Peer(
        "chains:economize_typical",
        "economize",
        "decoding.verifiers.TypicalVerifier.verify",
        declared="typical acceptance",
    ),
    Peer("chains:dflash", "dflash", "model._rejection_sample"),
    Peer(
        "steps:seqspecdecod_standard",
        "sequential-speculative-decoding",
        "seqspecdecod.standard_sd.standard_speculative_step",
        "step",
        STEP,
    ),
    Peer(
        "steps:seqspecdecod_naive",
        "sequential-speculative-decoding",
        "seqspecdecod.naive_hsd.naive_hsd_step",
        "step",
        STEP,
    ),
    Peer(
        "steps:seqspecdecod_capped",
        "sequential-speculative-decoding",
        "seqspecdecod.capped_hsd.capped_hsd_step",
        "step",
        STEP,
    ),
    Peer("steps:specdec", "specdec", "decoder.SpecDecoder: generate_small, verify", "step", STEP),
    Peer(
        "steps:speculative_decoding",
        "speculative-decoding",
        "speculative_decoding.speculative_decoding",
        "step",
        {"returns": "tokens", "loops": True},
    ),
    Peer("steps:mini_infer", "mini-infer", "speculative.verifier.speculative_step", "step", STEP),
    Peer("chains:rotalabs", "rotalabs-accel", "speculative.sampling.rejection_sample"),
    Peer("steps:rotalabs_chain", "rotalabs-accel", "speculative.core.verify_tokens", "step", STEP),
    Peer("steps:rotalabs_eagle", "rotalabs-accel", "speculative.eagle.eagle_verify", "step", STEP),
    Peer("steps:csaq", "csaq-quant", "inference.CSAQInferenceEngine._generate_speculative", "step", STEP),
    Peer("trees:eagle", "eagle-llm", "model.utils.evaluate_posterior, temperature 1", "step", STEP),
    Peer("trees:eagle_half", "eagle-llm", "model.utils.evaluate_posterior, temperature 1/2", "step", STEP),
    Peer(
        "trees:medusa",
        "medusa-llm",
        "model.utils.evaluate_posterior",
        "step",
        STEP,
        declared="typical acceptance",
    ),
)
