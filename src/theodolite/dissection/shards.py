"""Activations and label maps in shards: what a dissection needs to know of where they are."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Integer

from theodolite.errors import EvidenceError
from theodolite.evidence.workers import Arrays, Work

ShardMaps = tuple[
    Float32[np.ndarray, "images units height width"],
    Integer[np.ndarray, "images layers rows columns"],
]


@runtime_checkable
class MapShards(Protocol):
    """Images cut into pieces of equal size. It goes to other processes: keep it small."""

    @property
    def concepts(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def categories(self) -> tuple[str, ...]:
        """What kind of concept each is."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the label maps."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Images, units, height and width of all activations."""

    @property
    def shard_rows(self) -> int:
        """Images of a shard; the last may have fewer."""

    def shard(self, number: int) -> ShardMaps:
        """Activations, and label maps: 0 for nothing, c + 1 for concept c."""

    def digest(self, number: int) -> str:
        """A digest of a shard, known without reading it."""


def n_shards(source: MapShards) -> int:
    """How many there are."""
    return -(-source.shape[0] // source.shard_rows)


def read_shard(source: MapShards, number: int) -> ShardMaps:
    """A shard, checked: what does not fit must not be counted."""
    maps, labels = source.shard(number)
    n = min(source.shard_rows, source.shape[0] - number * source.shard_rows)
    needed = ((n, *source.shape[1:]), (n, *source.grid))
    got = (maps.shape, (len(labels), *labels.shape[2:]))
    if got != needed:
        raise EvidenceError(
            f"shard {number}", f"activations {got[0]}, label maps {labels.shape}",
            f"activations {needed[0]}, label maps of {n} images on a grid of {source.grid}",
        )  # fmt: skip
    if not np.isfinite(maps).all():
        raise EvidenceError(
            f"activations of shard {number}", "NaN or infinite values", "finite numbers"
        )
    return maps, labels


def shard_work(
    what: str,
    do: Callable[..., Arrays],
    source: MapShards,
    numbers: Sequence[int],
    settings: Mapping[str, Any],
) -> Work:
    """The same work for some shards."""
    return Work(
        what=what,
        do=do,
        items=list(numbers),
        # with the number: equal shards deal their masks out differently
        digests=[f"{number}:{source.digest(number)}" for number in numbers],
        about={"work": f"dissection, {what}", "version": 1, **settings},
        names=[f"shard {number}" for number in numbers],
    )


def digest_of(*arrays: np.ndarray) -> str:
    """A digest of arrays, their types and shapes."""
    hasher = hashlib.sha256()
    for array in arrays:
        hasher.update(f"{array.dtype.str} {array.shape}\n".encode())
        hasher.update(np.ascontiguousarray(array).tobytes())
    return hasher.hexdigest()
