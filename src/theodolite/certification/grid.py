"""The data conditions that a score is put through, and the draws of each as pieces of work."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from theodolite.certification.characteristics import (
    ANSWERS,
    Characteristics,
    Draws,
    characteristics,
)
from theodolite.certification.planted_leakage import (
    LeakageCondition,
    Representation,
    planted_evidence,
    true_share,
)
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.workers import Arrays, SerialWorkers, Work, Workers
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import find_metric
from theodolite.scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite.verdicts.rules import verdict

Size = Literal["ci", "release"]
DRAWS_OF_A_PIECE = 20
REPETITIONS = {"ci": 60, "release": 400}
RESAMPLES = 150
NULL_DRAWS = 5
"""Of random nulls; each costs as much as the score itself."""
PLAIN = LeakageCondition()
SHARES = (0.0, 0.05, 0.2)


def conditions(size: Size) -> list[LeakageCondition]:
    """Each condition by itself, at every setting of the dial that it is asked at."""
    kinds = [kind for kind in get_args(Representation) if kind not in ("float64", "constant")]
    changed = [replace(PLAIN, values=kind) for kind in kinds]
    changed += [
        replace(PLAIN, clusters=150, rows=2),
        replace(PLAIN, clusters=30, rows=10),
        replace(PLAIN, clusters=60, rows=5, within=0.33),
    ]
    if size == "release":
        changed += [replace(PLAIN, clusters=n) for n in (30, 100, 1000, 5000)]
        changed += [replace(PLAIN, concepts=k) for k in (12, 112)]
        changed += [replace(PLAIN, labels=n, clusters=1000) for n in (10, 200)]
        changed += [replace(PLAIN, prevalence=p) for p in (0.05, 0.8)]
        changed += [
            replace(PLAIN, clusters=n, rows=rows, within=within)
            for n, rows in ((60, 5), (30, 10), (100, 10), (10, 100))
            for within in (0.1, 0.33, 1.0)
        ]
        changed += [replace(PLAIN, clusters=150, rows=2, declared=False)]
    shares = SHARES if size == "release" else (0.0, 0.2)
    cells = [replace(cell, share=share) for cell in (PLAIN, *changed) for share in shares]
    return list(dict.fromkeys([*cells, replace(PLAIN, values="constant")]))


def certify(
    name: str,
    cells: Sequence[LeakageCondition],
    repetitions: int,
    *,
    seed: int = 0,
    workers: Workers | None = None,
) -> list[Characteristics]:
    """Operating characteristics of a score of concept values that looks for leakage.

    Args:
        name: A metric of the catalogue.
        cells: The conditions.
        repetitions: Draws of each.
        seed: Of all draws; a draw's own depends on it and on the condition, not on the others.
        workers: Whoever does the draws; here and now if not given.
    """
    metric = find_metric(name)
    if metric.needs is not ConceptEvidence or not metric.looks_for_a_fault:
        got = f"{name}, of the question {metric.question!r}"
        raise EvidenceError("certify", got, "a score that looks for leakage in concept values")
    starts = range(0, repetitions, DRAWS_OF_A_PIECE)
    pieces = [
        (cell, start, min(DRAWS_OF_A_PIECE, repetitions - start))
        for cell in cells
        for start in starts
    ]
    work = Work(
        what=f"draws for {name}",
        do=partial(_draws, name, seed),
        items=pieces,
        digests=[_digest(cell, start, count) for cell, start, count in pieces],
        about={"metric": name, "version": metric.version, "seed": seed, "resamples": RESAMPLES},
    )
    parts = list((workers or SerialWorkers()).each(work))
    each = len(starts)
    return [
        _characteristics(cell, parts[each * n : each * (n + 1)], metric)
        for n, cell in enumerate(cells)
    ]


def _characteristics(
    cell: LeakageCondition, parts: Sequence[Arrays | None], metric: Metric
) -> Characteristics:
    finished = [part for part in parts if part is not None]
    names = ("values", "low", "high", "answers")
    draws = Draws(*(np.concatenate([part[name] for part in finished]) for name in names))
    return characteristics(draws, true_share(cell), cell.describe(), metric.tolerance or 0.0)


def _draws(name: str, seed: int, piece: tuple[LeakageCondition, int, int]) -> Arrays:
    """Some draws of one condition, scored and answered as an audit does."""
    cell, start, count = piece
    resampling = Resampling(resamples=RESAMPLES, most_null_draws=NULL_DRAWS)
    rows = []
    for number in range(start, start + count):
        key = f"{_digest(cell, number, 1)}{seed}"
        own_seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big")
        evidence = planted_evidence(cell, own_seed)
        score = evaluate(MetricRequest(find_metric(name)), [evidence], resampling)[0]
        interval = score.interval
        ends = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
        rows.append((score.value, *ends, ANSWERS.index(verdict(score).answer)))
    values, low, high, answers = np.array(rows, float).T
    return {"values": values, "low": low, "high": high, "answers": answers}


def _digest(cell: LeakageCondition, start: int, count: int) -> str:
    described = json.dumps([cell.describe(), start, count], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()
