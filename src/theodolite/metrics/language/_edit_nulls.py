"""Nulls of the scores of edits."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from theodolite._stats.sampling import POOLED, another, pool_of
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.metrics.base import NullModel, PerSample


def _dealt_out(names: tuple[str, ...], says: str) -> NullModel:
    """Some arrays of each edit from the edit of another input."""

    def some_edits(evidence: EditEvidence) -> dict[str, np.ndarray]:
        arrays = {name: np.asarray(getattr(evidence, name)) for name in names}
        samples = evidence.samples
        return pool_of(np.asarray(samples.index), arrays, samples.clusters)

    def of_another(
        evidence: EditEvidence, seed: int, pool: Mapping[str, np.ndarray]
    ) -> EditEvidence:
        samples = evidence.samples
        other = another(pool, np.asarray(samples.index), (), seed, samples.clusters)
        return replace(evidence, **{name: pool[POOLED + name][other] for name in names})

    return NullModel("edits dealt out", says, of_another, sums=some_edits)


DEALT_OUT = _dealt_out(("before", "after"), "what the values did under the edit of another input")
EXPLAINED_BY_OTHERS = _dealt_out(
    ("surrogate_before", "surrogate_after"),
    "the change that the concepts predict for the edit of another input",
)


def mean_of_others(evidence: EditEvidence, each: np.ndarray) -> PerSample:
    """What is true of the concepts that were not edited, on average over them."""
    n_others = each.shape[1] - 1
    part = each.sum(axis=1) - each[np.arange(len(each)), evidence.edited]
    defined = np.full(len(each), float(n_others > 0))
    return PerSample(part / max(n_others, 1), defined, np.ones(len(each), bool))
