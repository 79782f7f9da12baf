"""Progress on stderr: a bar for people, a line of JSON now and then for logs; and the price."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from theodolite.evidence.pipeline_output import Progress, silent

if TYPE_CHECKING:
    from theodolite._runs.engine.run_cost import RunCost

EVERY_SECONDS = 30.0
NO_PLAN = (
    "no estimate for evidence in memory: only audits of a model and of sharded evidence "
    "(`theodolite data store`) have one"
)


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
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        """Pieces a second."""

        def render(self, task: Task) -> Text:
            """Return the rate as text for rich."""
            return Text("" if task.speed is None else f"{task.speed:,.3g}/s")

    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
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
    begun: dict[str, tuple[float, int]] = {}

    def progress(what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if what not in begun or done < begun[what][1]:
            begun[what] = now, done
        if now - last["at"] >= EVERY_SECONDS:
            last["at"] = now
            started, before = begun[what]
            rate = (done - before) / max(now - started, 1e-9)
            left = round((total - done) / rate, 1) if rate else None
            content = {"step": what, "done": done, "of": total, "rate": round(rate, 3)}
            sys.stderr.write(json.dumps(content | {"seconds_left": left}) + "\n")

    return progress


def print_price(estimate: "RunCost") -> None:
    """What a long run will take, before it begins."""
    sys.stderr.write(f"theodolite: {estimate.line()}\n")


def print_rehearsal(estimate: "RunCost | None") -> None:
    """The end of a dry run: the price, pass by pass, and what is computed from a draw."""
    if estimate is None:
        sys.stdout.write(NO_PLAN + "\n")
        return
    lines = [estimate.line(), *estimate.table(), *(f"note: {note}" for note in estimate.notes)]
    sys.stdout.write("\n".join(lines) + "\n")
