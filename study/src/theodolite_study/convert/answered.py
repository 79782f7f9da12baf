"""Answers that came back from another tool, as the tables of our export."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import RefusedInput
from theodolite.ext.studies import (
    Instance,
    Material,
    TableName,
    checked_together,
    columns_of,
    image_exposure_index,
    plain_text,
)
from theodolite_study.convert.project_pages import asked_of
from theodolite_study.protocol import Protocol
from theodolite_study.vote_tables import instance_rows

Frame = tuple[float, float, float, float]
"""x, y, width, height in pixels."""


@dataclass(frozen=True)
class Answered:
    """What one person said about one explanation."""

    instance: str
    rater: str
    """As the other tool knows them; never written into a table."""
    at: tuple[str | int, ...]
    """When, in anything that sorts."""
    ratings: Mapping[str, float]
    text: str = ""
    boxes: Sequence[Frame] = ()
    left_out: int = 0
    """Answers of a kind that has no place in our tables."""


@dataclass(frozen=True)
class Converted:
    """The four tables, and what they do not say."""

    tables: Mapping[TableName, dict[str, list[Any]]]
    people: Mapping[str, str]
    """Whom a pseudonym stands for in the other tool. Keep it apart from the tables."""
    notes: tuple[str, ...] = field(default=())


def frame_of(share: tuple[float, float, float, float], columns: float, rows: float) -> Frame | None:
    """A box given in shares of a picture, in pixels, cut off at its edges; None if nothing is left.

    >>> frame_of((0.5, -0.5, 1.0, 1.0), 200, 100)
    (100.0, 0.0, 100.0, 50.0)
    """
    x, y, width, height = share
    left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + width, 1.0), min(y + height, 1.0)
    frame = (left * columns, top * rows, (right - left) * columns, (bottom - top) * rows)
    return frame if all(map(math.isfinite, frame)) and min(frame[2:]) > 0 else None


def converted(answers: Iterable[Answered], material: Material, protocol: Protocol) -> Converted:
    """Tables from answers: people get pseudonyms, and the first ``votes`` of each are counted.

    If somebody answered twice the last answer stays. Ratings of questions that an explanation is
    not asked are left out.
    """
    about = {one.key: one for one in material.of("real")}
    given = sorted(answers, key=lambda one: one.at)
    strange = next((one.instance for one in given if one.instance not in about), None)
    if strange is not None:
        raise RefusedInput("answers", f"instance {strange!r}"[:80], "instances of this study")
    last = {(one.instance, one.rater): one for one in given}
    kept = sorted(last.values(), key=lambda one: one.at)
    names = {r: f"p{i}" for i, r in enumerate(dict.fromkeys(one.rater for one in kept), start=1)}
    votes = _votes(kept, names, about, protocol)
    tables = checked_together({
        "votes": columns_of("votes", votes),
        "baselines": columns_of("baselines", [
            _key(one, names) | {"text": plain_text(one.text), "copied": False}
            for one in kept if one.text or one.boxes
        ]),
        "boxes": columns_of("boxes", [
            _key(one, names) | {"number": n, "x": x, "y": y, "width": width, "height": height}
            for one in kept for n, (x, y, width, height) in enumerate(one.boxes, start=1)
        ]),
        "instances": instance_rows(about.values()),
    })  # fmt: skip
    filled = Counter(vote["instance"] for vote in votes)
    notes = _notes(given, kept, [filled[key] for key in about], protocol)
    return Converted(tables, {name: rater for rater, name in names.items()}, tuple(notes))


def _key(one: Answered, names: Mapping[str, str]) -> dict[str, Any]:
    return {"instance": one.instance, "participant": names[one.rater]}


def _votes(
    kept: Sequence[Answered],
    names: Mapping[str, str],
    about: Mapping[str, Instance],
    protocol: Protocol,
) -> list[dict[str, Any]]:
    seen = image_exposure_index(
        [one.rater for one in kept], [about[one.instance].picture_key for one in kept]
    )
    votes: list[dict[str, Any]] = []
    filled: Counter[str] = Counter()
    positions: Counter[str] = Counter()
    for one, index in zip(kept, seen, strict=True):
        positions[one.rater] += 1
        ratings = _ratings(one, about[one.instance], protocol)
        if not ratings:
            continue
        filled[one.instance] += 1
        votes.append({
            **_key(one, names), **ratings,
            "technique": about[one.instance].technique,
            "picture_key": about[one.instance].picture_key,
            "counted": filled[one.instance] <= protocol.votes,
            "position": positions[one.rater],
            "image_exposure_index": int(index),
            "at_order": len(votes) + 1,
        })  # fmt: skip
    return votes


def _ratings(one: Answered, instance: Instance, protocol: Protocol) -> dict[str, int]:
    asked = asked_of(instance, protocol)
    odd = [value for value in one.ratings.values() if value != int(value)]
    if odd:
        raise RefusedInput(f"rating of {one.instance!r}", f"{odd[0]}", "1 to 5")
    return {name: int(value) for name, value in one.ratings.items() if name in asked}


def _notes(
    given: Sequence[Answered], kept: Sequence[Answered], filled: Sequence[int], protocol: Protocol
) -> list[str]:
    few = sum(count < protocol.votes for count in filled)
    many = sum(max(count - protocol.votes, 0) for count in filled)
    left_out = sum(one.left_out for one in kept)
    again = len(given) - len(kept)
    said = [
        (few, f"{few:,} explanations have fewer than {protocol.votes} votes."),
        (many, f"{many:,} votes are more than {protocol.votes} and are not counted."),
        (again, f"{again:,} answers were given again later; the last ones count."),
        (left_out, f"{left_out:,} answers have no place in the tables and are left out."),
    ]
    return [
        *(text for number, text in said if number),
        "Whether the explanation was seen before the own answer is not known.",
    ]
