"""Who took part, without anybody being found by what they told about themselves."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite_study.export_rows import Snapshot
from theodolite_study.rows import Found

FEWEST = 3
"""Fewer people of one age band, gender and country might be recognised."""
BANDS = ("age_band", "gender", "country")


@dataclass(frozen=True)
class Bands:
    """What is told of each person, and of how many it is not told."""

    of: Mapping[str, tuple[str | None, ...]]
    """By pseudonym: age band, gender, country."""
    suppressed: int

    def group(self, band: str) -> dict[str, str]:
        """Pseudonym to band, of those of whom it is told and who are enough."""
        at = BANDS.index(band)
        told = {who: str(said[at]) for who, said in self.of.items() if said[at] is not None}
        many = Counter(told.values())
        return {who: said for who, said in told.items() if many[said] >= FEWEST}


def banded(given: Mapping[str, Sequence[str | None]], voters: Collection[str]) -> Bands:
    """Leave out the answers of everybody whose combination fewer than three voters share.

    Whoever did not vote hides nobody, and nothing is told of them.

    >>> said = {"a": ("18–24", "man", None), "b": (None, None, None)}
    >>> banded(said, ["a"])
    Bands(of={'a': (None, None, None), 'b': (None, None, None)}, suppressed=1)
    """
    many = Counter(tuple(said) for who, said in given.items() if who in voters)
    nothing = (None,) * len(BANDS)
    kept = {
        who: tuple(said) if who in voters and many[tuple(said)] >= FEWEST else nothing
        for who, said in given.items()
    }
    lost = sum(tuple(said) != kept[who] for who, said in given.items())
    return Bands(kept, lost)


def bands_of(study: Snapshot) -> Bands:
    """The bands of a study's people."""
    voted = {vote.participant_id for vote in study.votes.values()}
    return banded(
        {p.pseudonym: (p.age_band, p.gender, p.country) for p in study.people},
        {p.pseudonym for p in study.people if p.id in voted},
    )


def participants_table(study: Snapshot, bands: Bands) -> dict[str, list[Any]]:
    """A row for each person who agreed: how they ended, bands, and what they gave."""
    own, practised = _grouped(study.assignments), _grouped(study.practice)
    rows = [
        {
            "participant": person.pseudonym,
            "state": person.state,
            **dict(zip(BANDS, bands.of[person.pseudonym], strict=True)),
            **_given(study, own[person.id], practised[person.id]),
        }
        for person in study.people
    ]
    names = ["participant", "state", *BANDS, *GIVEN]
    return {name: [row[name] for row in rows] for name in names}


GIVEN = ("votes", "surplus_votes", "checks", "checks_passed", "practice_items", "most_of_a_picture")


def _grouped(rows: Sequence[Found]) -> dict[Any, list[Found]]:
    found: dict[Any, list[Found]] = defaultdict(list)
    for row in rows:
        found[row.participant_id].append(row)
    return found


def _given(study: Snapshot, own: Sequence[Found], practised: Sequence[Found]) -> dict[str, int]:
    votes = [study.votes[row.id] for row in own if row.id in study.votes]
    checks = [study.checks[row.id] for row in own if row.id in study.checks]
    met = [row.image_exposure_index for row in own if row.id in study.votes]
    given = (
        sum(vote.counted for vote in votes),
        sum(not vote.counted for vote in votes),
        len(checks),
        sum(check.passed for check in checks),
        sum(row.answers is not None for row in practised),
        max(met, default=0),
    )
    return dict(zip(GIVEN, given, strict=True))
