"""Figures, cells and verdicts of entries as short texts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theodolite_reproductions.claims.results import SAME, EntryAnswer, Figure, OptionMove
from theodolite_reproductions.claims.status import (
    OPTION,
    PROVEN,
    READING,
    STATES,
    EntryCell,
    EntryStatus,
)

MOST = 110
"""Characters of the printed figures that a cell of a table shows."""
OWN = "the paper's data and network"
LONG = 8
"""Longer lists are told by their length."""


def number(value: float) -> str:
    """Three digits that tell something.

    >>> number(35.0), number(-0.31846), number(93.828), number(0.0034), number(66000)
    ('35', '-0.318', '93.8', '0.0034', '66000')
    """
    if value == round(value) and abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:.3g}"


def optional(value: float | None) -> str:
    """A number where there is one."""
    return "" if value is None else number(value)


def printed_figures(content: Mapping[Any, Any]) -> str:
    """What a paper prints, with its own digits, on one line.

    >>> printed_figures({"value": 99.95, "top": [1, 3, 5]})
    'value 99.95; top 1, 3, 5'
    """
    text = "; ".join(f"{key} {_printed(value)}" for key, value in content.items())
    return text if len(text) <= MOST else text[: MOST - 2].rsplit(" ", 1)[0] + " …"


def _printed(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{key} {_printed(inner)}" for key, inner in value.items()) + ")"
    if isinstance(value, list | tuple):
        if len(value) > LONG:
            return f"{len(value)} values"
        return ", ".join(_printed(inner) for inner in value)
    return str(value)


def figures(content: Mapping[str, Figure]) -> str:
    """What came out here, on one line.

    >>> figures({"one concept": 96.2499, "units": 1280, "length": None})
    'one concept 96.2; units 1280; length –'
    """
    return "; ".join(f"{name} {_figure(value)}" for name, value in content.items())


def _figure(value: Figure) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else number(float(value))


def interval(answer: EntryAnswer) -> str:
    """The signed effect with its interval; empty without one."""
    if answer.effect is None or answer.low is None or answer.high is None:
        return ""
    return f"{number(answer.effect)} [{number(answer.low)}, {number(answer.high)}]"


def headline(status: EntryStatus, *, where: bool = True) -> str:
    """Where an entry stands, in words, with how many cells say so.

    Args:
        status: What is known of the entry.
        where: Whether data and network are named that a claim does not carry over to.
    """
    entry, state = status.entry, status.state
    if state == "proven":
        return PROVEN
    if state == "option":
        looked_at = {moved.entry for moved in status.moves}
        sure = {moved.entry for moved in status.moves if moved.low > 0 or moved.high < 0}
        return f"{OPTION}: moves {len(sure)} of {len(looked_at)} findings"
    if state == "reading":
        return f"{READING}: {_of_cells(status.measured or status.printed)}"
    said, beside = _measured(status, where=where), _by_its_tables(status)
    if said or beside:
        return "; ".join(part for part in (said, beside) if part)
    if entry.reason and entry.estimate:
        return f"{entry.reason} ({entry.estimate})"
    return f"not testable here ({entry.reason})" if entry.reason else "open"


def _by_its_tables(status: EntryStatus) -> str:
    verdict = status.printed_verdict
    if verdict is None:
        return ""
    cells = f" ({_of_cells(status.printed)})" if len(status.printed) > 1 else ""
    return f"by the paper's own printed table: {verdict.agreement}{cells}"


def _measured(status: EntryStatus, *, where: bool) -> str:
    if status.verdict is None:
        return ""
    said: str = status.verdict.word
    if where and said == "does not carry over" and (to := elsewhere(status)):
        said = f"{said} to {to}"
    quantities = Counter(status.fields(cell)["quantity"] for cell in status.measured)
    n = quantities.pop(SAME, 0)
    if quantities:
        partly = f" in {quantities.total()} of {quantities.total() + n} cells" if n else ""
        said += f" ({', '.join(sorted(map(_name, quantities)))}{partly})"
    if len(status.measured) > 1:
        said += f", {_of_cells(status.measured)}"
    return said + _detectable(status) if said.startswith("undecided") else said


def _of_cells(cells: Sequence[EntryCell]) -> str:
    many = Counter(cell.word for cell in cells)
    against = many["against"] + many["null"]
    return f"{many['for']} of {len(cells)} cells for, {against} against"


def _detectable(status: EntryStatus) -> str:
    known = [cell.answer.min_detectable_effect for cell in status.measured]
    least = min((value for value in known if value is not None), default=None)
    return "" if least is None else f", would find {number(least)}"


def elsewhere(status: EntryStatus) -> str:
    """The data and the networks that are not the paper's."""
    on = tested_on(status)
    return "" if on == OWN else on


