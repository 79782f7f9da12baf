"""Read shards of stored evidence: one ranged request per array, many at once, digests checked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.packed_chunks import unpack_piece
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import read_axes
from theodolite.evidence.manifests.digests import (
    CLUSTERS,
    ENDS,
    IDS,
    INDEX,
    SAMPLE_ARRAYS,
    compute_content_digest,
    unpack_ids,
)
from theodolite.evidence.manifests.manifest import SHARED, ChunkRow, Manifest, read_manifest
from theodolite.evidence.ragged import with_starts
from theodolite.evidence.read_ahead import take_item
from theodolite.evidence.registry import check_installed, kinds
from theodolite.evidence.shards import cluster_by_class

SHARDS_PER_READ = 64
"""Number of shards whose sample arrays are requested at once."""


@dataclass(frozen=True)
class StoredShard:
    """One shard of stored evidence; small enough to send to a worker."""

    store: Store
    inner: str
    """Name of the inner bundle, or empty for the bundle itself."""
    number: int
    first: int
    last: int
    digest: str
    version: str
    """Digest of the manifest, which holds all other facts."""
    clusters_are_classes: bool = False

    def evidence(self) -> Evidence:
        """Read the shard and check its digest; uses data that was read ahead."""
        evidence: Evidence = take_item(self)
        return cluster_by_class(evidence) if self.clusters_are_classes else evidence

    def read(self) -> Evidence:
        """Read the whole shard in the calling thread."""
        manifest = read_manifest(self.store, self.version)
        names = _arrays_of(manifest, self.inner)
        arrays = read_arrays(self.store, manifest, [self.number], names)[0]
        shared = _shared(self.store, self.version)
        try:
            return _built(self.store, self.version, self.inner, shared | arrays)
        except (TypeError, KeyError, ValueError) as error:
            if isinstance(error, UnsafeInputError):
                raise
            raise UnsafeInputError(
                f"store {str(self.store)!r}", str(error), "all its arrays"
            ) from error

    def unpacked_bytes(self) -> int:
        """Return the memory that the shard needs, in bytes."""
        return read_manifest(self.store, self.version).unpacked_bytes(self.number)


@dataclass(frozen=True, eq=False)
class StoredShards:
    """All shards of a stored bundle or of its inner bundle. Create one with ``stored``."""

    store: Store
    inner: str
    kind: type[Evidence]
    cuts: tuple[tuple[int, int, str], ...]
    """First row, last row and digest of each shard."""
    version: str
    """Digest of the manifest."""
    clusters_are_classes: bool = False

    def __len__(self) -> int:
        return self.cuts[-1][1]

    def first(self) -> Evidence:
        return _first(self.shards()[0])

    def digests(self) -> Sequence[str]:
        by = "by class" if self.clusters_are_classes else ""
        return [f"{self.kind.kind} {digest} {by}" for _, _, digest in self.cuts]

    def digest(self) -> str:
        """Return the digest of the manifest, and so of everything."""
        return self.version

    def by_class(self) -> "StoredShards":
        """Return the shards with classes as clusters."""
        return replace(self, clusters_are_classes=True)

    def shards(self) -> Sequence[StoredShard]:
        return [
            StoredShard(
                self.store, self.inner, number, *cut, self.version, self.clusters_are_classes
            )
            for number, cut in enumerate(self.cuts)
        ]

    def notes(self) -> list[str]:
        return read_manifest(self.store, self.version).absent_notes()

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        manifest = read_manifest(self.store, self.version)
        inner = self.inner or next(iter(manifest.bundle["inner"]), "")
        place = get_array_path(inner, "labels")
        for at in range(0, len(self.cuts), SHARDS_PER_READ):
            numbers = range(at, min(at + SHARDS_PER_READ, len(self.cuts)))
            for arrays in read_arrays(self.store, manifest, numbers, {*SAMPLE_ARRAYS, place}):
                labels = arrays.get(place)
                samples = _samples(arrays, str(self.store))
                if self.clusters_are_classes and labels is not None:
                    samples = Samples(samples.index, samples.ids, labels)
                yield samples, labels


@lru_cache(maxsize=8)
def _first(piece: StoredShard) -> Evidence:
    return piece.evidence()[:1]


def open_manifest_shards(store: Store, sha256: str, inner: str) -> StoredShards:
    """Return the shards that a manifest lists."""
    manifest = read_manifest(store, sha256)
    what = f"manifest of {str(store)!r}"
    outer = check_bundle(manifest.bundle, "", what)
    insides = {name: check_bundle(outer, name, what) for name in outer["inner"]}
    bundle = insides[inner] if inner else outer
    pairs = zip(manifest.cuts, manifest.digests(inner), strict=True)
    cuts = tuple((first, last, digest) for (first, last), digest in pairs)
    return StoredShards(store, inner, kinds()[bundle["kind"]], cuts, sha256)


def check_bundle(bundle: Any, inner: str, what: str) -> dict[str, Any]:
    """Return the description of a bundle or its inner one, if its kind is known."""
    if inner:
        bundle = bundle.get("inner", {}).get(inner) if isinstance(bundle, dict) else None
    if isinstance(bundle, dict):
        check_installed(bundle)
    kind = kinds().get(str(bundle.get("kind"))) if isinstance(bundle, dict) else None
    if bundle is None or kind is None or bundle.get("kind_version") != kind.version:
        raise UnsafeInputError(what, "an unknown kind of evidence", f"one of {sorted(kinds())}")
    for key in ("arrays", "axes", "inner"):
        if not isinstance(bundle.get(key), dict):
            raise UnsafeInputError(what, f"no {key!r}", "an object")
    unknown = sorted(set(bundle["arrays"]) - {name for name, _ in kind.layouts()})
    if unknown:
        raise UnsafeInputError(what, f"array {unknown[0]!r}", "arrays of its kind")
    bundle_header: dict[str, Any] = bundle
    return bundle_header


def get_array_path(inner: str, name: str) -> str:
    """Return the path of an array in a bundle or its inner bundle."""
    return f"{inner}/{name}" if inner else name


def _arrays_of(manifest: Manifest, inner: str) -> set[str]:
    prefix = f"{inner}/" if inner else ""
    return {n for n in manifest.layouts if n.startswith(prefix) or n in SAMPLE_ARRAYS}


@lru_cache(maxsize=4)
def _shared(store: Store, sha256: str) -> dict[str, np.ndarray]:
    manifest = read_manifest(store, sha256)
    return read_arrays(store, manifest, [SHARED], set(manifest.layouts))[0]


def read_arrays(
    store: Store, manifest: Manifest, pieces: Iterable[int], names: set[str]
) -> list[dict[str, np.ndarray]]:
    """Return some arrays of some shards, each checked against its digest."""
    rows = [[row for row in manifest.rows_of(n) if row.array in names] for n in pieces]
    stored = [row for part in rows for row in part if row.length]
    contents = iter(store.read_ranges([(row.file, row.offset, row.length) for row in stored]))
    return [_arrays(store, manifest, part, contents) for part in rows]


def _arrays(
    store: Store, manifest: Manifest, rows: Sequence[ChunkRow], contents: Iterator[memoryview]
) -> dict[str, np.ndarray]:
    chunks: dict[str, list[Any]] = {}
    heads: dict[str, ChunkRow] = {}
    for row in rows:
        content = next(contents) if row.length else memoryview(b"")
        chunks.setdefault(row.array, []).append((row.corner, content))
        heads[row.array] = row
    arrays = {}
    for name, head in heads.items():
        what = f"array {name!r} of piece {head.piece} of {str(store)!r}"
        if name == INDEX and head.index_first is not None and head.index_step is not None:
            array = head.index_first + head.index_step * np.arange(head.rows, dtype=np.int64)
        else:
            array = unpack_piece(chunks[name], head.size, manifest.layouts[name], what)
        if compute_content_digest(array) != head.content:
            do = "Copy it again, or write the evidence again."
            raise UnsafeInputError(
                what, "other content than was written", "what its digest says", do
            )
        array.flags.writeable = False
        arrays[name] = array
    return arrays


def _built(store: Store, sha256: str, inner: str, arrays: Mapping[str, np.ndarray]) -> Evidence:
    bundle, axes = _described(store, sha256, inner)
    kind = kinds()[bundle["kind"]]
    own = {name.removeprefix(get_array_path(inner, "")): array for name, array in arrays.items()}
    members: dict[str, Any] = {name: own[name] for name in bundle["arrays"]}
    for name, layout in kind.layouts():
        if layout.ragged and name in members:
            members[name] = with_starts(members[name], layout.ragged, own)
    members |= axes
    for name in bundle["inner"]:
        members[name] = _built(store, sha256, name, arrays)
    if not bundle["inner"]:
        members["samples"] = _samples(arrays, str(store))
    return kind.make_shard(members)


@lru_cache(maxsize=8)  # the same for every piece: thousands of names are checked once
def _described(store: Store, sha256: str, inner: str) -> tuple[dict[str, Any], dict[str, Any]]:
    where = str(store)
    bundle = check_bundle(read_manifest(store, sha256).bundle, inner, f"manifest of {where!r}")
    return bundle, read_axes(kinds()[bundle["kind"]], bundle, where)


def _samples(arrays: Mapping[str, np.ndarray], where: str) -> Samples:
    ids = None
    if IDS in arrays:
        try:
            ids = unpack_ids(arrays[IDS], arrays[ENDS])
        except (ValueError, KeyError) as error:
            raise UnsafeInputError(
                f"ids of {where!r}", str(error)[:100], "UTF-8 and ends"
            ) from error
    return Samples(arrays[INDEX], ids, arrays.get(CLUSTERS))
