"""`rheo-decode`: its options, and how every failure becomes one line on stderr and an exit status.

0 done, 2 unusable input, 4 an error in this program, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import click

SEED = click.IntRange(0, 2**63 - 1)
METHODS = ("rheo", "flow", "top-k", "chain", "rrsw", "autoregressive")
EXTRA = {"torch", "transformers", "safetensors", "tokenizers", "jinja2"}
"""What is not there without the extra `llm`."""


class Refused(Exception):
    """Arguments that cannot be used: one line."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--target", metavar="DIR", required=True, help="Folder of the target model, a causal language model.")
@click.option("--draft", metavar="HEAD", help="A draft head (file or folder), a folder with a causal model, or ngram.")
@click.option("--prompt", metavar="TEXT", required=True, help="What the user says.")
@click.option("--method", type=click.Choice(METHODS), default="rheo", show_default=True)
@click.option("--temperature", type=float, default=1.0, show_default=True, help="0 takes the most likely token.")
@click.option("--top-p", type=float, help="Keep the fewest most likely tokens that have this mass.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="The same seed gives the same text."
)
@click.option("--tokens", type=click.IntRange(1), default=128, show_default=True, help="At most so many new tokens.")
@click.option("--nodes", type=click.IntRange(1), help="Draft nodes N of a tree.  [default: 3]")
@click.option("--slots", type=click.IntRange(1), help="Slots K of an expanded node.  [default: 3]")
@click.option("--depth", type=click.IntRange(1), help="Layers D of draft nodes.  [default: 1; chain: 2]")
@click.option("--head", type=click.IntRange(0), help="Deterministic slots m.  [default: 1]")
@click.option("--draft-temperature", type=float, help="Of the draft model.  [default: 1; chain: the target's]")
@click.option("--threads", type=click.IntRange(1), help="Threads of torch.  [default: torch's own choice]")
@click.option("--raw", is_flag=True, help="Take the prompt as it is, without the chat template.")
@click.option("--compare/--no-compare", default=True, show_default=True, help="Decode without a draft, too.")
@click.option("--json", "json_path", metavar="FILE", help="Write the text and all figures as JSON, too.")
def cli(**options: Any) -> None:
    """Write a text with a target model and draft trees, and say what they were worth.

    The text has the law of the target: the draft changes its speed alone.
    """
    if options["draft"] is None and options["method"] != "autoregressive":
        raise Refused("--draft is missing, expected a head, a folder with a causal model, or ngram")
    if options["draft"] is not None and options["method"] == "autoregressive":
        raise Refused("--draft does not go with --method autoregressive, which drafts nothing")
    if not options["prompt"]:
        raise Refused("--prompt is empty, expected a text")
    if any("\ud800" <= letter <= "\udfff" for letter in options["prompt"]):
        raise Refused("--prompt is no text in this encoding, expected UTF-8")
    _is_there(options["target"], "--target", "the folder of a causal language model")
    if options["draft"] not in (None, "ngram"):
        _is_there(options["draft"], "--draft", "a draft head, a folder with a causal model, or ngram")
    if options["json_path"] is not None:
        _writable(Path(options["json_path"]))
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from rheo_decode.session import run

    run(options)


def _is_there(path: str, option: str, expected: str) -> None:
    if not Path(path).exists():
        raise Refused(f"{option}: {path} does not exist, expected {expected}")


def _writable(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Refused(f"--json: {path} cannot be written, expected a file in a folder that exists")


def main() -> None:
    """Run the command line of this process."""
    sys.exit(status(sys.argv[1:]))


def status(arguments: list[str]) -> int:
    """Run a command line and return its exit status."""
    try:
        return _run(arguments)
    except (Refused, click.ClickException) as error:
        return _fail(2, error.format_message() if isinstance(error, click.ClickException) else str(error))
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA:
            raise
        return _fail(2, f"{missing} is not installed, expected the extra llm: pip install 'rheo-proof[llm]'")
    except (KeyboardInterrupt, click.Abort):
        return _fail(130, "interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        # Its class is in a package that loads torch, so it is known by its name.
        if any(kind.__name__ == "Unusable" for kind in type(error).__mro__):
            return _fail(2, str(error))
        traceback.print_exc()
        return _fail(4, "an error in this program")


def _run(arguments: list[str]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with cli.make_context("rheo-decode", arguments) as context:
            cli.invoke(context)
        code = 0
    except click.exceptions.Exit as done:
        code = done.exit_code
    sys.stdout.flush()
    return code


def _fail(code: int, message: str) -> int:
    sys.stdout.flush()
    print(f"rheo-decode: {' '.join(message.split())}", file=sys.stderr)
    return code
