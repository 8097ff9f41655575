"""Results as JSON, and a file that is written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from rheo_proof.exact.errors import InputError
from rheo_proof.exact.files import write_model
from rheo_proof.exact.model import key
from rheo_proof.exact.step import Wrong
from rheo_proof.theorems.counterexample import Counterexample
from rheo_proof.theorems.instances import Result
from rheo_proof.theorems.zoo import EVERY


def verdict_of(results: Sequence[Result], found: Sequence[Counterexample] = ()) -> str:
    """`biased` if one is, else `undecided` if one is, else `lossy by design` if one is, else `lossless`.

    `found` are counterexamples from elsewhere; to a rule that is lossy by design they say no more than that.
    """
    verdicts = {result.verdict for result in results}
    verdicts |= {"lossy by design" if EVERY[each.name].lossy else "biased" for each in found}
    return next((v for v in ("biased", "undecided", "lossy by design") if v in verdicts), "lossless")


def run_as_json(verdict: str, results: Sequence[Result], smallest: Sequence[Counterexample]) -> dict[str, Any]:
    """A whole run: the verdict, the parameters common to all instances, every instance, the counterexamples found."""
    return {
        "verdict": verdict,
        "statement": "instance",
        "names": list(dict.fromkeys(result.entry.name for result in results)),
        "scheme": _common([result.entry.parameters.as_json(result.entry.named.reads) for result in results]),
        "instances": [_instance(result) for result in results],
        "smallest": [_counterexample(found) for found in smallest],
    }


def _common(written: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each parameter: its value, or the list of values where they differ."""
    values = {name: list(dict.fromkeys(each[name] for each in written)) for name in written[0]}
    return {name: several[0] if len(several) == 1 else several for name, several in values.items()}


def _instance(result: Result) -> dict[str, Any]:
    return {
        "name": result.entry.name,
        "family": result.source.family,
        "seed": result.source.seed,
        "scheme": result.entry.parameters.as_json(result.entry.named.reads),
        "verdict": result.verdict,
        "why": result.why or None,
        "model": result.model,
        "tv": None if result.tv is None else str(result.tv),
        "law": result.law,
        "expected_tokens": None if result.expected_tokens is None else str(result.expected_tokens),
        "acceptance": [str(rate) for rate in result.acceptance],
        "classes": result.classes,
        "assignments": result.assignments,
        "seconds": round(result.seconds, 6),
        "counterexample": _wrong(result.wrong),
    }


def _wrong(wrong: Wrong | None) -> dict[str, str] | None:
    if wrong is None:
        return None
    return {"string": key(wrong.string), "expected": str(wrong.expected), "actual": str(wrong.actual)}


def _counterexample(found: Counterexample) -> dict[str, Any]:
    return {
        "name": found.name,
        "scheme": found.parameters.as_json(EVERY[found.name].reads),
        "model": write_model(found.model),
        "tv": str(found.tv),
        "counterexample": _wrong(found.wrong),
    }


def check_target(path: str, model: str | None = None) -> None:
    """Raise `InputError` now if a file cannot be written there later, or if it is the user's model."""
    try:
        folder = Path(path).resolve().parent
        Path(path).exists()
    except RuntimeError:  # what Python up to 3.12 raises for a loop
        raise InputError(f"{path}: cannot be written: a link that leads to itself") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    if Path(path).is_dir():
        raise InputError(f"{path}: is a directory; name a file")
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"{path}: is not a regular file; name one")
    if model is not None and Path(path).resolve() == Path(model).resolve():
        raise InputError(f"{path}: is the model; name another file")
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path}: the folder {folder} cannot be written to")


def write_json(path: str, content: Any) -> None:
    """Write the file whole or not at all. Raises `InputError` when it cannot be written."""

    def write(file: IO[str]) -> None:
        json.dump(content, file, indent=1)
        file.write("\n")

    _write_whole(path, write)


def write_certificate(path: str, content: Any) -> None:
    """The same for a certificate, with a line for each claim and each class or state."""

    def write(file: IO[str]) -> None:
        file.write("{")
        for name in ("format", "statement", "verdict", "models"):
            file.write(f'"{name}": {json.dumps(content[name])},\n')
        file.write('"claims": [')
        for number, claim in enumerate(content["claims"]):
            file.write("," * bool(number) + "\n{")
            long = "classes" if "classes" in claim else "states"
            for name, value in claim.items():
                if name != long:
                    file.write(f'"{name}": {json.dumps(value)}, ')
            file.write(f'"{long}": [\n' + ",\n".join(map(json.dumps, claim[long])) + "]}")
        file.write("]}\n")

    _write_whole(path, write)


def write_text(path: str, text: str) -> None:
    """Write the file whole or not at all. Raises `InputError` when it cannot be written."""
    _write_whole(path, lambda file: file.write(text))


def _write_whole(path: str, write: Callable[[IO[str]], object]) -> None:
    check_target(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=Path(path).resolve().parent, prefix=".rheo-", delete=False
        ) as file:
            temporary = file.name
            write(file)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, Path(path).resolve())
        temporary = None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
