"""Nulls of the scores of edits."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from theodolite.evidence.kinds.edit import PROBABILITIES, EditEvidence
from theodolite.evidence.sampling import POOLED, another, pool_of
from theodolite.metrics.base import NullModel

DEALT = ("before", "after", *PROBABILITIES)
"""What belongs to the pair of inputs, and not to what the edit was meant to do."""


def _some_edits(evidence: EditEvidence) -> dict[str, np.ndarray]:
    arrays = {name: np.asarray(getattr(evidence, name)) for name in DEALT if evidence.has(name)}
    samples = evidence.samples
    return pool_of(np.asarray(samples.index), arrays, samples.clusters)


def _dealt_out(evidence: EditEvidence, seed: int, pool: Mapping[str, np.ndarray]) -> EditEvidence:
    samples = evidence.samples
    other = another(pool, np.asarray(samples.index), (), seed, samples.clusters)
    names = [name for name in DEALT if evidence.has(name)]
    return replace(evidence, **{name: pool[POOLED + name][other] for name in names})


DEALT_OUT = NullModel(
    "edits dealt out",
    "what the values did under the edit of another input",
    _dealt_out,
    sums=_some_edits,
)


def _explained_by_others(
    evidence: EditEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> EditEvidence:
    samples = evidence.samples
    other = another(pool, np.asarray(samples.index), (), seed, samples.clusters)
    names = ("surrogate_before", "surrogate_after")
    return replace(evidence, **{name: pool[POOLED + name][other] for name in names})


EXPLAINED_BY_OTHERS = NullModel(
    "edits dealt out",
    "the change that the concepts predict for the edit of another input",
    _explained_by_others,
    sums=_some_edits,
)
