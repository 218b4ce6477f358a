"""The command ``nicecf``: parse, call, print; no logic that the library lacks.

Before a command runs, only the standard library is imported: ``nicecf --help`` need not wait for scikit-learn.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from nicecf.cli import benchmark, demo, explain, fit, replay, rules, serve, show
from nicecf.cli.codes import DONE, FAILED, INCOMPLETE, INTERRUPTED, MISUSED
from nicecf.cli.language import speaking
from nicecf.cli.terminal import not_printed, remark, say, visible

_COMMANDS = (demo, rules, fit, explain, show, replay, serve, benchmark)
_ABOUT = """\
Counterfactual explanations for tabular classifiers:
what would have to be different for the answer to change?"""
_CODES = """\
exit codes:
  0 done   1 failed   2 usage error   130 stopped by Ctrl-C
  3 done, but some rows have no counterfactual, or a replay differs
Every error is one line on stderr that starts with "nicecf: "."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code; errors are printed in one line."""
    if sys.stdout is None:
        remark("standard output is closed; open it, or redirect it, for example to /dev/null.")
        return FAILED
    given = list(sys.argv[1:] if arguments is None else arguments)
    if any("\0" in one for one in given):
        remark("an argument contains a zero byte, which cannot be part of a file, column or class name. Remove it.")
        return MISUSED
    return _flushed(_run(given))


def _run(given: list[str]) -> int:
    try:
        return _done(given)
    except SystemExit as end:
        remark(f"the code of the model ended the program (SystemExit: {end.code}).")
        return FAILED
    except BrokenPipeError:  # the reader of the pipe has gone
        return FAILED
    except KeyboardInterrupt as stop:
        remark("stopped; finished work is kept, and no file is half-written.")
        return stop.code if isinstance(stop, _Signal) else INTERRUPTED
    except Exception as error:
        if os.environ.get("NICECF_DEBUG"):
            raise
        return _failed(error)


def _done(given: list[str]) -> int:
    try:
        options = _parser().parse_args(given)
    except SystemExit as end:  # argparse has printed the reason
        return end.code if isinstance(end.code, int) else FAILED
    options.command_line = visible(shlex.join(["nicecf", *given]))
    with _signals_as_interrupts(), _warnings_in_one_line(), _every_character():
        with speaking(getattr(options, "language", None)):
            code: int = options.run(options)
        return code


def _flushed(code: int) -> int:
    """The exit code, after flushing standard output; FAILED if that is not possible."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        # At exit Python flushes standard output again and prints its own error; it does not for this one.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        if code in (DONE, INCOMPLETE) and isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            return _failed(not_printed(error))
        return FAILED
    return code


def _failed(error: Exception) -> int:
    from nicecf.exceptions import NicecfError, OptionError
    from nicecf.support.files import reason

    if isinstance(error, (NicecfError, ImportError)):
        # The command line prints nothing above: NICECF_DEBUG=1 shows the original error.
        remark(str(error).replace(" (the original error is above)", ""))
        return MISUSED if isinstance(error, OptionError) else FAILED
    if isinstance(error, OSError):
        # An error of the system is not a bug in nicecf, even if there is no better message for it.
        named = "" if error.filename is None else f"{error.filename}: "
        remark(f"{named}the system says: {reason(error)}.")
        return FAILED
    if isinstance(error, MemoryError):
        remark("there is not enough memory. Use fewer rows at a time.")
        return FAILED
    remark(
        f"{type(error).__name__}: {error}. This should not happen: please report it, with the traceback that "
        "NICECF_DEBUG=1 in the environment shows."
    )
    return FAILED


class _Parser(argparse.ArgumentParser):
    """argparse with errors in one line and without abbreviations, which would break scripts later."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        remark(f"{message}. See: {self.prog} --help")
        raise SystemExit(MISUSED)

    def print_help(self, file: Any = None) -> None:
        """Unlike in argparse, failing to print is an error."""
        say(self.format_help().rstrip("\n"))


class _Version(argparse.Action):
    """Prints the version, which is looked up only on request."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> NoReturn:
        from importlib.metadata import version

        say(f"nicecf {version('nicecf')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="nicecf", description=_ABOUT, epilog=_CODES, formatter_class=form)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    for command in _COMMANDS:
        command.add(commands)
    return parser


class _Signal(KeyboardInterrupt):
    """Another signal to stop than Ctrl-C; the same code cleans up after both."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP raise, so that unfinished files are removed; ignored signals stay ignored."""

    def stop(number: int, _: object) -> NoReturn:
        raise _Signal(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    is_main = threading.current_thread() is threading.main_thread()
    ours = [number for number in numbers if is_main and before[number] is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def _every_character() -> Iterator[None]:
    """Print characters that the terminal cannot show as codes, instead of failing."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or stream.errors != "strict":
        yield
        return
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            stream.reconfigure(errors="strict")


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        remark(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]  # unused parameters are collected in *_
        yield
