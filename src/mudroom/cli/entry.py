"""The one place where the end of a command becomes a message and an exit status."""

from __future__ import annotations

import errno
import io
import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import NoReturn

import click

from mudroom.cli.app import main
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import make_inert, make_inert_block
from mudroom.errors import CODES, Code, InvalidConfig, MudroomError

__all__ = ["run", "run_command"]

_OUTPUT_LOST = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What a write to standard output can end in."""


def run() -> NoReturn:
    """Run the command line of this process; a person never sees a traceback."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of files need not be text, nor a terminal able to show every letter.
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = _tell_fault
    logging.getLogger("mudroom").addHandler(_FaultHandler(logging.WARNING))
    status = run_command(sys.argv[1:])
    # All is done: a Ctrl-C that comes now must not change what the status says.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except OSError as error:
        status = _tell_output_lost(error)
    raise SystemExit(int(status))


def run_command(arguments: Sequence[str], command: click.Command = main) -> int:
    """The status of a command line; each way in which it may end has one, and words on stderr."""
    try:
        result = command(list(arguments), prog_name="mudroom", standalone_mode=False)
    except click.ClickException as error:
        return _tell_usage(error)
    except (click.Abort, KeyboardInterrupt):
        _write("cancelled\n")
        return ExitStatus.CANCELLED
    except InvalidConfig as error:
        label = "run" if error.is_of_run else "settings"
        for fault in error.faults:
            _write(f"{label:<10} {make_inert(fault)}\n")
        if not error.is_of_run:
            _write(f"help       {error.advice}\n")
        return ExitStatus.USAGE
    except MudroomError as error:
        _write(f"{error.code.value}  {make_inert(error.message)}\nhelp       {error.advice}\n")
        return ExitStatus.FAILED
    except OSError as error:
        if error.filename is None and error.errno not in _OUTPUT_LOST:
            raise
        return _tell_output_lost(error)
    # Without standalone mode click returns the status of an Exit, and otherwise what the command returned.
    return result if isinstance(result, int) else ExitStatus.DONE


def _tell_usage(error: click.ClickException) -> ExitStatus:
    """The usage error as click words it, with what the arguments brought made inert."""
    words = io.StringIO()
    error.show(file=words)
    _write(make_inert_block(words.getvalue()))
    return ExitStatus.USAGE


def _tell_output_lost(error: OSError) -> ExitStatus:
    """The reader of standard output is gone, which needs no words, or it cannot be written."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)  # what is still buffered must not be tried, and complained of, once more
    if not isinstance(error, BrokenPipeError):
        where = make_inert(str(error.filename)) if error.filename else "standard output"
        why = "it is closed" if error.errno == errno.EBADF else error.strerror or type(error).__name__
        _write(f"FAILED     {where}: {why}\n")
    return ExitStatus.FAILED


def _tell_fault(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """A fault of ours: one line, and the details in a file for whoever mends it."""
    name = _save_fault("".join(traceback.format_exception(kind, fault, trace)))
    _write(
        f"{Code.INTERNAL_ERROR.value}  {kind.__name__}; details in {name}\n"
        f"help       {CODES[Code.INTERNAL_ERROR].advice}\n"
    )


class _FaultHandler(logging.Handler):
    """What the floors log of a fault that cost one page: a line, and the details in a file."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line."""
        first, _, details = record.getMessage().partition("\n")
        if record.exc_info and record.exc_info[0] is not None:
            details += "".join(traceback.format_exception(*record.exc_info))
        line = make_inert(first)
        if details:
            line += f"; details in {_save_fault(details)}"
        _write(f"{record.levelname.lower():<10} {line}\n")


def _save_fault(details: str) -> str:
    """The name of a new file, closed to others, that holds the details; or where there is none, that."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="mudroom-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.write(details)
    except OSError:
        return "no file, since none could be written"
    return file.name


def _open_missing_streams() -> None:
    """Descriptors 0, 1 and 2 are open, so that no file or socket of ours is taken for one of them.

    What stands in for a closed one fails as that would: nothing was given, and no result can be handed on.
    """
    for expected, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(expected)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest that is free: this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - a descriptor, for as long as we run
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115


def _write(words: str) -> None:
    try:
        sys.stderr.write(words)
        sys.stderr.flush()
    except OSError:
        # Nobody listens; the status still tells.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
