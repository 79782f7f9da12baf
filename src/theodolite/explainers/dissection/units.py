"""What a unit marks: thresholds over all pictures, then active pixels per atom."""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, Integer

from theodolite.contracts.made import Progress, silent
from theodolite.errors import EvidenceError
from theodolite.explainers.dissection.atoms import Atoms

Maps = Float[np.ndarray, "_pictures units height width"]
Method = Literal["linear", "hazen"]
PAPER = 0.995
REFERENCE = 994 / 999


class TopValues:
    """The largest values of each unit, exactly, in bounded memory; two of them add to one.

    >>> one, other = TopValues(2, 3), TopValues(2, 3)
    >>> one.take(np.array([[[[5.0, 1.0]], [[0.0, 2.0]]]]))
    >>> other.take(np.array([[[[4.0, 9.0]], [[7.0, 1.0]]]]))
    >>> (one + other).largest()
    array([[9., 5., 4.],
           [7., 2., 1.]])
    """

    def __init__(self, units: int, keep: int) -> None:
        self.keep, self.seen = keep, 0
        self._blocks: list[np.ndarray] = []
        self._waiting = 0
        self._units = units

    def take(self, maps: Maps) -> None:
        """See some more maps."""
        values = np.moveaxis(maps, 1, 0).reshape(self._units, -1)
        self.seen += values.shape[1]
        self._blocks.append(self._top(values))
        self._waiting += self._blocks[-1].shape[1]
        if self._waiting > 4 * self.keep:
            self._squeeze()

    def _top(self, values: np.ndarray) -> np.ndarray:
        surplus = values.shape[1] - self.keep
        if surplus <= 0:
            return np.array(values)
        return np.asarray(np.partition(values, surplus, axis=1)[:, surplus:])

    def _squeeze(self) -> None:
        self._blocks = [self._top(np.concatenate(self._blocks, axis=1))]
        self._waiting = self._blocks[0].shape[1]

    def __add__(self, other: "TopValues") -> "TopValues":
        both = TopValues(self._units, self.keep)
        both.seen = self.seen + other.seen
        both._blocks = [*self._blocks, *other._blocks]
        both._squeeze()
        return both

    def largest(self) -> np.ndarray:
        """Largest first."""
        self._squeeze()
        return np.sort(self._blocks[0], axis=1)[:, ::-1]

    def quantile(self, share: float, method: Method = "linear") -> Float[np.ndarray, " units"]:
        """As ``numpy.quantile`` of all values seen."""
        at = share * (self.seen - 1) if method == "linear" else share * self.seen - 0.5
        at = min(max(at, 0.0), self.seen - 1)
        low = math.floor(at)
        from_top = self.seen - 1 - low
        values = self.largest()
        if from_top >= values.shape[1]:
            raise EvidenceError("quantile", f"{share}", f"what the {self.keep} largest can tell")
        below = values[:, from_top].astype(np.float64)
        above = values[:, max(from_top - 1, 0)].astype(np.float64)
        return np.asarray(below + (at - low) * (above - below))


def thresholds(
    batches: Iterable[Maps],
    n_values: int,
    *,
    quantile: float = PAPER,
    method: Method = "linear",
) -> Float[np.ndarray, " units"]:
    """The value that a share ``1 - quantile`` of each unit's values exceeds, on all places.

    The paper says 0.995; the published code reads a sketch at 994/999 by Hazen's rule. A unit that
    is silent on more than that has threshold 0: its mask is wherever it is active at all.
    """
    if not 0 < quantile < 1:
        raise EvidenceError("quantile", f"{quantile}", "a share between 0 and 1, such as 0.995")
    top: TopValues | None = None
    for maps in batches:
        if top is None:
            top = TopValues(maps.shape[1], math.ceil((1 - quantile) * n_values) + 2)
        top.take(maps)
    if top is None:
        raise EvidenceError("activations", "none", "at least one batch")
    return top.quantile(quantile, method)


@dataclass(frozen=True, eq=False)
class Units:
    """The masks of units, as active pixels per atom."""

    start: Integer[np.ndarray, " unit_starts"]
    atom: Integer[np.ndarray, " rows"]
    count: Integer[np.ndarray, " rows"]
    names: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.start) - 1

    def sizes(self) -> Integer[np.ndarray, " units"]:
        """Active pixels of each unit."""
        total = np.concatenate([[0], np.cumsum(self.count, dtype=np.int64)])
        return np.asarray(total[self.start[1:]] - total[self.start[:-1]])

    def with_concepts(self, atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
        """Pixels that each unit and concept share, and pictures in which they meet."""
        from theodolite.explainers.dissection import _unit_kernels as kernels  # noqa: PLC0415

        shared, meet = kernels.unit_concepts(
            self.start, self.atom, self.count, atoms.picture, atoms.label_start, atoms.label,
            len(atoms.concepts),
        )  # fmt: skip
        return shared, meet

    def by_picture(self, atoms: Atoms) -> "Units":
        """Each unit's rows in the order of the pictures whose atoms they name."""
        unit = np.repeat(np.arange(len(self)), np.diff(self.start))
        order = np.lexsort((atoms.picture[self.atom], unit))
        return Units(self.start, self.atom[order], self.count[order], self.names)

    def some(self, which: Sequence[int]) -> "Units":
        """A few of the units."""
        rows = np.concatenate([np.arange(self.start[u], self.start[u + 1]) for u in which])
        lengths = [self.start[u + 1] - self.start[u] for u in which]
        return Units(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            self.atom[rows],
            self.count[rows],
            tuple(self.names[u] for u in which) if self.names else (),
        )


def mark(
    read: Callable[[int, int], Maps],
    atoms: Atoms,
    limits: Float[np.ndarray, " units"],
    *,
    chunk: int = 128,
    threads: int = 2,
    pictures: Integer[np.ndarray, " pictures"] | None = None,
    progress: Progress = silent,
) -> Units:
    """Upsample, threshold and count, in one pass over the pictures.

    Args:
        read: (first, last) -> the maps of these pictures.
        atoms: The concept masks of the same pictures.
        limits: A unit is active where its upsampled value exceeds this.
        chunk: Pictures at a time.
        threads: How many chunks at once.
        pictures: Instead of its own masks, each picture is compared with this other one's.
        progress: Told how far it is.
    """
    from theodolite.explainers.dissection import _unit_kernels as kernels  # noqa: PLC0415

    n = len(atoms)
    order = np.arange(n) if pictures is None else pictures

    def count(first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        last = min(first + chunk, n)
        maps = np.ascontiguousarray(read(first, last), np.float32)
        rows = order[first:last]
        number, start = atoms.number[rows], atoms.start[rows]
        found: tuple[np.ndarray, np.ndarray, np.ndarray] = kernels.active_pixels(
            maps, limits, *atoms.grid, number, start
        )
        return found

    parts = []
    with ThreadPoolExecutor(threads) as pool:
        for done, part in enumerate(pool.map(count, range(0, n, chunk)), start=1):
            parts.append(part)
            progress("units", min(done * chunk, n), n)
    unit, atom, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    by_unit = np.argsort(unit, kind="stable")
    start = np.searchsorted(unit[by_unit], np.arange(len(limits) + 1))
    return Units(start.astype(np.int64), atom[by_unit], counts[by_unit])
