"""Build the tables of our export from answers collected in another tool."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import UnsafeInputError
from theodolite.ext.studies import (
    Instance,
    Material,
    TableName,
    checked_together,
    columns_of,
    image_exposure_index,
    plain_text,
)
from theodolite_study.convert.project_pages import get_asked_questions
from theodolite_study.protocol import Protocol
from theodolite_study.vote_tables import build_instances_table

Frame = tuple[float, float, float, float]
"""x, y, width, height in pixels."""


@dataclass(frozen=True)
class ForeignAnswer:
    """Answers of one rater about one explanation, as read from another tool."""

    instance: str
    rater: str
    """Name of the rater in the other tool; never written into a table."""
    at: tuple[str | int, ...]
    """Time of the answer, in any form that can be sorted."""
    ratings: Mapping[str, float]
    text: str = ""
    boxes: Sequence[Frame] = ()
    left_out: int = 0
    """Number of answers of a kind that our tables have no place for."""


@dataclass(frozen=True)
class ConvertedTables:
    """Four tables of converted answers, with notes about what they lack."""

    tables: Mapping[TableName, dict[str, list[Any]]]
    people: Mapping[str, str]
    """Pseudonym to name in the other tool. Keep it apart from the tables."""
    notes: tuple[str, ...] = field(default=())


def scale_frame(
    share: tuple[float, float, float, float], columns: float, rows: float
) -> Frame | None:
    """Convert a box from fractions of an image to pixels, clipped; None if nothing is left.

    >>> scale_frame((0.5, -0.5, 1.0, 1.0), 200, 100)
    (100.0, 0.0, 100.0, 50.0)
    """
    x, y, width, height = share
    left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + width, 1.0), min(y + height, 1.0)
    frame = (left * columns, top * rows, (right - left) * columns, (bottom - top) * rows)
    return frame if all(map(math.isfinite, frame)) and min(frame[2:]) > 0 else None


def convert_answers(
    answers: Iterable[ForeignAnswer], material: Material, protocol: Protocol
) -> ConvertedTables:
    """Build tables from answers, with pseudonyms; the first ``votes`` of each explanation count.

    If somebody answered twice the last answer stays. Ratings of questions that an explanation is
    not asked are left out.
    """
    instances = {instance.key: instance for instance in material.of("real")}
    history = sorted(answers, key=lambda answer: answer.at)
    strange = next(
        (answer.instance for answer in history if answer.instance not in instances), None
    )
    if strange is not None:
        raise UnsafeInputError("answers", f"instance {strange!r}"[:80], "instances of this study")
    last = {(answer.instance, answer.rater): answer for answer in history}
    latest = sorted(last.values(), key=lambda answer: answer.at)
    names = {
        r: f"p{i}" for i, r in enumerate(dict.fromkeys(answer.rater for answer in latest), start=1)
    }
    votes = _votes(latest, names, instances, protocol)
    tables = checked_together({
        "votes": columns_of("votes", votes),
        "baselines": columns_of("baselines", [
            _key(answer, names) | {"text": plain_text(answer.text), "copied": False}
            for answer in latest if answer.text or answer.boxes
        ]),
        "boxes": columns_of("boxes", [
            _key(answer, names) | {"number": n, "x": x, "y": y, "width": width, "height": height}
            for answer in latest for n, (x, y, width, height) in enumerate(answer.boxes, start=1)
        ]),
        "instances": build_instances_table(instances.values()),
    })  # fmt: skip
    filled = Counter(vote["instance"] for vote in votes)
    notes = _notes(history, latest, [filled[key] for key in instances], protocol)
    return ConvertedTables(tables, {name: rater for rater, name in names.items()}, tuple(notes))


def _key(answer: ForeignAnswer, names: Mapping[str, str]) -> dict[str, Any]:
    return {"instance": answer.instance, "participant": names[answer.rater]}


def _votes(
    answers: Sequence[ForeignAnswer],
    names: Mapping[str, str],
    instances: Mapping[str, Instance],
    protocol: Protocol,
) -> list[dict[str, Any]]:
    seen = image_exposure_index(
        [answer.rater for answer in answers],
        [instances[answer.instance].image_key for answer in answers],
    )
    votes: list[dict[str, Any]] = []
    filled: Counter[str] = Counter()
    positions: Counter[str] = Counter()
    for answer, index in zip(answers, seen, strict=True):
        positions[answer.rater] += 1
        ratings = _ratings(answer, instances[answer.instance], protocol)
        if not ratings:
            continue
        filled[answer.instance] += 1
        votes.append({
            **_key(answer, names), **ratings,
            "technique": instances[answer.instance].technique,
            "image_key": instances[answer.instance].image_key,
            "counted": filled[answer.instance] <= protocol.votes,
            "position": positions[answer.rater],
            "image_exposure_index": int(index),
            "at_order": len(votes) + 1,
        })  # fmt: skip
    return votes


def _ratings(answer: ForeignAnswer, instance: Instance, protocol: Protocol) -> dict[str, int]:
    questions = get_asked_questions(instance, protocol)
    odd = [value for value in answer.ratings.values() if value != int(value)]
    if odd:
        raise UnsafeInputError(f"rating of {answer.instance!r}", f"{odd[0]}", "1 to 5")
    return {name: int(value) for name, value in answer.ratings.items() if name in questions}


def _notes(
    history: Sequence[ForeignAnswer],
    latest: Sequence[ForeignAnswer],
    filled: Sequence[int],
    protocol: Protocol,
) -> list[str]:
    few = sum(count < protocol.votes for count in filled)
    many = sum(max(count - protocol.votes, 0) for count in filled)
    left_out = sum(answer.left_out for answer in latest)
    again = len(history) - len(latest)
    notes = [
        (few, f"{few:,} explanations have fewer than {protocol.votes} votes."),
        (many, f"{many:,} votes are more than {protocol.votes} and are not counted."),
        (again, f"{again:,} answers were given again later; the last ones count."),
        (left_out, f"{left_out:,} answers have no place in the tables and are left out."),
    ]
    return [
        *(text for number, text in notes if number),
        "Whether the explanation was seen before the own answer is not known.",
    ]
