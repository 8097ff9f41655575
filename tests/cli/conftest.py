"""What several files in this folder look at, and takes long."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.cli.program import Run, prove, written


@pytest.fixture(scope="session")
def proof(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    """The run that the documentation begins with, in a process of its own, and its JSON.

    It is made once for all workers, or twice where two begin at the same time.
    """
    folder = tmp_path_factory.getbasetemp()
    kept = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "proof.json"
    if not kept.exists():
        made = prove(folder, "--vocab", "5", "--depth", "3", "--json", "run.json")
        part = folder / "proof.part"
        part.write_text(json.dumps([*made, written(folder / "run.json")]), "utf-8")
        part.replace(kept)
    *run, content = written(kept)
    return Run(*run), content
