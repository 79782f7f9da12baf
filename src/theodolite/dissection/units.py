"""Compute activation masks of units: thresholds over all images, then active pixels per atom."""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.quantiles import Maps, Method, Quantiles, TopValues, ValueCounts
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent

PAPER = 0.995
REFERENCE = 994 / 999


def thresholds(
    batches: Iterable[Maps],
    n_values: int,
    *,
    quantile: float = PAPER,
    method: Method = "linear",
    exact: bool = True,
) -> Float[np.ndarray, " units"]:
    """Return the value that a fraction ``1 - quantile`` of each unit's values exceeds.

    The paper says 0.995; the published code reads a sketch at 994/999 by Hazen's rule. A unit that
    is silent on more than that has threshold 0: its mask is wherever it is active at all. Exact
    thresholds keep 0.5 % of all values; ``exact=False`` counts them in bins instead, in
    constant memory, and is off by less than 1/128 of the threshold.
    """
    if not 0 < quantile < 1:
        raise EvidenceError("quantile", f"{quantile}", "a share between 0 and 1, such as 0.995")
    seen: Quantiles | None = None
    for maps in batches:
        if seen is None:
            keep = math.ceil((1 - quantile) * n_values) + 2
            seen = TopValues(maps.shape[1], keep) if exact else ValueCounts(maps.shape[1])
        if not np.isfinite(maps).all():
            raise EvidenceError(
                "activations", "NaN or infinite values", "finite numbers",
                "Half precision ends at 65,504: scale larger activations.",
            )  # fmt: skip
        seen.take(maps)
    if seen is None:
        raise EvidenceError("activations", "none", "at least one batch")
    return seen.quantile(quantile, method)


@dataclass(frozen=True, eq=False)
class UnitMasks:
    """Masks of units as active pixels per atom."""

    start: Integer[np.ndarray, " unit_starts"]
    atom: Integer[np.ndarray, " rows"]
    count: Integer[np.ndarray, " rows"]

    def __len__(self) -> int:
        return len(self.start) - 1

    def sizes(self) -> Integer[np.ndarray, " units"]:
        """Return the number of active pixels of each unit."""
        total = np.concatenate([[0], np.cumsum(self.count, dtype=np.int64)])
        return np.asarray(total[self.start[1:]] - total[self.start[:-1]])

    def with_concepts(self, atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
        """Return pixels that units and concepts share, and images in which they meet."""
        from theodolite.dissection import _unit_kernels as kernels  # noqa: PLC0415

        shared, meet = kernels.unit_concepts(
            self.start, self.atom, self.count, atoms.image, atoms.label_start, atoms.label,
            len(atoms.concepts),
        )  # fmt: skip
        return shared, meet

    def by_image(self, atoms: Atoms) -> "UnitMasks":
        """Return each unit's rows sorted by image."""
        unit = np.repeat(np.arange(len(self)), np.diff(self.start))
        order = np.lexsort((atoms.image[self.atom], unit))
        return UnitMasks(self.start, self.atom[order], self.count[order])

    def some(self, which: Sequence[int]) -> "UnitMasks":
        """Return the masks of some units."""
        rows = np.concatenate([np.arange(self.start[u], self.start[u + 1]) for u in which])
        lengths = [self.start[u + 1] - self.start[u] for u in which]
        return UnitMasks(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            self.atom[rows],
            self.count[rows],
        )


def mark(
    read: Callable[[int, int], Maps],
    atoms: Atoms,
    limits: Float[np.ndarray, " units"],
    *,
    chunk: int = 128,
    threads: int = 2,
    images: Integer[np.ndarray, " images"] | None = None,
    progress: Progress = silent,
) -> UnitMasks:
    """Upsample, threshold and count, in one pass over the images.

    Args:
        read: (first, last) -> the maps of these images.
        atoms: The concept masks of the same images.
        limits: A unit is active where its upsampled value exceeds this.
        chunk: Images at a time.
        threads: How many chunks at once.
        images: Instead of its own masks, each image is compared with this other one's.
        progress: Told how far it is.
    """
    from theodolite.dissection import _unit_kernels as kernels  # noqa: PLC0415

    n = len(atoms)
    order = np.arange(n) if images is None else images

    def count(first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        last = min(first + chunk, n)
        maps = np.ascontiguousarray(read(first, last), np.float32)
        rows = order[first:last]
        number, start = atoms.number[rows], atoms.start[rows]
        arrays: tuple[np.ndarray, np.ndarray, np.ndarray] = kernels.active_pixels(
            maps, limits, *atoms.grid, number, start
        )
        return arrays

    parts = []
    with ThreadPoolExecutor(threads) as pool:
        for done, part in enumerate(pool.map(count, range(0, n, chunk)), start=1):
            parts.append(part)
            progress("units", min(done * chunk, n), n)
    unit, atom, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not atoms.weight.all():  # void pixels: a unit that marks them is neither right nor wrong
        there = atoms.weight[atom] > 0
        unit, atom, counts = unit[there], atom[there], counts[there]
    by_unit = np.argsort(unit, kind="stable")
    start = np.searchsorted(unit[by_unit], np.arange(len(limits) + 1))
    return UnitMasks(start.astype(np.int64), atom[by_unit], counts[by_unit])
