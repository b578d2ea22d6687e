"""The `partita` command: train, predict, evaluate, inspect, explain, select, simulate, demo.

Results go to standard output (or a file), everything else to standard error. The exit status is
0, or 1 if the run was interrupted, or 2 if something is wrong with the arguments or the data.
Nothing heavy is imported before a command runs, so that `partita --help` answers at once.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    try:
        status = _run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        print("partita: interrupted; nothing was written.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python would complain again when it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
        print(f"partita: {where}{error.strerror or error}.", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"partita: {error}", file=sys.stderr)
        return 2
    return status or 0


def _run(given: list[str]) -> int:
    """Understand the arguments, which imports what they are about, and do what they say."""
    # Here, so that Ctrl-C is heeded from the first moment on.
    from partita.cli.heartbeat import signs_of_life
    from partita.cli.options import say_once
    from partita.cli.outputs import check_files
    from partita.cli.parser import build_parser

    # Whoever says nothing asks what there is to say.
    options = build_parser().parse_args(given or ["--help"])
    # Flags that were not given are not there; whether both go together is checked later.
    checkpoint = getattr(options, "checkpoint", None)
    if getattr(options, "resume", False) and checkpoint:
        is_there = Path(checkpoint).exists()
        words = "Going on from" if is_there else "Starting anew, since there is no"
        print(f"{words} {checkpoint}", file=sys.stderr)
    say_once.cache_clear()
    check_files(options)
    with signs_of_life():
        status: int = options.run(options)
    if sys.stdout is not None:  # which is so if it was closed
        sys.stdout.flush()
    return status
