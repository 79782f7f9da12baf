"""Weights of many samples through groups of them: each sample counts as often as its group."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.groups import sum_resampled_groups

TOGETHER = 128
"""Terms whose sums over groups are added up together."""


@dataclass(frozen=True, eq=False)
class GroupedWeights:
    """In place of weights with a row a resample and a column a sample."""

    groups: Int[np.ndarray, " samples"]
    rows: Float[np.ndarray, "rows groups"]
    """The first row is 1 everywhere: the samples as they are."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: tuple[slice, Int[np.ndarray, " some"] | slice]) -> "GroupedWeights":
        """Of some samples: as ``weights[:, samples]``."""
        return replace(self, groups=self.groups[at[1]])

    def sums(self, terms: Float[np.ndarray, "terms samples"]) -> Float[np.ndarray, "terms groups"]:
        """Of each term the sums over each group, added in the order of the samples."""
        sums = np.empty((len(terms), self.rows.shape[1]))
        for own, term in zip(sums, terms, strict=True):
            own[:] = np.bincount(self.groups, term, minlength=len(own))
        return sums

    def times(self, sums: Float[np.ndarray, "terms groups"]) -> Float[np.ndarray, "rows terms"]:
        """Sums over samples in each row, from sums over groups."""
        products = np.empty((len(self.rows), len(sums)))
        for at in range(0, len(sums), TOGETHER):  # so few that their sums stay in the cache
            some = slice(at, at + TOGETHER)
            products[:, some] = sum_resampled_groups(self.rows, np.ascontiguousarray(sums[some].T))
        return products


RowWeights = Float[np.ndarray, "rows samples"] | GroupedWeights
"""How often samples count, a row a resample."""
