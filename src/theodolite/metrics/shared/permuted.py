"""The default baseline of metrics that are declared outside: rows of one array permuted."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from theodolite._stats.sampling import POOLED, another, pool_of
from theodolite.evidence.base import Evidence
from theodolite.evidence.columns import with_arrays
from theodolite.metrics.null_model import NullModel


def permuted(array: str) -> NullModel:
    """Return a baseline that gives every sample the row of another sample in one array.

    Which row depends on the seed and the number of the sample alone, so shards give what the whole
    gives. Samples of one cluster get rows of one other cluster.

    Args:
        array: An array with one row per sample; ``explained.truth`` for one of the evidence inside.
    """
    *inside, name = array.split(".")

    def collect_rows(evidence: Any) -> dict[str, np.ndarray]:
        samples = evidence.samples
        rows = np.asarray(getattr(_inner(evidence, inside), name))
        return pool_of(np.asarray(samples.index), {name: rows}, samples.clusters)

    def permute(evidence: Any, seed: int, pool: Mapping[str, np.ndarray]) -> Any:
        samples = evidence.samples
        other = another(pool, np.asarray(samples.index), (), seed, samples.clusters)
        own = np.asarray(getattr(_inner(evidence, inside), name))
        drawn = pool[POOLED + name][other]
        # a sample alone has no other: it keeps its own row
        rows = np.where((other >= 0).reshape(-1, *[1] * (own.ndim - 1)), drawn, own)
        return _replace(evidence, inside, name, rows.astype(own.dtype))

    return NullModel(
        f"permuted {name}", f"each sample with the {name} of another", permute, sums=collect_rows
    )


def _inner(evidence: Any, inside: list[str]) -> Any:
    return getattr(evidence, inside[0]) if inside else evidence


def _replace(evidence: Evidence, inside: list[str], name: str, rows: np.ndarray) -> Evidence:
    rows.flags.writeable = False
    if not inside:
        return with_arrays(evidence, **{name: rows})
    return with_arrays(
        evidence, **{inside[0]: with_arrays(_inner(evidence, inside), **{name: rows})}
    )
