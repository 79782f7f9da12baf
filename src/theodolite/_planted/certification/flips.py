"""Whether an answer changes with the form in which the very same values are stored."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from theodolite._planted.certification.characteristics import ANSWERS, most_often
from theodolite._planted.certification.grid import DRAWS_OF_A_PIECE, identity, own_seed
from theodolite._planted.certification.lines import Line
from theodolite._planted.certification.subjects import CertifiedSubject, usual_resampling
from theodolite._planted.conditions import CODES, Condition
from theodolite._planted.generators import Planted
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import find_bundle
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.workers import Arrays, SerialWorkers, Work, Workers

FLIPS = 0.05
"""The share of answers that may change to or from "inconclusive" or "partly"."""
DIALS = (0.0, 0.05, 0.1, 0.2)
YES, NO = ANSWERS.index("yes"), ANSWERS.index("no")


def _stored_as(code: str) -> Callable[[ConceptEvidence], ConceptEvidence]:
    def store(evidence: ConceptEvidence) -> ConceptEvidence:
        return replace(evidence, values=CODES[code](np.asarray(evidence.values)))

    return store


def _copied(times: int) -> Callable[[ConceptEvidence], ConceptEvidence]:
    def copy(evidence: ConceptEvidence) -> ConceptEvidence:
        rows = np.repeat(np.arange(len(evidence)), times)
        samples = Samples(index=np.arange(len(rows)), clusters=rows)
        return replace(evidence[rows], samples=samples)

    return copy


def _shuffled(evidence: ConceptEvidence) -> ConceptEvidence:
    order = np.random.default_rng(0).permutation(len(evidence))
    return replace(evidence[order], samples=Samples.numbered(len(evidence)))


FORMS: dict[str, Callable[[ConceptEvidence], ConceptEvidence]] = {
    "float32": _stored_as("float32"),
    "three digits": _stored_as("three digits"),
    "uint16": _stored_as("uint16"),
    "each row twice, declared": _copied(2),
    "each row ten times, declared": _copied(10),
    "rows in another order": _shuffled,
}


def flips(
    subject: CertifiedSubject,
    draws: int,
    *,
    clusters: int = 300,
    seed: int = 0,
    workers: Workers | None = None,
) -> list[Line]:
    """For each form a line: how many answers changed, and how many turned into the opposite."""
    if "seeds" not in subject.generator.varies:  # values of concepts that may leak
        return []
    starts = list(range(0, draws, DRAWS_OF_A_PIECE))
    work = Work(
        what=f"forms of the same values for {subject.name}",
        do=partial(_answers, subject, seed, clusters, draws),
        items=starts,
        digests=[f"{start} of {draws}" for start in starts],
        about=identity(subject, seed) | {"flips": list(FORMS), "clusters": clusters},
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
        most = most_often(FLIPS, len(plain))
        because = f"{changed} of {len(plain)} answers changed, {opposite} into the opposite"
        lines.append(Line(f"the same answer for {form}", changed <= most and not opposite, because))
    return lines


def _answers(subject: CertifiedSubject, seed: int, clusters: int, draws: int, start: int) -> Arrays:
    forms = {"float64": _stored_as("float64")} | FORMS
    answers: dict[str, list[float]] = {form: [] for form in forms}
    for number in range(start, min(start + DRAWS_OF_A_PIECE, draws)):
        cell = Condition(dial=DIALS[number % len(DIALS)], clusters=clusters)
        planted = subject.draw(cell, own_seed(cell, number, seed))
        for form, change in forms.items():
            bundle = find_bundle(ConceptEvidence, planted.evidence)
            evidence = () if bundle is None else (change(bundle),)
            again = Planted(evidence, planted.truth, planted.population)
            answers[form].append(subject.outcome(again, usual_resampling()).answer)
    return {form: np.array(each, float) for form, each in answers.items()}
