"""What is left of a class's probability as its concepts are taken away, or put in."""

from typing import Annotated, Literal

import numpy as np
import scipy.special
from jaxtyping import Float, Int
from pydantic import Field

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import bias_of, outputs_of, working
from theodolite.metrics.base import PerSample
from theodolite.metrics.faithful.frame import members, needed

Way = Literal["deletion", "insertion"]
Of = Annotated[
    Literal["predicted", "label"],
    Field(description="The class whose probability is read: the predicted or the true one."),
]
USES = ("importances", "head", "vectors")


def removal(evidence: SurrogateEvidence, way: Way, of: Of, most_steps: int) -> PerSample:
    """The area under each sample's curve."""
    head, vectors = (working(needed(evidence, name)) for name in ("head", "vectors"))
    chosen = needed(evidence, "labels") if of == "label" else outputs_of(evidence).argmax(axis=1)
    area, whole = np.zeros(len(evidence)), np.zeros(len(evidence))
    there, gives = members(evidence), np.asarray(vectors @ head.T, float)
    for target in np.unique(chosen) if len(head) > 1 else ():  # one output has no probability
        rows = np.flatnonzero(chosen == target)
        concepts = np.flatnonzero(there[:, target])
        if len(concepts):
            area[rows] = _areas(evidence, rows, (concepts, gives), int(target), (way, most_steps))
            whole[rows] = 1.0
    return PerSample(area, whole, np.ones(len(evidence), bool))


def _areas(
    evidence: SurrogateEvidence,
    rows: Int[np.ndarray, " n"],
    used: tuple[Int[np.ndarray, " k"], Float[np.ndarray, "concepts classes"]],
    of: int,
    how: tuple[Way, int],
) -> Float[np.ndarray, " n"]:
    """The mean over the curve, for samples of one class, from its concepts and what each gives."""
    way, most_steps = how
    concepts, gives = used
    order = concepts[np.argsort(-np.asarray(evidence.importances)[concepts, of], kind="stable")]
    gives = gives[order]
    there = _projected(evidence, rows, order)
    always = bias_of(evidence)
    if evidence.constant is not None:
        always = always + np.asarray(evidence.constant, float)
    k = len(order)
    counts = np.unique(np.round(np.linspace(0, k, min(k, most_steps) + 1)).astype(int))
    curve = np.empty((len(counts), len(rows)))
    for step, n in enumerate(counts):
        present = slice(n, None) if way == "deletion" else slice(0, n)
        outputs = there[:, present] @ gives[present] + always
        curve[step] = scipy.special.softmax(outputs, axis=1)[:, of]
    from scipy.integrate import trapezoid  # noqa: PLC0415  a fifth of a second at every start

    area = trapezoid(curve, counts, axis=0) / k
    return np.asarray(np.clip(area, 0.0, 1.0))


def _projected(
    evidence: SurrogateEvidence, rows: Int[np.ndarray, " n"], concepts: Int[np.ndarray, " k"]
) -> Float[np.ndarray, "n k"]:
    if evidence.projections is not None:
        return np.asarray(np.asarray(evidence.projections)[np.ix_(rows, concepts)], float)
    directions = working(evidence.vectors)[concepts]
    return np.asarray(working(evidence.embeddings)[rows] @ directions.T, float)
