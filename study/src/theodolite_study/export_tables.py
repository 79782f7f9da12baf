"""The tables of an export: what was asked, said and voted, and in which order."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from theodolite.ext.studies import (
    QUESTIONS,
    Instance,
    Table,
    TableName,
    columns_of,
    concepts_text,
)
from theodolite_study.export_order import Moments
from theodolite_study.export_rows import Snapshot
from theodolite_study.rows import Found

Rows = list[dict[str, Any]]
Key = TypeVar("Key", bound=Hashable)


def core_tables(
    study: Snapshot, *, texts: bool, moments: Moments = "of the study"
) -> dict[TableName, Table]:
    """The four tables that a learned score reads. Without texts these are empty, not missing."""
    said = list(_said(study))
    return {
        "votes": columns_of("votes", _votes(study, moments)),
        "baselines": columns_of("baselines", [_baseline(*one, texts=texts) for one in said]),
        "boxes": columns_of("boxes", [box for one in said for box in _boxes(*one)]),
        "instances": columns_of("instances", _instances(study)),
    }


def seconds(
    start: datetime | None, end: datetime | None, moments: Moments = "of the study"
) -> float | None:
    """From one moment to another; none if one is missing or clocks ran back.

    To the microsecond, or in whole seconds where moments are told of each person alone.
    """
    if start is None or end is None or end < start:
        return None
    return round((end - start).total_seconds(), 6 if moments == "of the study" else 0)


def places(happened: Iterable[tuple[Any, Any, Key]], moments: Moments) -> dict[Key, int]:
    """Places from 1, by time: in one order of everybody, or in an order of each person's own.

    Args:
        happened: Person, when (with what tells equal moments apart), and what.
        moments: In which order.
    """
    found: dict[Key, int] = {}
    counts: Counter[Any] = Counter()
    for who, _, what in sorted(happened, key=lambda one: one[1]):
        one = who if moments == "of each person" else None
        counts[one] += 1
        found[what] = counts[one]
    return found


def seated(study: Snapshot) -> Iterator[tuple[Found, Found, str]]:
    """Assignment, instance and pseudonym of everything real, by instance, then by person."""
    real, who = study.of_kind("real"), study.pseudonyms()
    found = [row for row in study.assignments if row.instance_id in real]
    for row in sorted(
        found, key=lambda row: (real[row.instance_id].place, who[row.participant_id])
    ):
        yield row, real[row.instance_id], who[row.participant_id]


def _votes(study: Snapshot, moments: Moments) -> Rows:
    given = study.votes.values()
    place = places(
        ((v.participant_id, (v.at, v.assignment_id), v.assignment_id) for v in given), moments
    )
    rows = []
    for row, shown, who in seated(study):
        if row.id not in study.votes:
            continue
        vote, said = study.votes[row.id], study.baselines[row.id]
        before = None if said.copied_from else seconds(row.leased_at, row.baseline_at, moments)
        rows.append(
            {
                "instance": shown.key, "technique": shown.technique,
                "picture_key": shown.picture_key, "participant": who,
                **{name: getattr(vote, name) for name in QUESTIONS},
                "counted": vote.counted, "position": row.position,
                "image_exposure_index": row.image_exposure_index,
                "seconds_before": before,
                "seconds_after": seconds(row.revealed_at, vote.at, moments),
                "at_order": place[row.id],
            }
        )  # fmt: skip
    return rows


def _said(study: Snapshot) -> Iterator[tuple[Found, Found, str]]:
    for row, shown, who in seated(study):
        if row.id in study.baselines:
            yield study.baselines[row.id], shown, who


def _baseline(said: Found, shown: Found, who: str, *, texts: bool) -> dict[str, Any]:
    return {
        "instance": shown.key,
        "participant": who,
        "text": said.text if texts else "",
        "copied": said.copied_from is not None,
    }


def _boxes(said: Found, shown: Found, who: str) -> Rows:
    return [
        {"instance": shown.key, "participant": who, "number": number}
        | {side: float(box[side]) for side in ("x", "y", "width", "height")}
        for number, box in enumerate(said.boxes, start=1)
    ]


def _instances(study: Snapshot) -> Rows:
    rows = []
    for row in study.of_kind("real").values():
        shown = Instance.model_validate(row.record).shown
        concepts = None if shown.concepts is None else concepts_text(shown.concepts)
        rows.append(
            {
                "instance": row.key, "picture_key": row.picture_key, "technique": row.technique,
                "modality": row.modality, "predicted": shown.predicted, "picture": shown.picture,
                "map": shown.map, "concepts": concepts,
            }
        )  # fmt: skip
    return rows


ORDER = (
    "instance", "participant", "kind", "position", "image_exposure_index", "state", "copied",
    "baseline_order", "reveal_order", "vote_order",
    "seconds_baseline_to_reveal", "seconds_reveal_to_vote",
)  # fmt: skip


def order_table(study: Snapshot, moments: Moments = "of the study") -> dict[str, list[Any]]:
    """What came first: own answer, explanation, ratings.

    Places in one order of all moments, or in one of each person's own: who knows when somebody was
    there might find them in an order of everybody.

    A clock that was set back gives equal moments; these are in the order that the database allows
    alone, and their seconds tell. There are no times of day in it.
    """
    who, shown = study.pseudonyms(), study.of_kind("real", "gold")
    rows = []
    for row in study.assignments:
        given = study.votes.get(row.id) or study.checks.get(row.id)
        said = study.baselines.get(row.id)
        rows.append((row, said, (row.baseline_at, row.revealed_at, given and given.at)))
    every = (
        (row.participant_id, (moment, stage, row.id), (row.id, stage))
        for row, _, stages in rows
        for stage, moment in enumerate(stages)
        if moment
    )
    place = places(every, moments)
    rows.sort(key=lambda one: (who[one[0].participant_id], one[0].position))
    return _columns(
        ORDER,
        [
            (
                shown[row.instance_id].key, who[row.participant_id],
                shown[row.instance_id].kind, row.position, row.image_exposure_index, row.state,
                said is not None and said.copied_from is not None,
                *(place.get((row.id, stage)) for stage in range(3)),
                seconds(at[0], at[1], moments), seconds(at[1], at[2], moments),
            )
            for row, said, at in rows
        ],
    )  # fmt: skip


CHECKS = ("participant", "instance", "kind", "attempt", "position", "passed", *QUESTIONS)


def checks_table(study: Snapshot) -> dict[str, list[Any]]:
    """Practice items and hidden checks: what has one right answer."""
    who, shown = study.pseudonyms(), study.of_kind("training", "gold")
    rows: list[tuple[Any, ...]] = []
    for row in study.practice:
        if row.answers is not None:
            about = (who[row.participant_id], shown[row.instance_id].key, "training", row.attempt)
            rows.append((*about, None, row.passed, *_answers(row.answers)))
    for row in study.assignments:
        if row.id in study.checks:
            check = study.checks[row.id]
            about = (who[row.participant_id], shown[row.instance_id].key, "gold", None)
            rows.append((*about, row.position, check.passed, *_answers(check.answers)))
    rows.sort(key=lambda one: (one[0], one[2] != "training", one[3] or 0, one[4] or 0, one[1]))
    return _columns(CHECKS, rows)


def _answers(answers: Mapping[str, int]) -> list[int | None]:
    return [answers.get(name) for name in QUESTIONS]


RANKINGS = ("participant", "question", "place", "item", "item_number")


def rankings_table(study: Snapshot) -> dict[str, list[Any]]:
    """Orders given after the study: place 1 is what a person put first."""
    who = study.pseudonyms()
    rows = []
    for row in study.rankings:
        for name, order in row.answers.items():
            items = study.protocol.rankings[name].items
            rows += [
                (who[row.participant_id], name, place, items[number], number)
                for place, number in enumerate(order, start=1)
            ]
    return _columns(RANKINGS, sorted(rows))


DESIGN = ("instance", "seat", "planned_row", "planned_position", "participant", "position", "state")


def design_table(study: Snapshot) -> dict[str, list[Any]]:
    """The n seats of each explanation: who was planned for it, and who filled it."""
    who, real = study.pseudonyms(), study.of_kind("real")
    held = {row.id: row for row in study.assignments}
    rows = []
    for seat in sorted(study.seats, key=lambda one: (real[one.instance_id].place, one.slot_no)):
        by = held.get(seat.assignment_id) if seat.state == "filled" else None
        rows.append(
            (
                real[seat.instance_id].key, seat.slot_no + 1, seat.reserved_for,
                seat.planned_position, by and who[by.participant_id], by and by.position,
                "filled" if by else "open",
            )
        )  # fmt: skip
    return _columns(DESIGN, rows)


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
