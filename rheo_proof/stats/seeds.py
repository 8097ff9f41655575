"""One root seed for a run of the tests, and an independent stream of random numbers for each assertion.

The root is `ROOT_SEED` unless the environment variable `RHEO_SEED` holds another integer. A stream depends on the root,
on the name of the test and on the numbers handed in, and on nothing else: not on the order of the tests, not on the
process that runs them.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from rheo_proof.exact.errors import InputError

if TYPE_CHECKING:
    import numpy as np

ROOT_SEED = 260921827
"""The root seed of this repository, used where `RHEO_SEED` is not set."""

VARIABLE = "RHEO_SEED"


def root_seed() -> int:
    """The root seed of this run. Raises `InputError` when `RHEO_SEED` is not a non-negative integer.

    >>> root_seed() >= 0
    True
    """
    written = os.environ.get(VARIABLE, "").strip()
    if not written:
        return ROOT_SEED
    if not (written.isascii() and written.isdigit()):
        raise InputError(f"{VARIABLE} is {written!r}; expected a non-negative integer")
    return int(written)


def spawn_key(name: str, *stage: int) -> tuple[int, ...]:
    """Four 32-bit words that stand for a name and a stage: a BLAKE2b digest, the same in every process.

    >>> spawn_key("tests/law/test_step.py::test_rheo") == spawn_key("tests/law/test_step.py::test_rheo")
    True
    >>> spawn_key("a", 0) == spawn_key("a", 1)
    False
    """
    text = "\0".join([name, *map(str, stage)])
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))


def stream(name: str, *stage: int) -> np.random.SeedSequence:
    """The seed sequence of one stage of one assertion: `SeedSequence(root_seed(), spawn_key=spawn_key(name, *stage))`.

    >>> import numpy as np
    >>> np.random.default_rng(stream("doctest")).random() == np.random.default_rng(stream("doctest")).random()
    True
    """
    import numpy as np

    return np.random.SeedSequence(root_seed(), spawn_key=spawn_key(name, *stage))
