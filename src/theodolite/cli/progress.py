"""Progress on stderr: a bar for people, a line of JSON now and then for logs."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from theodolite.evidence.produced import Progress, silent

EVERY_SECONDS = 30.0


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Progress]:
    """A progress function for the time of a command."""
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _bars() as progress:
            yield progress
    else:
        yield _lines()


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield progress


def _lines() -> Progress:
    last = {"at": time.monotonic()}

    def progress(what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - last["at"] >= EVERY_SECONDS:
            last["at"] = now
            line = json.dumps({"step": what, "done": done, "of": total})
            sys.stderr.write(line + "\n")

    return progress
