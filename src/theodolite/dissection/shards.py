"""Interface of sharded activations and label maps, which a sharded dissection reads."""

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
    """Images in shards of equal size; sent to other processes, so keep it small."""

    @property
    def concepts(self) -> tuple[str, ...]:
        """Names of the concepts."""

    @property
    def categories(self) -> tuple[str, ...]:
        """Category of each concept."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the label maps."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Images, units, height and width of all activations."""

    @property
    def shard_rows(self) -> int:
        """Number of images per shard; the last may have fewer."""

    def shard(self, number: int) -> ShardMaps:
        """Return activations and label maps: 0 for no label, c + 1 for concept c."""

    def digest(self, number: int) -> str:
        """Return the digest of a shard without reading it."""


def n_shards(source: MapShards) -> int:
    """Return the number of shards."""
    return -(-source.shape[0] // source.shard_rows)


def read_shard(source: MapShards, number: int) -> ShardMaps:
    """Read a shard and check its shapes and values."""
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
    """Return the work that applies one function to some shards."""
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
    """Return a digest of arrays with their types and shapes."""
    hasher = hashlib.sha256()
    for array in arrays:
        hasher.update(f"{array.dtype.str} {array.shape}\n".encode())
        hasher.update(np.ascontiguousarray(array).tobytes())
    return hasher.hexdigest()
