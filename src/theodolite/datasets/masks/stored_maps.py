"""Activations and label maps that are on disk or in a bucket, in shards.

A folder (or an address such as ``s3://bucket/maps``) with two Zarr arrays and ``header.json``:

- ``activations``: images x units x height x width, in half or single precision.
- ``labels``: images x layers x rows x columns, 16-bit: 0 for nothing, c + 1 for concept c.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt16

from theodolite._storage.stores import Store
from theodolite._storage.zarr.arrays import read_zarr_header, read_zarr_rows
from theodolite.datasets.masks.mask_data import MOST_CONCEPTS
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Concepts

FORMAT, FORMAT_VERSION = "theodolite-maps", 1
Stored = tuple[
    Float32[np.ndarray, "images units height width"],
    UInt16[np.ndarray, "images layers rows columns"],
]


@dataclass(frozen=True, kw_only=True)
class StoredMaps:
    """What the header says; arrays are read shard by shard, when they are asked for."""

    store: Store
    concepts: tuple[str, ...]
    categories: tuple[str, ...]
    shape: tuple[int, int, int, int]
    """Images, units, height and width of the activations."""
    layers: int
    grid: tuple[int, int]
    """Rows and columns of the label maps."""
    shard_rows: int
    digests_of_shards: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.store.address.rpartition("/")[2]

    @property
    def n_shards(self) -> int:
        """How many shards there are."""
        return len(self.digests_of_shards)

    def digest(self, number: int) -> str:
        """What a shard's content must be."""
        return self.digests_of_shards[number]

    def shard(self, number: int) -> Stored:
        """Activations in single precision, and label maps; refused if they are not what was
        written."""
        first = number * self.shard_rows
        last = min(first + self.shard_rows, len(self))
        maps, labels = (
            read_zarr_rows(self.store, name, first, last) for name in ("activations", "labels")
        )
        if digest_of_shard(maps, labels) != self.digest(number):
            raise UnsafeInputError(
                f"shard {number} of {self.name!r}",
                "other content",
                "what the header has a digest of",
                "Copy or write the maps again.",
            )
        return maps.astype(np.float32), labels

    def summary(self) -> list[tuple[str, str]]:
        """What is in it, in a few lines."""
        n, units, height, width = self.shape
        kinds = Counter(self.categories)
        return [
            ("images", f"{n:,} in {self.n_shards:,} shards"),
            ("units", f"{units:,}, maps of {height} x {width}"),
            ("label maps", f"{self.layers} of {self.grid[0]} x {self.grid[1]}"),
            ("concepts", ", ".join(f"{k} of {kind}" for kind, k in sorted(kinds.items()))),
        ]

    def digests(self) -> dict[str, str]:
        """One digest of all shards."""
        whole = hashlib.sha256("\n".join(self.digests_of_shards).encode()).hexdigest()
        return {f"{self.name}: digests of {self.n_shards} shards": whole}


def stored_maps(root: Path | None = None, address: str | None = None) -> StoredMaps:
    """Read what ``write_maps`` wrote: a folder (``root``), or an ``address`` in a bucket."""
    if (root is None) == (address is None):
        got = "neither" if root is None else "both"
        raise EvidenceError("root and address", got, "one of them")
    if address is not None and Store.at(address).local is not None:
        raise EvidenceError("address", repr(address), "one in a bucket", "Name a folder as `root`.")
    return open_maps(root if address is None else address)  # type: ignore[arg-type]


def open_maps(address: str | Path) -> StoredMaps:
    """Read the header of stored maps, and see that the arrays fit it."""
    store = Store.at(address)
    header = _header(store)
    maps, labels = (read_zarr_header(store, name) for name in ("activations", "labels"))
    fits = len(maps.shape) == len(labels.shape) == 4 and maps.shape[0] == labels.shape[0]
    right = maps.dtype in (np.float16, np.float32) and labels.dtype == np.uint16
    if not fits or not right or min(*maps.shape, *labels.shape) < 1:
        raise UnsafeInputError(
            f"maps {store.address!r}",
            f"activations {maps.dtype} {maps.shape}, labels {labels.dtype} {labels.shape}",
            "float16 or float32 (images, units, height, width) and uint16 (images, layers, "
            "rows, columns) of as many images",
        )  # fmt: skip
    rows, digests = header["shard_rows"], header["digests"]
    n, units, height, width = maps.shape
    if len(digests) != -(-n // rows):
        needed = f"{-(-n // rows)} for {n:,} images"
        raise UnsafeInputError(f"maps {store.address!r}", f"{len(digests)} digests", needed)
    return StoredMaps(
        store=store,
        concepts=tuple(header["concepts"]),
        categories=tuple(header["categories"]),
        shape=(n, units, height, width),
        layers=labels.shape[1],
        grid=(labels.shape[2], labels.shape[3]),
        shard_rows=rows,
        digests_of_shards=tuple(digests),
    )


def _header(store: Store) -> dict[str, Any]:
    """The header, with everything in it that is used checked."""
    what = f"header of {store.address!r}"
    try:
        header = json.loads(store.read("header.json"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, EvidenceError):
            raise
        raise UnsafeInputError(what, "broken JSON", "JSON, as `write_maps` writes it") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnsafeInputError(what, "another format", f"format {FORMAT!r}")
    if header.get("version") != FORMAT_VERSION:
        raise UnsafeInputError(what, f"version {header.get('version')}", f"{FORMAT_VERSION}")
    names, kinds, digests = (header.get(key) for key in ("concepts", "categories", "digests"))
    for key, words in (("concepts", names), ("categories", kinds), ("digests", digests)):
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UnsafeInputError(what, f"{key} that are not a list of words", "one")
    checked_names(names, kinds)
    rows = header.get("shard_rows")
    if type(rows) is not int or rows < 1:
        raise UnsafeInputError(what, f"shard_rows {rows!r}", "a whole number of at least 1")
    return header


def checked_names(concepts: Any, categories: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Concepts and their categories; all are objects if nothing is said."""
    if isinstance(concepts, str):
        raise EvidenceError("concepts", "one word", "a list of names")
    names = Concepts(tuple(concepts)).names
    if not 0 < len(names) <= MOST_CONCEPTS:
        raise EvidenceError("concepts", f"{len(names)}", f"1 to {MOST_CONCEPTS:,} names")
    kinds = ("object",) * len(names) if categories is None else tuple(categories)
    if len(kinds) != len(names):
        raise EvidenceError("categories", f"{len(kinds)}", f"{len(names)}, one for each concept")
    return names, kinds


def digest_of_shard(maps: np.ndarray, labels: np.ndarray) -> str:
    """Digest of the values, not of the files: packed again, it is the same."""
    hasher = hashlib.sha256()
    for part in (maps, labels):
        little = part.astype(part.dtype.newbyteorder("<"), copy=False)
        hasher.update(np.ascontiguousarray(little).data)
    return hasher.hexdigest()
