"""The `partita` command: train, predict, evaluate, inspect, explain, select, simulate, demo.

Results go to standard output (or a file), everything else to standard error. The exit status is
0, or 1 if the run was interrupted, or 2 if something is wrong with the arguments or the data.
Nothing heavy is imported before a command runs, so that `partita --help` answers at once.
"""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

__all__ = ["main"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the system where there is no room for a file."""
NO_FILE = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR)
"""Errors of the system where a path leads to no file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    try:
        # Here, so that Ctrl-C is heeded from the first moment on.
        from partita.cli.messages import harmless_messages

        with harmless_messages():
            return _status(arguments)
    except KeyboardInterrupt:  # before there is anything to say, or once more while it is said
        return 1


def _status(arguments: Sequence[str] | None) -> int:
    """What a command ends with; whatever goes wrong is a sentence."""
    try:
        status = _run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt as error:
        why = f", and {error}" if str(error) else ""
        print(f"partita: interrupted{why}; nothing was written.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _drop_output()
        return 1
    except MemoryError as error:
        print(
            f"partita: there is not enough memory for this ({str(error) or 'none was left'}). Give "
            "shorter sentences, fewer workers or smaller batches, or a machine with more.",
            file=sys.stderr,
        )
        return 2
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        advice = " Check the path." if error.errno in NO_FILE else ""
        if error.errno in FULL:
            if not where:  # files are named by whoever writes them
                where = "standard output: "
                _drop_output()
            advice = " Make room, or give another file."
        print(f"partita: {where}{error.strerror or error}.{advice}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"partita: {_as_typed(error)}", file=sys.stderr)
        return 2
    return status or 0


def _as_typed(error: ValueError) -> str:
    """What an error says, with flags where it names options; but of data as they are."""
    from partita.cli.parser import Parser
    from partita.cli.spelling import in_flags
    from partita.data.errors import DataError

    if isinstance(error, DataError) or not Parser.used:
        return str(error)
    return in_flags(str(error), Parser.used[-1].actions())


def _run(given: list[str]) -> int:
    """Understand the arguments, which imports what they are about, and do what they say."""
    # Here for the same reason.
    from pathlib import Path

    from partita.cli.heartbeat import signs_of_life
    from partita.cli.inputs import expand_patterns
    from partita.cli.options import say_once
    from partita.cli.outputs import check_files
    from partita.cli.parser import build_parser

    # Whoever says nothing asks what there is to say.
    try:
        options = build_parser().parse_args(given or ["--help"])
    except SystemExit:
        _flush_output()  # help that nobody gets is a failure
        raise
    # Flags that were not given are not there; whether both go together is checked later.
    checkpoint = getattr(options, "checkpoint", None)
    if getattr(options, "resume", False) and checkpoint:
        is_there = Path(checkpoint).exists()
        words = "Going on from" if is_there else "Starting anew, since there is no"
        print(f"{words} {checkpoint}", file=sys.stderr)
    say_once.cache_clear()
    expand_patterns(options)
    check_files(options)
    with signs_of_life():
        status: int = options.run(options)
    _flush_output()
    return status


def _flush_output() -> None:
    if sys.stdout is not None:  # which is so if it was closed
        sys.stdout.flush()


def _drop_output() -> None:
    """What is left to be written goes nowhere: Python would complain again when it closes it."""
    with suppress(OSError, ValueError):  # a program's stand-in for it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
