"""How the answer changes while pixels are removed: what sufficiency and necessity share."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import PerSample

Removal = Annotated[
    Literal["first", "road", "black", "uniform", "gaussian"],
    Field(description="Which way of removing pixels is read; first: the first in the evidence."),
]
Across = Annotated[
    Literal["best", "mean"],
    Field(description="How thresholds are summed up: the best of them, or their mean."),
]
THRESHOLDS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
CURVES = ("clean", "percents", "most_first", "least_first")
CHANCE_CURVES = ("chance_most_first", "chance_least_first")


def sufficient(
    evidence: SaliencyEvidence,
    thresholds: tuple[float, ...],
    removal: Removal,
    across: Across,
) -> Float[np.ndarray, " samples"]:
    """How little the answer changes without the least relevant pixels, 1 if not at all."""
    sufficiency = np.exp(-_mean_changes(evidence, "least_first", thresholds, removal))
    return _one_of(sufficiency, across)


def necessary(
    evidence: SaliencyEvidence,
    thresholds: tuple[float, ...],
    removal: Removal,
    across: Across,
) -> Float[np.ndarray, " samples"]:
    """How much the answer changes without the most relevant pixels, 0 if not at all."""
    necessity = 1 - np.exp(-_mean_changes(evidence, "most_first", thresholds, removal))
    return _one_of(necessity, across)


def one_each(values: Float[np.ndarray, " samples"]) -> PerSample:
    """A value for each picture; NaN is undefined, and counted as that."""
    known = ~np.isnan(values)
    return PerSample(np.where(known, values, 0.0), known.astype(float), np.ones(len(values), bool))


def _one_of(by_threshold: np.ndarray, across: Across) -> np.ndarray:
    """The best over thresholds, or their mean; thresholds without a step are left out."""
    known = by_threshold[:, ~np.isnan(by_threshold).any(axis=0)]
    if not known.shape[1]:
        return np.full(len(by_threshold), np.nan)
    return np.asarray(known.max(axis=1) if across == "best" else known.mean(axis=1))


def _mean_changes(
    evidence: SaliencyEvidence, curve: str, thresholds: tuple[float, ...], removal: Removal
) -> Float[np.ndarray, "samples thresholds"]:
    """Mean change of the probability over all steps below each threshold; NaN where there is none.

    Steps are nested: those of a low threshold are the first ones of a higher, so one running sum
    serves them all.
    """
    probabilities = np.asarray(getattr(evidence, curve))[:, _way(evidence, removal)]
    moved = np.abs(np.asarray(evidence.clean)[:, None] - probabilities)
    running = np.cumsum(moved, axis=1)
    n = np.searchsorted(np.asarray(evidence.percents), np.asarray(thresholds), side="left")
    n = np.unique(n)  # thresholds with the same steps, such as those beyond the last, count once
    means = np.full((len(moved), len(n)), np.nan)
    some = n > 0
    means[:, some] = running[:, n[some] - 1] / n[some]
    return means


def _way(evidence: SaliencyEvidence, removal: Removal) -> int:
    names = evidence.removals.names
    if removal == "first":
        return 0
    if removal not in names:
        raise EvidenceError(f"removal={removal!r}", f"{list(names)}", "it in the evidence")
    return names.index(removal)
