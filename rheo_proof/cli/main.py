"""The entry point of `rheo-prove`: every failure becomes one line on stderr and an exit status.

0 proved, 1 refuted, 2 unusable input, 3 not decided (within the given limits, or a known fault that these models do not
show), 4 an error in this program (never a verdict), 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import io
import os
import sys
import traceback

from rheo_proof.exact.errors import InputError


def main() -> None:
    """Run the command line of this process."""
    sys.exit(status(sys.argv[1:]))


def status(arguments: list[str]) -> int:
    """Run a command line and return its exit status.

    The program is imported here, not above, so that an interrupt or a bad environment variable during the import is
    reported like any other.
    """
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # exact laws may have longer numerators than Python prints by default
    try:
        return _run(arguments)
    except InputError as error:
        return _fail(2, str(error))
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(2, f"the output cannot be written: {error.strerror or error}")
    except Exception:
        traceback.print_exc()
        return _fail(4, "an error in this program; no verdict")
    finally:
        sys.set_int_max_str_digits(digits)  # a caller in the same process keeps its own limit


def _run(arguments: list[str]) -> int:
    import click

    from rheo_proof.cli.program import cli

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with cli.make_context("rheo-prove", arguments) as context:
            cli.invoke(context)
        code = 0
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        raise InputError(error.format_message()) from None
    sys.stdout.flush()
    return code


def _fail(code: int, message: str) -> int:
    print(f"rheo-prove: {' '.join(message.split())}", file=sys.stderr)
    return code
