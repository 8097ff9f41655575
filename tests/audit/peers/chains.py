"""Packages whose verifier is given a drafted chain: draft tokens [K], draft rows [K, V], target rows [K + 1, V].

Every function returns the tokens that come of it. Rows are handed over as probabilities; a package that wants logits or
log-probabilities gets their logarithms.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from tests.audit.peers.hollow import load


def _joined(draft_tokens: torch.Tensor, accepted: torch.Tensor | int, following: torch.Tensor | int) -> list[int]:
    """The accepted tokens and the one after them."""
    return [*draft_tokens.tolist()[: int(accepted)], int(following)]


def transformers(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> torch.Tensor:
    """transformers.generation.utils._speculative_sampling, which `generate` calls for assisted decoding."""
    from transformers.generation.utils import _speculative_sampling

    tokens, _ = _speculative_sampling(
        draft_tokens.unsqueeze(0),
        draft_probs.log().unsqueeze(0),
        len(draft_tokens),
        target_probs.log().unsqueeze(0),
    )
    return tokens[0]


def transformers_ensemble(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor
) -> torch.Tensor:
    """The same with `assistant_ensemble_weight` 1/2, documented to verify against a mixture of draft and target."""
    from transformers.generation.utils import _speculative_sampling

    tokens, _ = _speculative_sampling(
        draft_tokens.unsqueeze(0),
        draft_probs.log().unsqueeze(0),
        len(draft_tokens),
        target_probs.log().unsqueeze(0),
        assistant_ensemble_weight=0.5,
    )
    return tokens[0]


def flashspec(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """flashspec.sampling.rejection.rejection_step: accepted drafts, then the residual or the bonus token."""
    from flashspec.sampling.rejection import rejection_step

    (accepted, following) = rejection_step(
        draft_tokens.unsqueeze(0), draft_probs.log().unsqueeze(0), target_probs.log().unsqueeze(0)
    )[0].tolist()
    return _joined(draft_tokens, accepted, following)


def flashspec_without_bonus(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor
) -> torch.Tensor:
    """flashspec.sampling.rejection.rejection_sample: padded with -1, no bonus token."""
    from flashspec.sampling.rejection import rejection_sample

    tokens, _, _ = rejection_sample(
        torch.zeros(1, 1, dtype=torch.long),
        draft_probs.log().unsqueeze(0),
        target_probs[:-1].log().unsqueeze(0),
        draft_tokens.unsqueeze(0),
        len(draft_tokens),
    )
    return tokens[0]


def flashspec_one_hot(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """flashspec.sampling.rejection.rejection_step_onehot, here on sampled drafts: it never reads their rows."""
    from flashspec.sampling.rejection import rejection_step_onehot

    (accepted, following) = rejection_step_onehot(draft_tokens.unsqueeze(0), target_probs.log().unsqueeze(0))[
        0
    ].tolist()
    return _joined(draft_tokens, accepted, following)


def flashspec_typical(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor
) -> torch.Tensor:
    """flashspec.sampling.typical.typical_sample at its default mass 0.9: padded with -1, no bonus token."""
    from flashspec.sampling.typical import typical_sample

    tokens, _, _ = typical_sample(
        draft_probs.log().unsqueeze(0),
        target_probs[:-1].log().unsqueeze(0),
        draft_tokens.unsqueeze(0),
        len(draft_tokens),
    )
    return tokens[0]


def _economize(name: str) -> tuple[Any, Any]:
    """A verifier of economize and its sampler at temperature 1, whole vocabulary."""
    from economize.decoding import DecodeConfig, TopPSampler, verifiers

    verifier = {"rejection": verifiers.RejectionVerifier, "typical": verifiers.TypicalVerifier}[name]
    return verifier(DecodeConfig(verifier=name)), TopPSampler()


def economize(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.RejectionVerifier.verify, one row at a time."""
    verifier, selector = _economize("rejection")
    history = torch.zeros(len(draft_tokens) + 1, dtype=torch.long)
    accepted, following = verifier.verify(target_probs.log(), draft_tokens.tolist(), draft_probs, selector, history, 1)
    return _joined(draft_tokens, accepted, following)


