"""The command line. Commands import what they need when they run, so that --help is instant."""

import os
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Any, NoReturn

from theodolite.cli.interrupts import Interrupted
from theodolite.errors import EngineFallback, EvidenceError, printable


def main() -> NoReturn:
    """Run a command; whatever goes wrong ends in one line and a documented exit code."""
    from theodolite.cli.program import program

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            program()(prog_name="theodolite")
    except EvidenceError as error:
        _end(str(error), error.exit_code)
    except Interrupted as interrupted:
        resume_hint = "finished work is kept; run the same command to resume"
        how = resume_hint if interrupted.resumable else "run the same command to start again"
        _end(f"stopped; {how}", interrupted.exit_code)
    except OSError as error:
        name = f" ({error.filename})" if error.filename else ""
        _end(f"{error.strerror or error}{name}", 2)
    except MemoryError:
        _end("out of memory: use fewer samples, concepts or resamples", 1)
    except Exception as error:  # noqa: BLE001  the last line of defense
        if os.environ.get("THEODOLITE_DEBUG"):
            traceback.print_exc()
        if isinstance(error, ModuleNotFoundError) and (extra := _extra(error)):
            _end(f"this needs {error.name}. Install it: pip install 'theodolite[{extra}]'", 2)
        kind = type(error).__name__
        _end(f"internal error ({kind}: {error}); set THEODOLITE_DEBUG=1 for a traceback", 1)
    sys.exit(0)


def _extra(error: ModuleNotFoundError) -> str | None:
    """The extra that brings a missing library; one that nothing brings is a fault of ours."""
    from theodolite._storage.optional import find_extra

    return find_extra(error.name or "")


_usual_warning = warnings.showwarning


def _show_warning(
    message: Warning | str, category: type[Warning], *where: Any, **named: Any
) -> None:
    """What is wrong with a file or a cluster, without the place in our code where it was seen."""
    if issubclass(category, EngineFallback):
        sys.stderr.write(f"theodolite: {printable(message, 1000)}\n")
    else:
        _usual_warning(message, category, *where, **named)


def _end(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"theodolite: {printable(message, 1000)}\n")
    sys.exit(code)
