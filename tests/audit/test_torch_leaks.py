"""No way out of a tensor for a random number that nobody decided: each is refused, or has its exact law.

The laws are found twice, with different numbers in the memory under the random elements.
"""

from __future__ import annotations

import copy
import ctypes
import io
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from rheo_proof.audit import torch_store
from rheo_proof.audit.errors import NotEnumerable
from tests.audit.torch_programs import law_of

F = Fraction
FLOATS = torch.zeros(3)
WHOLE = torch.zeros(3, dtype=torch.int64)
ARRAY = np.zeros(3)
OVER_ARRAY = torch.from_numpy(ARRAY)
KEPT: list[torch.Tensor] = []


def uniform() -> torch.Tensor:
    return torch.rand(2)


def token() -> torch.Tensor:
    return torch.multinomial(torch.tensor([1.0, 3.0]), 1)


def write_an_array() -> bool:
    x = torch.zeros(2)
    seen = x.numpy()
    x.uniform_()
    return bool(seen[0] < 0.25)


def write_a_tensor_over_an_array() -> bool:
    below = np.zeros(2)
    torch.from_numpy(below).uniform_()
    return bool(below[0] < 0.25)


def write_under_another_type() -> bool:
    x = torch.zeros(2)
    seen = x.view(torch.int32)
    x.uniform_()
    return bool(seen[0] > 0)


def assign_data() -> bool:
    x = torch.zeros(2)
    x.data = torch.rand(2)
    return bool(x[0] < 0.25)


def in_a_thread(work):
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(type(error).__name__)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def look_in_a_thread() -> str:
    u = uniform()
    return in_a_thread(lambda: bool(u[0] < 0.25))


def unseen() -> float:
    with _disable_current_modes():
        u = torch.rand(1)
    return float(u)


def swallowed() -> int:
    try:
        return uniform().data_ptr()
    except BaseException:
        return 0


def keep() -> int:
    KEPT.append(token())
    return int(KEPT[0][0])


def custom() -> bool:
    if not hasattr(torch.ops.rheo_audit_test, "noise"):

        @torch.library.custom_op("rheo_audit_test::noise", mutates_args=())
        def noise(x: torch.Tensor) -> torch.Tensor:
            return x + torch.rand(2)

    return bool(torch.ops.rheo_audit_test.noise(torch.zeros(2))[0] < 0.25)


def resize_the_result() -> bool:
    out = torch.empty(0)
    torch.add(uniform(), 1, out=out)
    return bool(out[0] < 1.25)


def resize_a_known_result() -> torch.Tensor:
    out = torch.empty(0)
    return torch.add(torch.ones(2), 1, out=out)