def economize_batch(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.RejectionVerifier.verify_batch, all rows at once."""
    from economize.decoding.protocols import Draft

    verifier, selector = _economize("rejection")
    drafted = Draft(draft_tokens.unsqueeze(0), [len(draft_tokens)], probs=draft_probs.unsqueeze(0))
    accepted, following = verifier.verify_batch(
        target_probs.log().unsqueeze(0), drafted, selector, torch.zeros(1, 1, dtype=torch.long), [1]
    )
    return _joined(draft_tokens, accepted[0], following[0])


def economize_tree(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.RejectionVerifier.verify_tree on a chain."""
    from economize.decoding.protocols import Draft

    verifier, selector = _economize("rejection")
    parents = torch.arange(-1, len(draft_tokens) - 1).unsqueeze(0)
    drafted = Draft(draft_tokens.unsqueeze(0), [len(draft_tokens)], parents, draft_probs.unsqueeze(0))
    paths, following = verifier.verify_tree(target_probs.log().unsqueeze(0), drafted, selector)
    return _joined(draft_tokens, len(paths[0]), following[0])


def economize_typical(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """economize.decoding.verifiers.TypicalVerifier.verify, documented as lossy."""
    verifier, selector = _economize("typical")
    history = torch.zeros(len(draft_tokens) + 1, dtype=torch.long)
    accepted, following = verifier.verify(target_probs.log(), draft_tokens.tolist(), None, selector, history, 1)
    return _joined(draft_tokens, accepted, following)


def dflash(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """dflash.model._rejection_sample: accepted drafts, then the residual or the bonus token."""
    from dflash.model import _rejection_sample

    accepted, following = _rejection_sample(
        draft_tokens.unsqueeze(0), target_probs.unsqueeze(0), draft_probs.unsqueeze(0)
    )
    return _joined(draft_tokens, accepted, following)


def rotalabs(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """rotalabs_accel.speculative.sampling.rejection_sample, called in a loop that stops at the first rejection."""
    from rotalabs_accel.speculative.sampling import rejection_sample

    emitted: list[int] = []
    for token, q, p in zip(draft_tokens, draft_probs, target_probs[:-1], strict=True):
        accepted, following = rejection_sample(p[token], q[token], token, p.log())
        emitted.append(int(following))
        if not accepted:
            return emitted
    return [*emitted, int(torch.multinomial(target_probs[-1], 1))]


def vllm_0_8(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """vllm.model_executor.layers.rejection_sampler.RejectionSampler, of releases before 0.9.2: padded with -1."""
    sampler = _vllm("vllm.model_executor.layers.rejection_sampler").RejectionSampler(use_flashinfer=False)
    return _vllm_forward(sampler, draft_tokens, draft_probs, target_probs, bonus_token)


def vllm_0_8_typical(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """vllm.model_executor.layers.typical_acceptance_sampler.TypicalAcceptanceSampler, thresholds 0.09 and 0.3."""
    module = _vllm("vllm.model_executor.layers.typical_acceptance_sampler")
    sampler = module.TypicalAcceptanceSampler(posterior_threshold=0.09, posterior_alpha=0.3)
    return _vllm_forward(sampler, draft_tokens, draft_probs, target_probs, bonus_token)


def _vllm_forward(
    sampler: Any, tokens: torch.Tensor, q: torch.Tensor, p: torch.Tensor, bonus: torch.Tensor
) -> torch.Tensor:
    """One request through a sampler of vLLM 0.8."""
    sampler.init_gpu_tensors("cpu")
    return sampler.forward(p.unsqueeze(0), bonus.reshape(1, 1), q.unsqueeze(0), tokens.unsqueeze(0))[0]


@cache
def _vllm(module: str) -> ModuleType:
    """A module of vLLM 0.8 without its engine; the platform only says which compiler to use: none."""
    platform = SimpleNamespace(simple_compile_backend="eager", device_type="cpu")
    return load(module, {"vllm.platforms": {"current_platform": platform}, "vllm.logger": {"init_logger": _no_logger}})


def _no_logger(_: str) -> SimpleNamespace:
    return SimpleNamespace(info=lambda *_: None)


def vllm_ascend(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """vllm_ascend.sample.rejection_sampler: the two PyTorch functions that `rejection_sample` calls without Triton."""
    return _ascend(draft_tokens, draft_probs, target_probs, bonus_token)


def vllm_ascend_ngram(
    draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor, bonus_token: torch.Tensor
) -> torch.Tensor:
    """The same for drafts that come without rows, as from n-grams."""
    return _ascend(draft_tokens, None, target_probs, bonus_token)


def _ascend(tokens: torch.Tensor, q: torch.Tensor | None, p: torch.Tensor, bonus: torch.Tensor) -> torch.Tensor:
    """One request through the samplers of vllm-ascend; the acceptance coins are drawn here, in double precision."""
    module = _vllm_ascend()
    length, vocab = len(tokens), p.shape[-1]
    ends = torch.tensor([length])
    recovered = module.sample_recovered_tokens(
        length, [length], ends, tokens, q, p[:-1], SimpleNamespace(generators={}), torch.device("cpu")
    )
    emitted = torch.full((1, length + 1), -1, dtype=torch.int32)
    uniforms = torch.rand(length, dtype=torch.float64)
    greedy = torch.tensor([False])
    module.rejection_random_sample_pytorch(
        emitted,
        ends,
        tokens,
        q,
        p[:-1],
        bonus.reshape(1),
        recovered,
        uniforms,
        greedy,
        length,
        vocab,
        IS_NGRAM=q is None,
    )
    return emitted[0]


@cache
def _vllm_ascend() -> ModuleType:
    """The module without vLLM and without the accelerator."""
    sampler = {"GREEDY_TEMPERATURE": 0, "MAX_SPEC_LEN": 128, "PLACEHOLDER_TOKEN_ID": -1, "RejectionSampler": object}
    stand_ins: dict[str, dict[str, Any]] = {
        "vllm.triton_utils": {"HAS_TRITON": False},
        "vllm.v1.sample.rejection_sampler": sampler,
    }
    for name in (
        "vllm.distributed.parallel_state",
        "vllm.logger",
        "vllm.v1.outputs",
        "vllm.v1.sample.logits_processor.builtin",
        "vllm.v1.sample.metadata",
        "vllm.v1.sample.ops.bad_words",
        "vllm.v1.sample.sampler",
        "vllm.v1.spec_decode.metadata",
        "vllm_ascend.ascend_config",
        "vllm_ascend.ops.triton.reject_sample",
        "vllm_ascend.sample.penalties",
        "vllm_ascend.sample.sampler",
        "vllm_ascend.utils",
    ):
        stand_ins[name] = {}
    return load("vllm_ascend.sample.rejection_sampler", stand_ins)


def sglang(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """sglang.srt.speculative.uno_utils._sparse_rejection_from_support, with the two draws of its caller."""
    length, vocab = draft_probs.shape
    ids = torch.arange(vocab)
    accepted, following = _sglang()._sparse_rejection_from_support(
        torch.cat([torch.zeros(1, dtype=torch.long), draft_tokens]).unsqueeze(0),
        ids.expand(1, length + 1, vocab),
        target_probs.unsqueeze(0),
        ids.expand(1, length, vocab),
        draft_probs.unsqueeze(0),
        torch.rand((1, length + 1)),
        torch.rand((1,)),
    )
    return _joined(draft_tokens, accepted[0], following[0])


@cache
def _sglang() -> ModuleType:
    """The module without the engine and its kernels."""
    names = (
        "flashinfer",
        "sglang.kernels.ops.speculative.reject_sampling",
        "sglang.srt.speculative.dflash_utils",
        "sglang.srt.speculative.spec_utils",
    )
    return load("sglang.srt.speculative.uno_utils", {name: {} for name in names})


def sglang_dspark(draft_tokens: torch.Tensor, draft_probs: torch.Tensor, target_probs: torch.Tensor) -> list[int]:
    """sglang.kernels.ops.speculative.dspark.blockwise_rejection.blockwise_rejection_torch, its path off the GPU."""
    module = _sglang_dspark()
    one = torch.ones(1)
    accepted, following, _ = module.blockwise_rejection_torch(
        candidates=torch.cat([torch.zeros(1, dtype=torch.long), draft_tokens]).unsqueeze(0),
        target_logits=target_probs.log(),
        draft_logits=draft_probs.log().unsqueeze(0),
        target_temperatures=one,
        draft_temperatures=one,
        noise=module.make_rejection_noise(0, "cpu"),
    )
    return _joined(draft_tokens, accepted[0], following[0])


@cache
def _sglang_dspark() -> ModuleType:
    """The module without Triton: its kernels are defined and never launched."""
    stand_ins: dict[str, dict[str, Any]] = {
        "triton": {"jit": lambda kernel: kernel},
        "triton.language": {"constexpr": lambda value: value},
        "triton.language.extra": {},
        "sglang.kernels.ops.speculative.dspark.dispatch": {},
    }
    return load("sglang.kernels.ops.speculative.dspark.blockwise_rejection", stand_ins)
