"""Hold bootstrap weights of many samples as weights of random groups, to save memory.

Used by scores that need all samples at once, such as the leakage metrics.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.groups import sum_resampled_groups

TERMS_PER_BLOCK = 128
"""Number of terms that are summed together, so that they stay in the cache."""


@dataclass(frozen=True, eq=False)
class GroupedWeights:
    """Weights that behave like an array of one row per resample and one column per sample."""

    groups: Int[np.ndarray, " samples"]
    rows: Float[np.ndarray, "rows groups"]
    """Weight of each group in each resample; row 0 is 1 everywhere."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: tuple[slice, Int[np.ndarray, " some"] | slice]) -> "GroupedWeights":
        """Return the weights of some samples, as ``weights[:, samples]`` does."""
        return replace(self, groups=self.groups[at[1]])

    def sums(self, terms: Float[np.ndarray, "terms samples"]) -> Float[np.ndarray, "terms groups"]:
        """Return the sum of each term over each group, added in the order of the samples."""
        sums = np.empty((len(terms), self.rows.shape[1]))
        for row, term in zip(sums, terms, strict=True):
            row[:] = np.bincount(self.groups, term, minlength=len(row))
        return sums

    def times(self, sums: Float[np.ndarray, "terms groups"]) -> Float[np.ndarray, "rows terms"]:
        """Return the weighted sums over samples in each resample, from sums over groups."""
        products = np.empty((len(self.rows), len(sums)))
        for at in range(0, len(sums), TERMS_PER_BLOCK):
            block = slice(at, at + TERMS_PER_BLOCK)
            columns = np.ascontiguousarray(sums[block].T)
            products[:, block] = sum_resampled_groups(self.rows, columns)
        return products


RowWeights = Float[np.ndarray, "rows samples"] | GroupedWeights
"""Weight of each sample in each resample, as an array or by groups."""
