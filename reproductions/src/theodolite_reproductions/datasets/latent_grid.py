"""Images made from a few whole numbers, thinned out so that neighboring numbers depend."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError


@dataclass(frozen=True)
class Link:
    """How one hidden number depends on the one before it, once they are linked.

    Each value of the parent goes with ``n_allowed`` values of the child. They are drawn from the
    first ``reach`` values if the parent is in its lower half (``parent < below``), else from the
    last.
    """

    parents: int
    below: int
    children: int
    reach: int
    n_allowed: int

    def allowed(self, random: np.random.Generator) -> Bool[np.ndarray, "parents children"]:
        """Return which child values go with each parent value, drawn again.

        >>> link = Link(parents=4, below=2, children=5, reach=3, n_allowed=3)
        >>> link.allowed(np.random.default_rng(0)).astype(int).tolist()
        [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 1]]
        """
        table = np.zeros((self.parents, self.children), bool)
        for parent in range(self.parents):
            start = 0 if parent < self.below else self.children - self.reach
            table[parent, start + random.permutation(self.reach)[: self.n_allowed]] = True
        return table


def grid(values: Sequence[range]) -> Int[np.ndarray, "n numbers"]:
    """Every combination, the last number running fastest.

    >>> grid([range(2), range(0, 4, 2)]).tolist()
    [[0, 0], [0, 2], [1, 0], [1, 2]]
    """
    axes = np.meshgrid(*(np.array(value) for value in values), indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


def linked_mask(
    latents: Int[np.ndarray, "n numbers"], allowed: Sequence[Bool[np.ndarray, "_ _"]]
) -> Bool[np.ndarray, " n"]:
    """Which combinations are left when number i + 1 must go with number i, for each table given."""
    mask = np.ones(len(latents), bool)
    for i, table in enumerate(allowed):
        mask &= table[latents[:, i], latents[:, i + 1]]
    return mask


def some_rows(n: int, at_most: int | None, random: np.random.Generator) -> Int[np.ndarray, " m"]:
    """All rows, or a random part of them in their own order: enough for a short run."""
    if at_most is not None and at_most < 20:
        raise EvidenceError("at_most", f"{at_most}", "at least 20, so that each split has some")
    if at_most is None or at_most >= n:
        return np.arange(n)
    return np.sort(random.choice(n, at_most, replace=False))


def checked_gamma(gamma: int, links: int) -> int:
    """Return how many links of the chain hold: none, or up to all of them."""
    if not 0 <= gamma <= links:
        raise EvidenceError("gamma", f"{gamma}", f"0 (no dependence) to {links} (the whole chain)")
    return gamma


def scaled_numbers(
    latents: Int[np.ndarray, "n numbers"],
    sizes: Sequence[int],
    noise: float = 0.0,
    random: np.random.Generator | None = None,
) -> Float[np.ndarray, "n numbers"]:
    """The numbers themselves as inputs, each from 0 to 1, with normal noise of this size if any.

    >>> scaled_numbers(np.array([[0, 3], [1, 2]]), (2, 5)).tolist()
    [[0.0, 0.75], [1.0, 0.5]]
    """
    scaled = latents / (np.asarray(sizes) - 1.0)
    if noise:
        scaled += noise * (random or np.random.default_rng(0)).standard_normal(scaled.shape)
    return np.asarray(scaled, np.float32)


def scaled_note(name: str, noise: float = 0.0) -> str:
    """What a reader must know where numbers stand in for images."""
    more = f", with normal noise of {noise:g}" if noise else ""
    return f"No images of {name}: the inputs are the numbers that make them{more}."
