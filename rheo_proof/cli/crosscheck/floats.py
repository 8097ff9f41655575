"""The prover's numbers as a decoder takes them: in double precision."""

from __future__ import annotations

from typing import Any

from rheo_proof.exact.law import Law
from rheo_proof.schemes.scheme import Parameters


def double(value: Any) -> float:
    """The nearest double of a rational."""
    return int(value.numerator) / int(value.denominator)


def row(law: Law) -> list[float]:
    """A law in doubles."""
    return [double(mass) for mass in law]


def options(parameters: Parameters) -> dict[str, Any]:
    """The arguments of a decoder's `Config`; both decoders have the same names."""
    return {
        "slots": parameters.slots,
        "head": parameters.head,
        "depth": parameters.depth,
        "beam": parameters.slots if parameters.beam is None else parameters.beam,
        "nodes": parameters.nodes,
        "sparse": parameters.sparse,
        "proxy": parameters.proxy,
        "proxy_scale": double(parameters.proxy_scale),
        "fill_scale": double(parameters.fill_scale),
        "verify": parameters.verify,
    }
