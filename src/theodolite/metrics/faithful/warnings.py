"""Signs that the arrays of an explanation do not belong together, which no shape can show."""

from dataclasses import replace

import numpy as np

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import outputs_of
from theodolite.metrics.faithful.frame import members

ROWS = 200


def surrogate_warnings(evidence: SurrogateEvidence) -> list[str]:
    """What a reader of the scores should know about the arrays."""
    return [*_outputs(evidence[:ROWS]), *_without_concepts(evidence)]


def _outputs(some: SurrogateEvidence) -> list[str]:
    if some.outputs is None or not len(some):
        return []
    outputs = np.asarray(some.outputs, float)
    if outputs.shape[1] > 1 and outputs.min() >= 0 and np.abs(outputs.sum(axis=1) - 1).max() < 1e-3:
        return [
            "The outputs are not negative and add up to 1: they look like probabilities. Scores "
            "want what comes before the softmax."
        ]
    if some.embeddings is None or some.head is None:
        return []
    off = outputs - outputs_of(replace(some, outputs=None))
    size = max(float(np.abs(outputs).max()), 1e-9)
    if np.abs(off).max() <= 1e-2 * size:
        return []
    if np.ptp(off, axis=0).max() <= 1e-2 * size:
        return [
            "Outputs differ from embeddings times head by the same number in every sample: pass "
            "that as `bias`, or it counts as an error of the explanation."
        ]
    return [
        "Outputs are not embeddings times head plus bias. If the head belongs to this network, "
        "something is in the wrong order."
    ]


def _without_concepts(evidence: SurrogateEvidence) -> list[str]:
    bare = np.flatnonzero(~members(evidence).any(axis=0))
    if not len(bare):
        return []
    first = evidence.classes.names[int(bare[0])]
    return [
        f"{len(bare)} of {len(evidence.classes)} classes have no concepts ({first!r} first): their "
        "outputs are explained by the bias alone."
    ]
