"""The draws of each condition as pieces of work, and what they come to."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.validation.characteristics import (
    FIELDS,
    Characteristics,
    DrawOutcomes,
    ExpectedBehavior,
    compute_characteristics,
)
from theodolite._planted.validation.subjects import (
    NULL_DRAWS,
    RESAMPLES,
    ValidationSubject,
    get_default_resampling,
)
from theodolite.evidence.workers import Arrays, SerialWorkers, Work, Workers

DRAWS_OF_A_PIECE = 20


def simulate_conditions(
    subject: ValidationSubject,
    cells: Sequence[Condition],
    repetitions: Sequence[int],
    *,
    seed: int = 0,
    workers: Workers | None = None,
) -> list[Characteristics]:
    """Operating characteristics in each condition.

    Args:
        subject: A score.
        cells: The conditions.
        repetitions: Draws of each.
        seed: Of all draws; a draw's own depends on it and on the condition, not on the others.
        workers: Whoever does the draws; here and now if not given.
    """
    pieces = [
        (cell, start, min(DRAWS_OF_A_PIECE, n - start))
        for cell, n in zip(cells, repetitions, strict=True)
        for start in range(0, n, DRAWS_OF_A_PIECE)
    ]
    work = Work(
        what=f"draws for {subject.name}",
        do=partial(_score_draws, subject, seed),
        items=pieces,
        digests=[_digest_draws(*piece) for piece in pieces],
        about=describe_subject(subject, seed) | {"resamples": RESAMPLES, "null_draws": NULL_DRAWS},
    )
    parts: dict[Condition, list[Arrays]] = {cell: [] for cell in cells}
    for (cell, *_), part in zip(pieces, (workers or SerialWorkers()).each(work), strict=True):
        if part is not None:
            parts[cell].append(part)
    return [_summarize_draws(subject, cell, parts[cell]) for cell in cells if parts[cell]]


def describe_subject(subject: ValidationSubject, seed: int) -> dict[str, object]:
    """What decides all numbers of a subject."""
    return subject.identity() | {"generator": subject.generator.name, "seed": seed}


def _summarize_draws(
    subject: ValidationSubject, cell: Condition, parts: Sequence[Arrays]
) -> Characteristics:
    draws = DrawOutcomes(*(np.concatenate([part[name] for part in parts]) for name in FIELDS))
    expected = ExpectedBehavior(
        subject.is_defect_metric,
        subject.tolerance,
        worthless=cell.dial == 0,
        unsure=cell.clusters / subject.generator.truth_rows(subject.name),
        has_truth=subject.generator.has_truth(cell),
        rates=subject.generator.rates(cell),
    )
    return compute_characteristics(draws, cell.describe(), expected)


def _score_draws(
    subject: ValidationSubject, seed: int, piece: tuple[Condition, int, int]
) -> Arrays:
    """Some draws of one condition, scored and answered as an audit does."""
    cell, start, count = piece
    rows = [
        subject.outcome(
            subject.draw(cell, compute_draw_seed(cell, number, seed)), get_default_resampling()
        ).row()
        for number in range(start, start + count)
    ]
    return dict(zip(FIELDS, np.array(rows, float).T.copy(), strict=True))


def compute_draw_seed(cell: Condition, number: int, seed: int) -> int:
    """Return the seed of one draw."""
    key = f"{_digest_draws(cell, number, 1)}{seed}"
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big")


def _digest_draws(cell: Condition, start: int, count: int) -> str:
    described = json.dumps([cell.describe(), start, count], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()
