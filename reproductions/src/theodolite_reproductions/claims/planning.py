"""What a run of a protocol can find, before it is run."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import ndtri

from theodolite_reproductions.claims.entry import ON_A_LINE, PaperEntry
from theodolite_reproductions.claims.power import SEEN, units_for_correlation
from theodolite_reproductions.claims.status import EntryStatus

INSIDE = float(ndtri(0.975) + ndtri(0.9))
"""A margin of so many standard errors holds the 95 % interval of no effect in four of five runs:
either bound leaves it in one run of ten."""


@dataclass(frozen=True)
class EntryPlan:
    """The power of a run for one entry, as far as it is known before the run."""

    entry: PaperEntry
    units: int | None
    """Units of the last run that is stored; None without one."""
    min_detectable_effect: float | None
    """The effect that four of five such runs find; None before the first run."""
    n_required: int | None
    """Units with which four of five runs find the smallest effect of the claim."""

    @property
    def enough(self) -> bool | None:
        """Whether the smallest effect is found in four of five runs; None where nothing tells."""
        if self.units is None or self.n_required is None:
            return None
        return self.units >= self.n_required


def plan_of(known: Iterable[EntryStatus], protocol: str) -> tuple[EntryPlan, ...]:
    """The plans of the entries that a protocol decides.

    Correlations follow from the number of units alone. Other effects need a spread, which is that
    of the stored run: the units needed are its units times the square of what they find over the
    smallest effect.
    """
    return tuple(
        _plan(status)
        for status in known
        if status.entry.protocol == protocol
        and status.entry.kind != "option"
        and status.entry.test.type in (*ON_A_LINE, "equivalence")
    )


def _plan(status: EntryStatus) -> EntryPlan:
    entry = status.entry
    nearest = [cell for cell in status.cells if cell.answer.nearest]
    own = sorted(nearest, key=lambda cell: cell.protocol != entry.protocol)
    answer = own[0].answer if own else None
    units = None if answer is None else answer.n
    detectable = None if answer is None else answer.min_detectable_effect
    smallest = entry.effect or entry.test.margin
    needed = None
    if entry.test.type == "correlation" and smallest is not None and smallest < 1:
        needed = units_for_correlation(smallest)
    elif units is not None and detectable is not None and smallest is not None:
        stricter = INSIDE / SEEN if entry.test.type == "equivalence" else 1.0
        needed = max(2, math.ceil(units * (stricter * detectable / smallest) ** 2))
    return EntryPlan(entry, units, detectable, needed)
