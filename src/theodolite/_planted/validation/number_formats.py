"""Test whether an answer changes with the number format of the same values."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from theodolite._planted.conditions import CODES, Condition
from theodolite._planted.generators import Planted
from theodolite._planted.validation.characteristics import ANSWERS, get_max_count
from theodolite._planted.validation.overall_checks import OverallCheck
from theodolite._planted.validation.simulation import (
    DRAWS_OF_A_PIECE,
    compute_draw_seed,
    describe_subject,
)
from theodolite._planted.validation.subjects import ValidationSubject, get_default_resampling
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import find_bundle
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.workers import Arrays, SerialWorkers, Work, Workers

FLIPS = 0.05
"""The share of answers that may change to or from "inconclusive" or "partly"."""
DIALS = (0.0, 0.05, 0.1, 0.2)
YES, NO = ANSWERS.index("yes"), ANSWERS.index("no")


def _store_as(code: str) -> Callable[[ConceptEvidence], ConceptEvidence]:
    def store(evidence: ConceptEvidence) -> ConceptEvidence:
        return replace(evidence, values=CODES[code](np.asarray(evidence.values)))

    return store


def _copy_rows(times: int) -> Callable[[ConceptEvidence], ConceptEvidence]:
    def copy(evidence: ConceptEvidence) -> ConceptEvidence:
        rows = np.repeat(np.arange(len(evidence)), times)
        samples = Samples(index=np.arange(len(rows)), clusters=rows)
        return replace(evidence[rows], samples=samples)

    return copy


def _shuffle_rows(evidence: ConceptEvidence) -> ConceptEvidence:
    order = np.random.default_rng(0).permutation(len(evidence))
    return replace(evidence[order], samples=Samples.numbered(len(evidence)))


FORMS: dict[str, Callable[[ConceptEvidence], ConceptEvidence]] = {
    "float32": _store_as("float32"),
    "three digits": _store_as("three digits"),
    "uint16": _store_as("uint16"),
    "each row twice, declared": _copy_rows(2),
    "each row ten times, declared": _copy_rows(10),
    "rows in another order": _shuffle_rows,
}


def check_number_formats(
    subject: ValidationSubject,
    draws: int,
    *,
    clusters: int = 300,
    seed: int = 0,
    workers: Workers | None = None,
) -> list[OverallCheck]:
    """Return a line per format: how many answers changed, and how many were reversed."""
    if "seeds" not in subject.generator.varies:  # values of concepts that may leak
        return []
    starts = list(range(0, draws, DRAWS_OF_A_PIECE))
    work = Work(
        what=f"forms of the same values for {subject.name}",
        do=partial(_list_answers, subject, seed, clusters, draws),
        items=starts,
        digests=[f"{start} of {draws}" for start in starts],
        about=describe_subject(subject, seed) | {"flips": list(FORMS), "clusters": clusters},
    )
    parts = [part for part in (workers or SerialWorkers()).each(work) if part is not None]
    plain = np.concatenate([part["float64"] for part in parts])
    lines = []
    for form in FORMS:
        answers = np.concatenate([part[form] for part in parts])
        changed = int((answers != plain).sum())
        opposite = int(
            ((np.minimum(answers, plain) == YES) & (np.maximum(answers, plain) == NO)).sum()
        )
        most = get_max_count(FLIPS, len(plain))
        because = f"{changed} of {len(plain)} answers changed, {opposite} into the opposite"
        lines.append(
            OverallCheck(f"the same answer for {form}", changed <= most and not opposite, because)
        )
    return lines


def _list_answers(
    subject: ValidationSubject, seed: int, clusters: int, draws: int, start: int
) -> Arrays:
    forms = {"float64": _store_as("float64")} | FORMS
    answers: dict[str, list[float]] = {form: [] for form in forms}
    for number in range(start, min(start + DRAWS_OF_A_PIECE, draws)):
        cell = Condition(dial=DIALS[number % len(DIALS)], clusters=clusters)
        planted = subject.draw(cell, compute_draw_seed(cell, number, seed))
        for form, change in forms.items():
            bundle = find_bundle(ConceptEvidence, planted.evidence)
            evidence = () if bundle is None else (change(bundle),)
            again = Planted(evidence, planted.truth, planted.population)
            answers[form].append(subject.outcome(again, get_default_resampling()).answer)
    return {form: np.array(each, float) for form, each in answers.items()}