REFUSED = {
    "another type": (lambda: uniform().view(torch.int32)[0] > 5, "another type"),
    "another type of a token": (lambda: token().view(torch.float64), "another type"),
    "complex": (lambda: torch.view_as_complex(torch.rand(2, 2)).real, "another type"),
    "write under another type": (write_under_another_type, "uniform_"),
    "write an array": (write_an_array, "uniform_"),
    "write over an array": (write_a_tensor_over_an_array, "uniform_"),
    "write over an old array": (lambda: OVER_ARRAY.uniform_(), "uniform_"),
    "write outside": (lambda: FLOATS.copy_(torch.rand(3)), "outside of the run"),
    "write a view outside": (lambda: FLOATS[0].uniform_(), "outside of the run"),
    "write several outside": (lambda: torch._foreach_copy_([FLOATS], [torch.rand(3)]), "_foreach_copy_"),
    "assign data": (assign_data, "data"),
    "set": (lambda: torch.zeros(2).set_(uniform()), "set_"),
    "resize": (lambda: uniform().resize_(1), "resize_"),
    "result of another shape": (resize_the_result, "shape"),
    "known result of another shape": (resize_a_known_result, "shape"),
    "pickle": (lambda: pickle.dumps(uniform()), "pickling"),
    "copy": (lambda: copy.copy(uniform()), "pickling"),
    "save": (lambda: torch.save(uniform(), io.BytesIO()), "pickling"),
    "address": (lambda: uniform().data_ptr(), "address"),
    "memory": (lambda: ctypes.c_float.from_address(uniform().data_ptr()).value, "address"),
    "storage": (lambda: uniform().untyped_storage()[0], "storage"),
    "old storage": (lambda: uniform().storage()[0], "storage"),
    "exchange": (lambda: torch.from_dlpack(uniform()), "memory"),
    "exchange with NumPy": (lambda: np.from_dlpack(uniform()), "memory"),
    "capsule": (lambda: torch.utils.dlpack.to_dlpack(uniform()), "memory"),
    "NumPy": (lambda: np.asarray(uniform()), "array"),
    "float": (lambda: float(uniform()[0]), "float"),
    "a number in C": (lambda: torch.FloatTensor([torch.rand(()).item()]), "float"),
    "several at once": (lambda: torch._foreach_mul_([uniform()], 0.5), "_foreach_mul_"),
    "sums into places": (lambda: torch.zeros(2).index_add(0, torch.tensor([1, 0]), uniform()) < 0.5, "index_add"),
    "unknown in place": (lambda: uniform().erfinv_() < 0.5, "erfinv_"),
    "unknown": (lambda: uniform().erfinv() < 0.5, "erfinv"),
    "unknown with a shape": (lambda: uniform().unique(), "unique"),
    "close": (lambda: torch.allclose(uniform(), torch.ones(2)), "allclose"),
    "splits read in C": (lambda: torch.tensor_split(torch.arange(3), token()), "tensor_split"),
    "thread": (lambda: in_a_thread(lambda: float(torch.rand(1))), "not seen"),
    "look in a thread": (look_in_a_thread, "does not see"),
    "modes off": (unseen, "not seen"),
    "swallowed": (swallowed, "address"),
    "kept": (keep, "earlier run"),
    "foreign operation": (custom, "outside of torch"),
    "half precision": (lambda: torch.rand(1, dtype=torch.float16) < 0.25, "coarse"),
    "to half precision": (lambda: torch.rand(1).bfloat16() < 0.25, "coarse"),
    "normal": (lambda: torch.randn(1) < 0.25, "normal"),
    "normal in place": (lambda: torch.zeros(1).normal_() < 0.25, "normal"),
    "geometric": (lambda: torch.zeros(1).geometric_(0.5), "normal noise and its like"),
    "poisson": (lambda: torch.poisson(torch.ones(1)), "not enumerated"),
    "random weights": (lambda: torch.multinomial(torch.rand(2), 1), "probabilities are random"),
    "random chances": (lambda: torch.bernoulli(torch.rand(2)), "probabilities are random"),
    "too few weights": (lambda: torch.multinomial(torch.tensor([1.0, 0.0]), 2), "fewer positive weights"),
    "wide range": (lambda: torch.randint(0, 2**31, (1,)).item(), "values"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_leak_is_refused(name):
    KEPT.clear()
    function, words = REFUSED[name]
    with pytest.raises(NotEnumerable, match=words):
        law_of(function)


def share_a_token() -> int:
    x = torch.zeros(1, dtype=torch.int64)
    seen = x.numpy()
    x.copy_(token())
    return int(seen[0])


def write_a_token_outside() -> torch.Tensor:
    WHOLE[0] = token()[0]
    return WHOLE.clone()


def change_shape_in_place() -> torch.Tensor:
    u = torch.rand(1, 2)
    u.squeeze_(0)
    u.unsqueeze_(-1).transpose_(0, 1)
    return u[0, 0] < 0.25


def into_a_place() -> torch.Tensor:
    out = torch.empty(2)
    torch.mul(torch.rand(2), 0.5, out=out)
    return out[0] < 0.125


def sorted_into_places() -> torch.Tensor:
    values, places = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.sort(torch.rand(2).log(), out=(values, places))
    return places


def drawn_into_a_place() -> torch.Tensor:
    out = torch.zeros(2)
    torch.rand(2, out=out)
    return out[0] < 0.25


def through_data() -> torch.Tensor:
    x = torch.zeros(2)
    x.data.uniform_()
    return x[0] < 0.25


def in_inference_mode() -> torch.Tensor:
    with torch.inference_mode():
        u = torch.rand(2, 2)
        v = u.t().reshape(4).contiguous().to(torch.float64)
        drawn = token()
    return torch.stack([v[1] < 0.25, drawn[0] == 1])


def overwritten() -> torch.Tensor:
    out = torch.rand(2)
    torch.add(token(), torch.tensor([1]), out=out[:1])
    return out[0] == 1


def decided_in_part() -> torch.Tensor:
    accepted = torch.rand(4) < 0.5
    accepted[:2].unsqueeze(0).expand(2, 2).tolist()
    return accepted.all()


BELOW = {True: F(1, 4), False: F(3, 4)}
ONE = {0: F(1, 4), 1: F(3, 4)}
LAWS = {
    "clone": (lambda: uniform().clone()[0] < 0.25, BELOW),
    "deep copy": (lambda: copy.deepcopy(uniform())[0] < 0.25, BELOW),
    "detached": (lambda: uniform().detach_()[0] < 0.25, BELOW),
    "data": (lambda: uniform().data[0] < 0.25, BELOW),
    "through data": (through_data, BELOW),
    "type": (lambda: uniform().double().float().type(torch.float64)[0] < 0.25, BELOW),
    "strided": (lambda: torch.rand(4).as_strided((2,), (2,))[1] < 0.25, BELOW),
    "shape in place": (change_shape_in_place, BELOW),
    "into a place": (into_a_place, BELOW),
    "sorted into places": (sorted_into_places, {(0, 1): F(1, 2), (1, 0): F(1, 2)}),
    "drawn into a place": (drawn_into_a_place, BELOW),
    "parameter": (lambda: torch.nn.Parameter(uniform())[0] < 0.25, BELOW),
    "vmap": (lambda: torch.func.vmap(lambda x: x < 0.25)(torch.rand(1))[0], BELOW),
    "inference": (in_inference_mode, {(i, j): BELOW[i] * BELOW[not j] for i in BELOW for j in BELOW}),
    "decided in part": (decided_in_part, {True: F(1, 16), False: F(15, 16)}),
    "overwritten": (overwritten, {True: F(1, 4), False: F(3, 4)}),
    "shared token": (share_a_token, ONE),
    "token outside": (write_a_token_outside, {(0, 0, 0): F(1, 4), (1, 0, 0): F(3, 4)}),
    "array": (lambda: int(np.asarray(token())[0]), ONE),
    "text": (lambda: str(token()), {"tensor([0])": F(1, 4), "tensor([1])": F(3, 4)}),
    "format": (lambda: f"{token()[0]:d}", {"0": F(1, 4), "1": F(3, 4)}),
    "contains": (lambda: 1 in token(), {True: F(3, 4), False: F(1, 4)}),
    "range": (lambda: len(range(token())), ONE),
    "slice": (lambda: len(torch.arange(5)[: token()[0]]), ONE),
    "list": (lambda: [0, 1][token()], ONE),
    "list as an index": (lambda: torch.arange(4)[[token()[0], 2]], {(0, 2): F(1, 4), (1, 2): F(3, 4)}),
    "several tokens": (lambda: torch._foreach_add([token()], 1)[0], {(1,): F(1, 4), (2,): F(3, 4)}),
    "scattered": (lambda: torch.zeros(2).scatter_add_(0, token(), torch.ones(1)), {(1, 0): F(1, 4), (0, 1): F(3, 4)}),
    "unknown and not looked at": (lambda: torch.rand(2).erfinv().clone().numel(), {2: F(1)}),
    "old constructor": (lambda: torch.LongTensor([token()[0]]), {(0,): F(1, 4), (1,): F(3, 4)}),
    "new": (lambda: torch.zeros(1).new([token()[0]]), {(0,): F(1, 4), (1,): F(3, 4)}),
    "of elements": (lambda: torch.tensor([torch.rand(()), 0.5])[0] < 0.25, BELOW),
    "full": (lambda: (torch.full((2,), torch.rand(()).item()) < 0.25).all(), BELOW),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_what_is_followed_has_its_law_whatever_the_memory_holds(name, monkeypatch):
    function, law = LAWS[name]
    assert law_of(function) == law
    for kind, value in {"float": 0.2, "whole": 1, "bool": False}.items():
        monkeypatch.setitem(torch_store.poison, kind, value)
    assert law_of(function) == law


def test_what_belongs_outside_is_as_it_was():
    before = WHOLE.clone()
    law_of(write_a_token_outside)
    assert WHOLE.equal(before)
    state = torch.get_rng_state()
    law_of(lambda: torch.rand(3)[0] < 0.5)
    assert torch.get_rng_state().equal(state)


def test_a_tensor_that_cannot_be_written_is_an_error_of_the_function():
    def add():
        x = torch.zeros(2, dtype=torch.int64)
        x += torch.rand(2)
        return x

    (outcome,) = law_of(add)
    assert outcome.kind == "RuntimeError"
    assert "can't be cast" in outcome.message
