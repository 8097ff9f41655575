"""How public verifiers draw random numbers and look at them, one small function each, with the law it must have.

`law` maps what the function returns to its probability; None says that the auditor must refuse, and `refusal` what it
must say. The functions run unchanged outside of an audit, too. They import nothing of the package.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import random as imported_earlier
from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import rand as torch_rand

F = Fraction
HALF = F(1, 2)


@dataclass(frozen=True)
class Idiom:
    """One row of the page."""

    family: str
    code: str
    function: Callable[[], Any]
    law: Mapping[Any, Fraction] | None
    refusal: str = ""


IDIOMS: list[Idiom] = []


def idiom(family: str, code: str, law: Mapping[Any, Fraction] | None, refusal: str = "") -> Callable[[Any], Any]:
    """Enter a function into the table."""

    def enter(function: Callable[[], Any]) -> Callable[[], Any]:
        IDIOMS.append(Idiom(family, code, function, law, refusal))
        return function

    return enter


def coin(p: Fraction) -> dict[Any, Fraction]:
    return {True: p, False: 1 - p}


# --- torch: uniforms and thresholds -------------------------------------------------------------------------------


@idiom("torch uniforms", "`torch.rand(k)`, `if u[i] < r[i]` in a loop that stops", {0: F(3, 4), 1: F(1, 8), 2: F(1, 8)})
def accept_until_rejected():
    u, r = torch.rand(2), torch.tensor([0.25, 0.5])
    n = 0
    for i in range(2):
        if not u[i] < r[i]:
            break
        n += 1
    return n


@idiom("torch uniforms", "`(u < r).cumprod(0).sum()`", {0: F(3, 4), 1: F(1, 8), 2: F(1, 8)})
def accepted_by_cumprod():
    accepted = torch.rand(2) < torch.tensor([0.25, 0.5])
    return int(accepted.int().cumprod(0).sum())


@idiom("torch uniforms", "`(~accepted).int().argmax()` behind a sentinel", {0: F(3, 4), 1: F(1, 8), 2: F(1, 8)})
def first_rejection_by_argmax():
    accepted = torch.rand(2) <= torch.tensor([0.25, 0.5])
    rejected = torch.cat([~accepted, torch.tensor([True])])
    return int(rejected.int().argmax())


@idiom("torch uniforms", "`torch.rand(1).item() < r`, the tensor on either side", coin(F(1, 4)))
def item_of_a_uniform():
    u = torch.rand(1).item()
    return bool(torch.tensor(0.25) > u)


@idiom("torch uniforms", "`float(torch.rand(()))`", coin(F(1, 4)))
def float_of_a_uniform():
    return float(torch.rand(())) < 0.25


@idiom("torch uniforms", "`from torch import rand`", coin(F(1, 4)))
def rand_imported_by_name():
    return bool(torch_rand(()) < 0.25)


@idiom("torch uniforms", "`torch.rand_like(ids, dtype=torch.float64)`", coin(F(1, 4)))
def rand_like_of_integers():
    return bool(torch.rand_like(torch.tensor([3, 1]), dtype=torch.float64)[1] >= 0.75)


@idiom("torch uniforms", "`buffer[i].uniform_()` on a slice", coin(F(1, 8)))
def uniform_in_a_slice():
    buffer = torch.zeros(2, 3)
    buffer[1].uniform_()
    row = buffer[1, 1:]
    return bool(row[0] < 0.25) and bool(buffer[1, 2] < 0.5) and bool(buffer[0, 0] == 0)


@idiom("torch uniforms", "`buffer[index, :] = torch.rand(...)`, looked at later", coin(F(1, 4)))
def assigned_rows():
    buffer = torch.ones(3, 2)
    buffer[torch.tensor([2, 0]), :] = torch.rand(2, 2)
    return bool(buffer[1, 0] == 1) and bool(buffer.flatten()[5] < 0.25)


@idiom("torch uniforms", "`u * q < p` and `p > u * q`", coin(F(3, 8)))
def scaled_by_the_draft():
    p, q, u = torch.tensor(0.1875), torch.tensor(0.5), torch.rand(())
    first = bool(u * q < p)
    return first and bool(p > u * q)


@idiom("torch uniforms", "`u.log() + q.log() < p.log()` after `clamp_min`", coin(F(1, 2)))
def in_logarithms():
    u = torch.rand((), dtype=torch.float64).clamp_min(1e-30)
    one = torch.tensor(1.0, dtype=torch.float64)
    return bool(u.log() + one.log() < (one - 0.5).log())


@idiom("torch uniforms", "one coin against a running sum over siblings", {0: F(1, 4), 1: F(1, 2), 2: F(1, 4)})
def one_coin_over_siblings():
    coin_, total = torch.rand(1)[0], torch.tensor(0.0)
    for child, mass in enumerate((0.25, 0.5)):
        total = total + mass
        if coin_ <= total:
            return child
    return 2


@idiom("torch uniforms", "`torch.searchsorted(p.cumsum(0), u, right=True)`", {0: F(1, 4), 1: F(1, 2), 2: F(1, 4)})
def inverse_cdf_by_searchsorted():
    cdf = torch.tensor([0.25, 0.5, 0.25]).cumsum(0)
    return int(torch.searchsorted(cdf, torch.rand(1), right=True).clamp_max(2))


@idiom("torch uniforms", "`(p.cumsum(-1) > u * total).int().argmax(-1)`", {0: F(1, 4), 1: F(1, 2), 2: F(1, 4)})
def inverse_cdf_by_argmax():
    cdf = torch.tensor([[0.5, 1.0, 0.5]]).cumsum(-1)
    return int((cdf > torch.rand(1, 1) * cdf[:, -1:]).int().argmax(-1)[0])


@idiom(
    "torch uniforms", "several uniforms scanned backwards, the last success wins", {0: F(3, 8), 1: F(1, 8), 2: F(1, 2)}
)
def last_success_wins():
    accepted = torch.rand(2) < torch.tensor([0.25, 0.5])
    where = torch.where(accepted, torch.arange(1, 3), torch.zeros(2, dtype=torch.long))
    return int(where.max())


@idiom("torch uniforms", "`torch.where(accepted, draft, recovered)`", {3: F(1, 4), 0: F(3, 8), 1: F(3, 8)})
def where_accepted():
    accepted = torch.rand(1) < 0.25
    recovered = torch.multinomial(torch.tensor([1.0, 1.0]), 1)
    return int(torch.where(accepted, torch.tensor([3]), recovered)[0])


@idiom("torch uniforms", "`(u * n).long()` as an index", {10: F(1, 4), 20: F(1, 4), 30: F(1, 2)})
def scaled_to_an_index():
    table = torch.tensor([10, 20, 30, 30])
    return int(table[(torch.rand(()) * 4).long()])


# --- torch: discrete draws ----------------------------------------------------------------------------------------


@idiom("torch draws", "`torch.multinomial(w, 1)` with weights that do not sum to 1", {0: F(1, 4), 2: F(3, 4)})
def multinomial_of_weights():
    return int(torch.multinomial(torch.tensor([0.5, 0.0, 1.5]), num_samples=1))


@idiom("torch draws", "`w.multinomial(2)`: ordered, without replacement", {(0, 1): F(1, 4), (1, 0): F(3, 4)})
def multinomial_without_replacement():
    return tuple(torch.tensor([[1.0, 3.0]]).multinomial(2)[0].tolist())


@idiom(
    "torch draws",
    "`torch.multinomial(w, 2, replacement=True)`",
    {(0, 0): F(1, 16), (0, 1): F(3, 16), (1, 0): F(3, 16), (1, 1): F(9, 16)},
)
def multinomial_with_replacement():
    return tuple(torch.multinomial(torch.tensor([1.0, 3.0]), 2, replacement=True).tolist())


@idiom("torch draws", "the draw compared with a candidate: sample and match", coin(F(3, 4)))
def sample_and_match():
    sampled = torch.multinomial(torch.tensor([[0.25, 0.75]]), 1).squeeze(-1)
    return bool((sampled == torch.tensor([1])).all())


@idiom("torch draws", "`torch.bernoulli(p)`", coin(F(1, 4)))
def bernoulli():
    return bool(torch.bernoulli(torch.tensor([0.25])).item() == 1.0)


@idiom(
    "torch draws",
    "`torch.randint`, `torch.randperm`",
    {(0, 0): F(1, 4), (0, 1): F(1, 4), (1, 0): F(1, 4), (1, 1): F(1, 4)},
)
def integers_and_orders():
    return int(torch.randint(0, 2, (1,))), int(torch.randperm(2)[0])


@idiom("torch draws", "`torch.distributions.Categorical(p).sample()`", {0: F(1, 4), 1: F(3, 4)})
def categorical():
    return int(torch.distributions.Categorical(probs=torch.tensor([0.25, 0.75])).sample())


@idiom("torch draws", "`rest.relu_()`, `rest[x] = 0` before a draw", {1: F(1, 2), 2: F(1, 2)})
def in_place_residual():
    rest = torch.tensor([0.25, 0.5, 0.25]) - torch.tensor([0.5, 0.25, 0.0])
    rest.relu_()
    rest[0] = 0
    return int(torch.multinomial(rest, 1)[0])


def to_script(p: torch.Tensor) -> int:
    u = torch.rand_like(p)
    if bool((u < p).all()):
        return 1
    return 0


with warnings.catch_warnings():
    # Deprecated, and still in use.
    warnings.simplefilter("ignore", DeprecationWarning)
    scripted = torch.jit.script(to_script)


@idiom("torch draws", "inside `torch.jit.script`", {1: F(1, 8), 0: F(7, 8)})
def in_torchscript():
    return scripted(torch.tensor([0.25, 0.5]))


@idiom("torch draws", "under `torch.inference_mode()` and with `generator=`", coin(F(1, 4)))
def in_inference_mode():
    with torch.inference_mode():
        return bool(torch.rand(1, generator=torch.Generator().manual_seed(7)) < 0.25)


@idiom(
    "torch draws",
    "two generators with one seed: the same noise",
    {(True, True): F(1, 4), (False, True): F(1, 4), (False, False): HALF},
)
def equal_seeds():
    a, b = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    return bool(torch.rand(1, generator=a) < 0.25), bool(torch.rand(1, generator=b) < 0.5)


# --- torch: races -------------------------------------------------------------------------------------------------


@idiom("torch races", "`(p / noise.exponential_()).argmax(-1)`", {0: F(1, 4), 1: F(3, 4)})
def exponential_race():
    p = torch.tensor([[0.25, 0.75]])
    return int((p / torch.empty_like(p).exponential_()).argmax(dim=-1)[0])


@idiom("torch races", "`p.div_(q).argmax(-1)` with `q[i].exponential_(generator=g)`", {0: F(1, 4), 1: F(3, 4)})
def exponential_race_in_place():
    p, q = torch.tensor([[0.25, 0.75]]), torch.empty(1, 2)
    q[0].exponential_(generator=torch.Generator().manual_seed(1))
    return int(p.div_(q).argmax(dim=-1).view(-1)[0])


@idiom("torch races", "`(logits - (-u.log()).log()).argmax(-1)`: Gumbel noise", {0: HALF, 1: HALF})
def gumbel_race():
    return int((torch.zeros(2) - (-torch.rand(2).log()).log()).argmax(-1))


@idiom("torch races", "`topk` of `log(u) / p`: an ordered sample", {(0, 1): F(1, 4), (1, 0): F(3, 4)})
def ordered_race():
    p = torch.tensor([0.25, 0.75])
    return tuple((torch.rand(2).log() / p).topk(2).indices.tolist())


@idiom(
    "torch races", "one noise row raced against two weight rows", {(0, 0): F(1, 4), (0, 1): F(1, 4), (1, 1): F(1, 2)}
)
def one_noise_two_rows():
    noise = torch.empty(2).exponential_()
    first = (torch.tensor([0.5, 0.5]) / noise).argmax()
    second = (torch.tensor([0.25, 0.75]) / noise).argmax()
    return int(first), int(second)


# --- NumPy --------------------------------------------------------------------------------------------------------


@idiom(
    "NumPy",
    "`np.random.rand() < r`, `rng.random(k)`",
    {(True, True): F(1, 8), (True, False): F(1, 8), (False, True): F(3, 8), (False, False): F(3, 8)},
)
def numpy_uniforms():
    return bool(np.random.rand() < 0.25), bool(np.random.default_rng().random(3)[1] < 0.5)


@idiom(
    "NumPy",
    "`np.random.choice(V, p=p)`, `rng.choice`",
    {(0, 1): F(3, 16), (0, 0): F(1, 16), (1, 0): F(3, 16), (1, 1): F(9, 16)},
)
def numpy_choice():
    return int(np.random.choice(2, p=[0.25, 0.75])), int(default_rng().choice(2, p=np.array([0.25, 0.75])))


@idiom("NumPy", "`np.searchsorted(np.cumsum(p), u, side='right')`", {0: F(1, 4), 1: F(1, 2), 2: F(1, 4)})
def numpy_inverse_cdf():
    return int(np.searchsorted(np.cumsum([0.25, 0.5, 0.25]), np.random.random_sample(), side="right"))


@idiom("NumPy", "`np.argmax(np.log(p) + rng.gumbel(size=V))`", {0: HALF, 1: HALF})
def numpy_gumbel():
    return int(np.argmax(np.log(np.array([0.5, 0.5])) + default_rng().gumbel(size=2)))


@idiom("NumPy", "`np.argmax(p / rng.exponential(size=V))`", {0: F(1, 4), 1: F(3, 4)})
def numpy_race():
    return int(np.argmax(np.array([0.25, 0.75]) / default_rng().exponential(size=2)))


@idiom(
    "NumPy",
    "`default_rng(0)` built twice: the same noise",
    {(True, True): F(1, 4), (False, True): F(1, 4), (False, False): HALF},
)
def numpy_equal_seeds():
    return bool(default_rng(0).random() < 0.25), bool(default_rng(0).random() < 0.5)


# --- random -------------------------------------------------------------------------------------------------------


@idiom(
    "random",
    "`random.random() < r`, `from random import random`",
    {(True, True): F(1, 8), (True, False): F(1, 8), (False, True): F(3, 8), (False, False): F(3, 8)},
)
def python_uniforms():
    return random.random() < 0.25 or False, bool(imported_earlier() < 0.5)


@idiom("random", "`random.random() <= tensor` with a 0-d tensor", coin(F(1, 4)))
def python_uniform_against_a_tensor():
    return bool(random.random() <= torch.tensor(0.25))


@idiom("random", "`random.choices(range(V), weights=w)`", {0: F(1, 4), 1: F(3, 4)})
def python_choices():
    return random.choices([0, 1], weights=[1, 3])[0]


@idiom("random", "`math.log(u) < math.log(p) - math.log(q)`", coin(HALF))
def python_logarithms():
    return math.log(random.random()) < math.log(0.5) - math.log(1.0)


# --- what is refused ----------------------------------------------------------------------------------------------


@idiom("refused", "`u.cumprod(0)`: products of uniforms", None, "product")
def product_of_uniforms():
    return bool(torch.rand(2).cumprod(0)[1] < 0.25)


@idiom("refused", "`torch.randn`: normal noise", None, "normal")
def normal_noise():
    return bool(torch.randn(1)[0] < 0.25)


@idiom("refused", "a sum of two uniforms", None, "sum")
def sum_of_uniforms():
    u = torch.rand(2)
    return bool(u[0] + u[1] < 0.25)


@idiom("refused", "noise beside a threshold after it was raced", None, "noise")
def threshold_after_a_race():
    u = torch.rand(2)
    return int(u.log().argmax()), bool(u[0] < 0.25)
