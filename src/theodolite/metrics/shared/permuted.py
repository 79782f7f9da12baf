"""Define the default baseline of metrics of other packages: one array with permuted rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from theodolite._stats.sampling import POOLED, draw_other_rows, draw_pool
from theodolite.metrics.array_names import read_array, replace_array
from theodolite.metrics.null_model import NullModel


def permuted(array: str) -> NullModel:
    """Return a baseline that gives every sample the row of another sample in one array.

    Which row depends on the seed and the number of the sample alone, so shards give what the whole
    gives. Samples of one cluster get rows of one other cluster.

    Args:
        array: An array with one row per sample; ``explained.truth`` for one of the evidence inside.
    """
    name = array.rpartition(".")[2]

    def collect_rows(evidence: Any) -> dict[str, np.ndarray]:
        samples, rows = evidence.samples, np.asarray(read_array(evidence, array))
        return draw_pool(np.asarray(samples.index), {name: rows}, samples.clusters)

    def permute(evidence: Any, seed: int, pool: Mapping[str, np.ndarray]) -> Any:
        samples, own = evidence.samples, np.asarray(read_array(evidence, array))
        other = draw_other_rows(pool, np.asarray(samples.index), (), seed, samples.clusters)
        other_rows = pool[POOLED + name][other]
        # a sample alone has no other: it keeps its own row
        rows = np.where((other >= 0).reshape(-1, *[1] * (own.ndim - 1)), other_rows, own)
        rows.flags.writeable = False
        return replace_array(evidence, array, rows)

    says = f"each sample with the {name} of another"
    return NullModel(f"permuted {name}", says, permute, sums=collect_rows)
