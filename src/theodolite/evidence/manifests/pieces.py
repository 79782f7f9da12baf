"""Pieces of a bundle that has a manifest: one ranged request an array, all at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.packed_pieces import piece_from
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import axes_from
from theodolite.evidence.manifests.manifest import SHARED, ChunkRow, Manifest, manifest_at
from theodolite.evidence.manifests.recipe import (
    CLUSTERS,
    ENDS,
    IDS,
    INDEX,
    OF_SAMPLES,
    content_digest,
    unpacked_ids,
)
from theodolite.evidence.ragged import with_starts
from theodolite.evidence.read_ahead import taken
from theodolite.evidence.registry import check_installed, kinds
from theodolite.evidence.shards import by_class

TOGETHER = 64
"""Pieces whose samples are asked for at once."""


@dataclass(frozen=True)
class StoredPiece:
    """One shard of stored evidence, small enough to send to a worker."""

    store: Store
    inner: str
    """The inner bundle that is meant, if not all."""
    number: int
    first: int
    last: int
    digest: str
    version: str
    """Digest of the manifest, which has all other facts."""
    clusters_are_classes: bool = False

    def evidence(self) -> Evidence:
        """Read it, and check that it is what was written."""
        evidence: Evidence = taken(self)
        return by_class(evidence) if self.clusters_are_classes else evidence

    def read(self) -> Evidence:
        """All of it, in whatever thread this is."""
        manifest = manifest_at(self.store, self.version)
        names = _arrays_of(manifest, self.inner)
        arrays = arrays_of(self.store, manifest, [self.number], names)[0]
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
        """What it takes in memory."""
        return manifest_at(self.store, self.version).unpacked_bytes(self.number)


@dataclass(frozen=True, eq=False)
class StoredShards:
    """All shards of a stored bundle, or of the bundle inside it. Make one with ``stored``."""

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
        return _first(self.pieces()[0])

    def digests(self) -> Sequence[str]:
        by = "by class" if self.clusters_are_classes else ""
        return [f"{self.kind.kind} {digest} {by}" for _, _, digest in self.cuts]

    def digest(self) -> str:
        """Return the digest of the manifest, and so of everything."""
        return self.version

    def by_class(self) -> "StoredShards":
        """Return the shards with classes as clusters."""
        return replace(self, clusters_are_classes=True)

    def pieces(self) -> Sequence[StoredPiece]:
        return [
            StoredPiece(
                self.store, self.inner, number, *cut, self.version, self.clusters_are_classes
            )
            for number, cut in enumerate(self.cuts)
        ]

    def notes(self) -> list[str]:
        return manifest_at(self.store, self.version).absent_notes()

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        manifest = manifest_at(self.store, self.version)
        inner = self.inner or next(iter(manifest.bundle["inner"]), "")
        place = place_of(inner, "labels")
        for at in range(0, len(self.cuts), TOGETHER):
            numbers = range(at, min(at + TOGETHER, len(self.cuts)))
            for arrays in arrays_of(self.store, manifest, numbers, {*OF_SAMPLES, place}):
                labels = arrays.get(place)
                samples = _samples(arrays, str(self.store))
                if self.clusters_are_classes and labels is not None:
                    samples = Samples(samples.index, samples.ids, labels)
                yield samples, labels


@lru_cache(maxsize=8)
def _first(piece: StoredPiece) -> Evidence:
    return piece.evidence()[:1]


def manifest_shards(store: Store, sha256: str, inner: str) -> StoredShards:
    """The pieces that a manifest lists."""
    manifest = manifest_at(store, sha256)
    what = f"manifest of {str(store)!r}"
    outer = checked_bundle(manifest.bundle, "", what)
    insides = {name: checked_bundle(outer, name, what) for name in outer["inner"]}
    bundle = insides[inner] if inner else outer
    pairs = zip(manifest.cuts, manifest.digests(inner), strict=True)
    cuts = tuple((first, last, digest) for (first, last), digest in pairs)
    return StoredShards(store, inner, kinds()[bundle["kind"]], cuts, sha256)


def checked_bundle(bundle: Any, inner: str, what: str) -> dict[str, Any]:
    """What describes a bundle or the one inside it, if it is of a kind that is known here."""
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


def place_of(inner: str, name: str) -> str:
    """Where an array of a bundle, or of the one inside it, lies."""
    return f"{inner}/{name}" if inner else name


def _arrays_of(manifest: Manifest, inner: str) -> set[str]:
    prefix = f"{inner}/" if inner else ""
    return {n for n in manifest.layouts if n.startswith(prefix) or n in OF_SAMPLES}


@lru_cache(maxsize=4)
def _shared(store: Store, sha256: str) -> dict[str, np.ndarray]:
    """Arrays that are the same for all samples."""
    manifest = manifest_at(store, sha256)
    return arrays_of(store, manifest, [SHARED], set(manifest.layouts))[0]


def arrays_of(
    store: Store, manifest: Manifest, pieces: Iterable[int], names: set[str]
) -> list[dict[str, np.ndarray]]:
    """Some arrays of some pieces, each checked against its digest."""
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
            array = piece_from(chunks[name], head.size, manifest.layouts[name], what)
        if content_digest(array) != head.content:
            do = "Copy it again, or write the evidence anew."
            raise UnsafeInputError(
                what, "other content than was written", "what its digest says", do
            )
        array.flags.writeable = False
        arrays[name] = array
    return arrays


def _built(store: Store, sha256: str, inner: str, arrays: Mapping[str, np.ndarray]) -> Evidence:
    bundle, axes = _described(store, sha256, inner)
    kind = kinds()[bundle["kind"]]
    own = {name.removeprefix(place_of(inner, "")): array for name, array in arrays.items()}
    members: dict[str, Any] = {name: own[name] for name in bundle["arrays"]}
    for name, layout in kind.layouts():
        if layout.ragged and name in members:
            members[name] = with_starts(members[name], layout.ragged, own)
    members |= axes
    for name in bundle["inner"]:
        members[name] = _built(store, sha256, name, arrays)
    if not bundle["inner"]:
        members["samples"] = _samples(arrays, str(store))
    return kind.piece(members)


@lru_cache(maxsize=8)  # the same for every piece: thousands of names are checked once
def _described(store: Store, sha256: str, inner: str) -> tuple[dict[str, Any], dict[str, Any]]:
    where = str(store)
    bundle = checked_bundle(manifest_at(store, sha256).bundle, inner, f"manifest of {where!r}")
    return bundle, axes_from(kinds()[bundle["kind"]], bundle, where)


def _samples(arrays: Mapping[str, np.ndarray], where: str) -> Samples:
    ids = None
    if IDS in arrays:
        try:
            ids = unpacked_ids(arrays[IDS], arrays[ENDS])
        except (ValueError, KeyError) as error:
            raise UnsafeInputError(
                f"ids of {where!r}", str(error)[:100], "UTF-8 and ends"
            ) from error
    return Samples(arrays[INDEX], ids, arrays.get(CLUSTERS))
