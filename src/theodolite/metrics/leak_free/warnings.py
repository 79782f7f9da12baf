"""Signs that concept values are not what a leakage score takes them for."""

import numpy as np

from theodolite._stats.information import is_discrete
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.blocks import many_whole_numbers
from theodolite.metrics.leak_free._terms import AS_CATEGORIES


def leakage_warnings(evidence: ConceptEvidence) -> list[str]:
    """What a reader of the scores of leakage as published should know about the values."""
    values = np.asarray(evidence.values, np.float64)
    if not is_discrete(values) or not many_whole_numbers(values):
        return []
    return [f"Concept-task and interconcept leakage: {AS_CATEGORIES}"]
