"""Figures, cells and verdicts of entries as short texts."""

from collections.abc import Mapping
from typing import Any

from theodolite_reproductions.claims.results import EntryAnswer, Figure, OptionMove
from theodolite_reproductions.claims.status import EntryStatus

MOST = 110
"""Characters of the printed figures that a cell of a table shows."""
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


def ours(status: EntryStatus) -> str:
    """Our effect in the cell nearest to the paper, and our figures."""
    nearest = [answer for answer in status.answers if answer.nearest] or list(status.answers)
    if not nearest:
        return ""
    answer = nearest[0]
    return "; ".join(part for part in (interval(answer), figures(answer.ours)) if part)


def settings(answer: EntryAnswer) -> str:
    """The cell in words."""
    return ", ".join(choice(name, value) for name, value in sorted(answer.settings.items()))


def choice(name: str, value: object) -> str:
    """One setting of a cell, by the last part of its dotted name."""
    return f"{name.rpartition('.')[2]} {value}"


def move(moved: OptionMove) -> str:
    """By how much an option moves a finding."""
    ends = f"[{number(moved.low)}, {number(moved.high)}]"
    return f"{moved.before} to {moved.after}: moves {moved.entry} by {number(moved.value)} {ends}"


def not_at_hand(status: EntryStatus) -> str:
    """What the paper used and is missing here, where that stands in the way."""
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
    return f"`{status.entry.protocol}`" if status.entry.protocol else ""
