"""The console script: finds the command and turns every failure into one line and a status."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from runner.cli.lazy import LazyGroup
from runner.errors import CannotRunError, InputError, RunnerError

INTERRUPTED = 130

_COMMANDS = {
    "sweep": "runner.cli.sweep",
    "report": "runner.cli.report",
    "query": "runner.cli.query",
    "results": "runner.cli.results",
    "metatask": "runner.cli.metatask",
    "ci": "runner.cli.ci",
    "data": "runner.cli.data",
    "doctor": "runner.cli.doctor",
}


@click.group(
    cls=LazyGroup,
    modules=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="runner")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Studies on tabular machine learning, spread over a Ray cluster.

    Example: runner sweep configs/quickstart.yaml
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status (2 wrong input, 3 no verdict, 130 interrupted)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    # The option is one of the whole program, wherever it stands.
    given = [argument for argument in given if argument != "--debug"]
    signal.signal(signal.SIGTERM, _interrupt)
    _open_streams()
    try:
        _check_folder()
        # Not cli.main, which meets a reader who has gone with status 1: a verdict here.
        with cli.make_context("runner", given) as context:
            status = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        status = end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        sys.exit(_fail(_usage(error), error.exit_code or 2, debug))
    except RunnerError as error:
        sys.exit(_fail(str(error), error.exit_status, debug))
    except (click.Abort, KeyboardInterrupt):
        # The terminal's ^C stands on a line of its own.
        click.echo(err=True)
        status = _fail("interrupted", INTERRUPTED, debug)
        if given[:1] == ["sweep"] or given[:2] == ["metatask", "simulate"]:
            click.echo(resume_hint(given), err=True)
        sys.exit(status)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        sys.exit(_fail(f"{error.filename or 'system'}: {error.strerror or error}", 2, debug))
    except Exception as error:
        # A fault of ours; what is done is in the store all the same.
        text = f"unexpected {type(error).__name__}: {error}; --debug shows where"
        sys.exit(_fail(text, CannotRunError.exit_status, debug))
    if status == INTERRUPTED:
        # Nothing is left to do, and what Ray has left running may crash Python's own tidying up.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _open_streams() -> None:
    """Have both streams: a closed one swallows what it is told, a narrow one escapes it."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _check_folder() -> None:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError("the current folder was deleted: change to one that exists") from None


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def resume_hint(arguments: Sequence[str]) -> str:
    """What to type to go on where an interrupted command stopped: the same again."""
    return f"resume with: {shlex.join(['runner', *arguments])}"


def _usage(error: click.ClickException) -> str:
    text = error.format_message().replace("\n", " ")
    context = getattr(error, "ctx", None)
    return f"{text.rstrip('.')} (see '{context.command_path} --help')" if context else text


def _fail(text: str, status: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    click.echo("error: " + " ".join(text.split()), err=True)
    return status
