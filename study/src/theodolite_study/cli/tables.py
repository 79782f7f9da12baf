"""Print progress tables on the command line. Used by `study status`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from theodolite.errors import printable

if TYPE_CHECKING:
    from theodolite_study.watch.participants import PersonRow
    from theodolite_study.watch.progress import StudyProgress

MAX_LISTED_PEOPLE = 8


def print_progress(
    now: "StudyProgress",
    techniques: Sequence[tuple[str, int, int]],
    people: Sequence["PersonRow"],
) -> None:
    """Print how far a study is, what delays it, and how its participants work."""
    out = Console(highlight=False)
    share = now.filled / now.seats if now.seats else 0.0
    head = f"{now.title} ({now.slug}): {now.state}, version {now.version_no} {now.version_state}"
    out.print(Text(printable(head), style="bold"))
    out.print(
        f"{now.filled:,} of {now.seats:,} votes ({share:.0%}); {now.held} being given, "
        f"{now.lapsed} left behind, {now.open:,} waiting"
    )
    ways = ", ".join(f"{count} {way.replace('_', ' ')}" for way, count in now.outcomes.items())
    out.print(f"people: {now.inside} inside{', ' if ways else ''}{ways}")
    if now.alarm:
        out.print(
            Text(
                f"{now.surplus_share:.0%} of the votes came too late to count: raise patience "
                "in the next study.",
                style="bold red",
            )
        )
    if now.available:
        out.print(f"{now.available:,} votes are nobody's yet: {now.new_people} or more new people")
    table = Table("technique", "votes", "of", box=None, pad_edge=False, header_style="dim")
    for name, filled, seats in techniques:
        table.add_row(Text(printable(name)), f"{filled:,}", f"{seats:,}")
    out.print(table)
    signs = [person for person in people if person.work.signs]
    for person in signs[:MAX_LISTED_PEOPLE]:
        out.print(Text(printable(f"{person.pseudonym}: {'; '.join(person.work.signs)}")))
    if len(signs) > MAX_LISTED_PEOPLE:
        out.print(f"… and {len(signs) - MAX_LISTED_PEOPLE} more")
