"""What is left of a class's probability as its concepts are taken away, or put in."""

from typing import Literal

import numpy as np
import scipy.integrate
import scipy.special
from jaxtyping import Float, Int

from theodolite.contracts.surrogate import SurrogateEvidence
from theodolite.contracts.surrogate_settings import bias_of, outputs_of, working
from theodolite.errors import EvidenceError
from theodolite.metrics._base import PerSample
from theodolite.metrics.faithfulness._frame import members

Way = Literal["deletion", "insertion"]
Of = Literal["predicted", "label"]
USES = ("importances", "head", "vectors")


def removal(evidence: SurrogateEvidence, way: Way, of: Of, most_steps: int) -> PerSample:
    """The area under each sample's curve."""
    if most_steps < 1:
        raise EvidenceError("most_steps", f"{most_steps}", "1 or more")
    chosen = outputs_of(evidence).argmax(axis=1) if of == "predicted" else evidence.labels
    if chosen is None:
        raise EvidenceError("labels", "none", "labels, for of='label'")
    area, whole = np.zeros(len(evidence)), np.zeros(len(evidence))
    for one in np.unique(chosen):
        rows = np.flatnonzero(chosen == one)
        concepts = np.flatnonzero(members(evidence)[:, one])
        if len(concepts):
            area[rows] = _areas(evidence, rows, concepts, int(one), (way, most_steps))
            whole[rows] = 1.0
    return PerSample(area, whole, np.ones(len(evidence), bool))


def _areas(
    evidence: SurrogateEvidence,
    rows: Int[np.ndarray, " n"],
    concepts: Int[np.ndarray, " k"],
    of: int,
    how: tuple[Way, int],
) -> Float[np.ndarray, " n"]:
    """The mean over the curve, for samples of one class."""
    way, most_steps = how
    order = concepts[np.argsort(-np.asarray(evidence.importances)[concepts, of], kind="stable")]
    vectors = working(evidence.vectors)[order]
    gives = np.asarray(vectors @ working(evidence.head).T, float)
    there = _projected(evidence, rows, order, vectors)
    always = bias_of(evidence)
    if evidence.constant is not None:
        always = always + np.asarray(evidence.constant, float)
    k = len(order)
    counts = np.unique(np.round(np.linspace(0, k, min(k, most_steps) + 1)).astype(int))
    curve = np.empty((len(counts), len(rows)))
    for step, n in enumerate(counts):
        kept = slice(n, None) if way == "deletion" else slice(0, n)
        outputs = there[:, kept] @ gives[kept] + always
        curve[step] = scipy.special.softmax(outputs, axis=1)[:, of]
    area = scipy.integrate.trapezoid(curve, counts, axis=0) / k
    return np.asarray(np.clip(area, 0.0, 1.0))


def _projected(
    evidence: SurrogateEvidence,
    rows: Int[np.ndarray, " n"],
    concepts: Int[np.ndarray, " k"],
    vectors: Float[np.ndarray, "k dimensions"],
) -> Float[np.ndarray, "n k"]:
    if evidence.projections is not None:
        return np.asarray(np.asarray(evidence.projections)[np.ix_(rows, concepts)], float)
    return np.asarray(working(evidence.embeddings)[rows] @ vectors.T, float)
