"""Compute the activation masks of units in one shard, and join shards; a pass of
:mod:`.sharded`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Integer

from theodolite.dissection.atoms import Atoms, pack
from theodolite.dissection.dissect import derangement
from theodolite.dissection.quantiles import Maps
from theodolite.dissection.shards import MapShards, read_shard
from theodolite.dissection.units import UnitMasks, mark
from theodolite.errors import EvidenceError
from theodolite.evidence.workers import Arrays

ATOM_ARRAYS = ("start", "weight", "label_start", "label")


def mark_shard(
    number: int, source: MapShards, limits: Float[np.ndarray, " units"], seed: int
) -> Arrays:
    """Count active pixels of each unit per atom, in its own images and in permuted ones.

    The pixels stay here: of the label maps, only atoms and their weights are passed on. A shard
    with one image cannot permute masks and returns no rows for them.
    """
    maps, labels = read_shard(source, number)
    n = len(maps)
    atoms = pack(labels, [()] * n, source.concepts, source.categories, grid=source.grid)

    def read(first: int, last: int) -> Maps:
        return maps[first:last]

    own = mark(read, atoms, limits, threads=1)
    dealt = UnitMasks(np.zeros_like(own.start), own.atom[:0], own.count[:0])
    if n > 1:
        # the first shard deals as a data set of its own does
        other = derangement(n, (seed, number) if number else seed)
        dealt = mark(read, atoms, limits, threads=1, images=other).by_image(atoms)
    return {
        **{name: getattr(atoms, name) for name in ATOM_ARRAYS},
        **_rows("own", own),
        **_rows("dealt", dealt),
        "fires": maps.max(axis=(2, 3)) > limits,
    }


def _rows(which: str, units: UnitMasks) -> dict[str, np.ndarray]:
    return {
        f"{which}_start": units.start,
        f"{which}_atom": units.atom,
        f"{which}_count": units.count,
    }


@dataclass(frozen=True, eq=False)
class JoinedUnits:
    """Rows of all shards by unit, and their number per shard and unit."""

    units: UnitMasks
    per_shard: Integer[np.ndarray, "shards units"]

    @cached_property
    def _begin(self) -> Integer[np.ndarray, "shards units"]:
        """Where each shard's rows begin."""
        before = np.cumsum(self.per_shard, axis=0) - self.per_shard
        return np.asarray(before + self.units.start[:-1])

    def of_shard(self, at: int, first_atom: int) -> UnitMasks:
        """Return the rows of one shard, with atoms counted from its first."""
        begin, n = self._begin[at], self.per_shard[at]
        start = np.concatenate([[0], np.cumsum(n)])
        rows = np.arange(start[-1]) + np.repeat(begin - start[:-1], n)
        return UnitMasks(
            start, self.units.atom[rows] - np.int32(first_atom), self.units.count[rows]
        )


@dataclass(frozen=True, eq=False)
class Marks:
    """Masks of all shards that did not fail."""

    numbers: tuple[int, ...]
    atoms: Atoms
    """Atoms without pixels: ``atoms.number`` is empty."""
    first_image: Integer[np.ndarray, " shard_starts"]
    own: JoinedUnits
    dealt: JoinedUnits
    fires: Sequence[Bool[np.ndarray, "_images units"]]

    def atoms_of(self, at: int) -> Atoms:
        """Return the atoms of one shard."""
        first, last = self.first_image[at], self.first_image[at + 1]
        start = self.atoms.start[first : last + 1]
        label_start = self.atoms.label_start[start[0] : start[-1] + 1]
        return Atoms(
            self.atoms.concepts,
            self.atoms.categories,
            self.atoms.grid,
            start - start[0],
            self.atoms.weight[start[0] : start[-1]],
            label_start - label_start[0],
            self.atoms.label[label_start[0] : label_start[-1]],
            np.empty((last - first, 0), np.uint16),
        )

    def units_of(self, at: int) -> tuple[UnitMasks, UnitMasks]:
        """Return the units' masks in one shard, in its own images and in permuted ones."""
        first = int(self.atoms.start[self.first_image[at]])
        return self.own.of_shard(at, first), self.dealt.of_shard(at, first)


def join_marks(source: MapShards, numbers: Sequence[int], parts: Sequence[Arrays]) -> Marks:
    """Join the masks of shards, in order."""
    if not parts:
        raise EvidenceError("activations", "no shard that could be marked", "at least one")
    n_atoms = [len(part["weight"]) for part in parts]
    if sum(n_atoms) > np.iinfo(np.int32).max:
        raise EvidenceError("label maps", f"{sum(n_atoms):,} atoms", "fewer than 2,147,483,648")
    images = [len(part["start"]) - 1 for part in parts]
    first_atom = np.concatenate([[0], np.cumsum(n_atoms)])
    atoms = Atoms(
        source.concepts,
        source.categories,
        source.grid,
        _starts([part["start"] for part in parts]),
        np.concatenate([part["weight"] for part in parts]),
        _starts([part["label_start"] for part in parts]),
        np.concatenate([part["label"] for part in parts]),
        np.empty((sum(images), 0), np.uint16),
    )
    return Marks(
        tuple(numbers),
        atoms,
        np.concatenate([[0], np.cumsum(images)]),
        _joined(parts, "own", first_atom),
        _joined(parts, "dealt", first_atom),
        [part["fires"] for part in parts],
    )


def _starts(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return starts that continue where the previous part ends."""
    ends = np.cumsum([0, *(part[-1] for part in parts)])
    moved = [part[:-1] + end for part, end in zip(parts, ends, strict=False)]
    return np.concatenate([*moved, ends[-1:]])


def _joined(
    parts: Sequence[Arrays], which: str, first_atom: Integer[np.ndarray, " shard_starts"]
) -> JoinedUnits:
    """Each unit's rows over all shards, in the order of the images."""
    per_shard = np.stack([np.diff(part[f"{which}_start"]) for part in parts])
    start = np.concatenate([[0], np.cumsum(per_shard.sum(axis=0))])
    atom, count = np.empty((2, start[-1]), np.int32)
    at = start[:-1].copy()
    for number, part in enumerate(parts):
        n = per_shard[number]
        own = np.repeat(at - part[f"{which}_start"][:-1], n) + np.arange(n.sum())
        atom[own] = part[f"{which}_atom"] + first_atom[number]
        count[own] = part[f"{which}_count"]
        at += n
    return JoinedUnits(UnitMasks(start, atom, count), per_shard)
