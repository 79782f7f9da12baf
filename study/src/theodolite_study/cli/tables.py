"""What the commands about studies print."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from theodolite.errors import printable

if TYPE_CHECKING:
    from theodolite_study.progress import StudyProgress
    from theodolite_study.quality import Work

SHOWN = 8


def print_progress(now: "StudyProgress", works: Sequence["Work"]) -> None:
    """How far, what holds it up, who works how."""
    out = Console(highlight=False)
    share = now.filled / now.seats if now.seats else 0.0
    out.print(Text(printable(f"{now.title} ({now.slug}): {now.state}"), style="bold"))
    out.print(
        f"{now.filled:,} of {now.seats:,} votes ({share:.0%}); {now.held} being given, "
        f"{now.lapsed} left behind, {now.open:,} waiting"
    )
    people = ", ".join(f"{count} {state}" for state, count in now.people.items())
    out.print(f"people: {people or 'none yet'}")
    if now.alarm:
        out.print(
            Text(
                f"{now.surplus_share:.0%} of the votes came too late to count: raise lease_minutes "
                "in the next study.",
                style="bold red",
            )
        )
    if now.stuck:
        out.print(
            f"{len(now.stuck)} explanations need people who have not met them: {now.new_people} or "
            "more new people"
        )
    table = Table("technique", "votes", "of", box=None, pad_edge=False, header_style="dim")
    for name, filled, seats in now.techniques:
        table.add_row(Text(printable(name)), f"{filled:,}", f"{seats:,}")
    out.print(table)
    signs = [work for work in works if work.signs]
    for work in signs[:SHOWN]:
        out.print(Text(printable(f"{work.pseudonym}: {'; '.join(work.signs)}")))
    if len(signs) > SHOWN:
        out.print(f"… and {len(signs) - SHOWN} more")