def _name(stand_in: str) -> str:
    return stand_in.partition(": ")[2] or stand_in


def tested_on(status: EntryStatus) -> str:
    """Data and network of what was measured, by short names."""
    fields = [
        status.stand_ins()[name] for name in dict.fromkeys(c.protocol for c in status.measured)
    ]
    if not fields:
        return "the paper's tables" if status.printed else ""
    named = [_name(own[field]).partition(",")[0] for field in ("data", "network") for own in fields]
    return "; ".join(dict.fromkeys(name for name in named if name != SAME)) or OWN


def stand_ins(status: EntryStatus) -> str:
    """Describe what is the paper's own and what substitutes it, field by field, for each run."""
    own = status.stand_ins()
    rows = {
        name: "; ".join(
            f"{field}: {value.replace('stand-in: ', 'substitute: ')}"
            for field, value in fields.items()
        )
        for name, fields in own.items()
    }
    if len(set(rows.values())) == 1:
        return next(iter(rows.values()))
    return " · ".join(f"`{name}`: {row}" for name, row in rows.items())


def ours(status: EntryStatus) -> str:
    """Our effect in the cells nearest to the paper, of those that decide, and our figures."""
    deciding = [cell.answer for cell in status.measured or status.printed] or list(status.answers)
    if not deciding:
        return ""
    nearest = [answer for answer in deciding if answer.nearest] or deciding[:1]
    if len(nearest) > 1:  # one of each network
        return "; ".join(f"{interval(own)} ({own.settings['network']})" for own in nearest)
    return "; ".join(part for part in (interval(nearest[0]), figures(nearest[0].ours)) if part)


def settings(answer: EntryAnswer) -> str:
    """The cell in words."""
    return ", ".join(choice(name, value) for name, value in sorted(answer.settings.items()))


def state_counts(known: Iterable[EntryStatus]) -> str:
    """How many entries were measured here, and how many are counted apart."""
    own = Counter(status.state for status in known)
    return ", ".join(f"{own[state]} {state}" for state in STATES if own[state])


def choice(name: str, value: object) -> str:
    """One setting of a cell, by the last part of its dotted name."""
    return f"{name.rpartition('.')[2]} {value}"


def move(moved: OptionMove) -> str:
    """Describe by how much an option changes a finding."""
    ends = f"[{number(moved.low)}, {number(moved.high)}]"
    return f"{moved.before} to {moved.after}: moves {moved.entry} by {number(moved.value)} {ends}"


def not_at_hand(status: EntryStatus) -> str:
    """Name what the paper used and what is missing here, if that prevents a test."""
    needs, reason = status.entry.needs, status.entry.reason
    if status.state == "proven" or reason == "paper cites another":
        return ""
    missing = {"no data": needs.data, "no people": needs.data, "no network": needs.network}
    if reason in missing:
        return missing[reason] or ""
    return "; ".join(part for part in (needs.data, needs.network) if part)


def decided_by(status: EntryStatus) -> str:
    """The tests or the protocol that decide it."""
    if status.entry.proofs:
        return ", ".join(f"`{proof.rpartition('::')[2]}`" for proof in status.entry.proofs)
    deciding = dict.fromkeys(cell.protocol for cell in status.measured or status.printed)
    return ", ".join(f"`{name}`" for name in deciding or (status.entry.protocol or "",) if name)
