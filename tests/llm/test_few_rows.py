"""Products and attention for few rows are those of torch."""

from __future__ import annotations

import pytest
import torch
from rheo_gpu.llm.attention import added, grouped
from rheo_gpu.llm.narrow import NarrowLinear, narrow, product
from torch.nn.functional import scaled_dot_product_attention


def test_attention_of_few_queries_is_that_of_torch() -> None:
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, heads, n, 8, generator=random) for heads, n in ((4, 3), (2, 7), (2, 7)))
    seen = torch.rand(2, 3, 7, generator=random) < 0.6
    seen[..., 0] = True
    for scaling in (None, 0.3):
        expected = scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None], scale=scaling, enable_gqa=True)
        found, _ = grouped(torch.nn.Identity(), q, k, v, added(seen, q.dtype), scaling=scaling)
        torch.testing.assert_close(found.transpose(1, 2), expected)


@pytest.mark.parametrize("name", ["softcap", "s_aux", "position_bias"])
def test_attention_refuses_what_it_would_leave_out(name: str) -> None:
    """A comparison of trees and texts would not see it, which both go through this attention."""
    q, mask = torch.randn(1, 2, 3, 4), torch.zeros(1, 1, 3, 3)
    for seen in (mask, None):
        grouped(torch.nn.Identity(), q, q, q, seen, **{name: None})
        with pytest.raises(ValueError, match=f"attention with {name}"):
            grouped(torch.nn.Identity(), q, q, q, seen, **{name: torch.ones(2)})


def test_products_of_few_rows_are_those_of_a_linear_layer() -> None:
    random = torch.Generator().manual_seed(0)
    weight = torch.randn(7, 5, dtype=torch.float64, generator=random)
    for shape in ((5,), (1, 5), (2, 5), (3, 4, 5), (50, 5)):
        rows = torch.randn(shape, dtype=torch.float64, generator=random)
        torch.testing.assert_close(product(rows, weight), rows @ weight.t())
    layer = torch.nn.Sequential(torch.nn.Linear(5, 7))
    rows, before = torch.randn(3, 5, generator=random), layer[0].weight
    expected = layer(rows)
    narrow(layer)
    assert type(layer[0]) is NarrowLinear
    assert layer[0].weight is before
    torch.testing.assert_close(layer(rows), expected)


def test_packed_weights_that_have_changed_are_not_used() -> None:
    layer = NarrowLinear(5, 7, bias=False)
    layer.pack()
    assert layer.order is not None, "the packed weights of oneDNN, which this build of torch has on a CPU"
    with torch.no_grad():
        rows = torch.randn(3, 5)
        torch.testing.assert_close(layer(rows), rows @ layer.weight.t())
        for change in (lambda: layer.weight.mul_(2), lambda: layer.load_state_dict({"weight": torch.ones(7, 5)})):
            change()
            torch.testing.assert_close(layer(rows), rows @ layer.weight.t())
        layer.pack()
        layer.weight = torch.nn.Parameter(torch.zeros(7, 5))
        torch.testing.assert_close(layer(rows), torch.zeros(3, 7))


def test_weights_in_16_bits_are_rounded_and_nothing_else() -> None:
    random = torch.Generator().manual_seed(0)
    layer = NarrowLinear(5, 7)
    with torch.no_grad():
        rows = torch.randn(2, 3, 5, generator=random)
        layer.weight.copy_(torch.randn(7, 5, generator=random))
        layer.pack(half=True)
        assert layer.half is not None, "FBGEMM, which this build of torch has on a CPU"
        rounded = torch.nn.functional.linear(rows, layer.weight.half().float(), layer.bias)
        torch.testing.assert_close(layer(rows), rounded)
        assert not torch.allclose(layer(rows), torch.nn.functional.linear(rows, layer.weight, layer.bias), atol=1e-6)
        layer.weight.mul_(1e6)
        expected = torch.nn.functional.linear(rows, layer.weight, layer.bias)
        torch.testing.assert_close(layer(rows), expected, rtol=1e-5, atol=10.0)  # in 16 bits it would be 1000 off
        layer.pack(half=True)
        assert layer.half is None, "too large for 16 bits"
        torch.testing.assert_close(layer(rows), expected, rtol=1e-5, atol=10.0)
