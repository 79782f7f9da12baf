"""Metrics as functions of evidence, for tests that build evidence anyway."""

from collections.abc import Callable
from typing import Any

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.metrics.catalogue import catalogue
from theodolite.testing.laws import scored


def of_evidence(name: str) -> Callable[..., np.ndarray]:
    """The metric of that name; options as keywords."""

    def score(evidence: Evidence, **options: Any) -> np.ndarray:
        return scored(catalogue()[name], evidence, options)

    return score
