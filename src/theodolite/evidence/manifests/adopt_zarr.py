"""Adopt existing Zarr arrays as evidence: write a manifest and a header next to them.

Used by ``theodolite data store --in-place``. Chunks absent at adoption are fill value
(Zarr omits them) and counted; chunks that disappear later are an error."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.chunk_locations import ForeignArray
from theodolite._storage.zarr.packed_chunks import parse_piece_layout, unpack_piece
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.describe import describe_arrays
from theodolite.evidence.manifests.bundle_files import BundleFiles
from theodolite.evidence.manifests.digests import compute_content_digest
from theodolite.evidence.manifests.manifest import (
    HEADER,
    SHARED,
    ChunkRow,
    encode_header,
    encode_manifest,
    manifest_name,
    parse_manifest,
)
from theodolite.evidence.registry import kinds
from theodolite.evidence.shards import SHARD_SAMPLES
from theodolite.evidence.store_writer import WRITTEN_BY, describe_bundle


@dataclass(frozen=True)
class Adopted:
    """Result of adopting Zarr arrays."""

    sha256: str
    samples: int
    notes: tuple[str, ...]


def adopt(address: str, kind_name: str) -> Adopted:
    """Write a manifest and a header beside Zarr arrays that are named like the fields of a kind.

    Every value is read once, for its digest; no array is changed.
    """
    store, kind = Store.at(address), _kind(kind_name)
    names = frozenset(store.names())
    if HEADER in names:
        raise EvidenceError(f"store {str(store)!r}", f"a {HEADER}", "arrays without one")
    fields = {name: layout.axes[0] == "samples" for name, layout in kind.layouts()}
    arrays = {n: ForeignArray(store, n, names) for n in fields if f"{n}/zarr.json" in names}
    absent = [
        array.name for array in describe_arrays(kind) if array.needed and array.name not in arrays
    ]
    if absent:
        got = f"arrays {sorted(arrays)}, none for {absent[0]!r}"
        raise EvidenceError(f"store {str(store)!r}", got, f"all that {kind_name} evidence needs")
    heights = {array.layout.shape[0] for name, array in arrays.items() if fields[name]}
    if len(heights) != 1:
        got = f"arrays {sorted(arrays)} of {sorted(heights)} rows"
        raise EvidenceError(f"store {str(store)!r}", got, f"those of {kind_name}, of equal length")
    (n,) = heights
    rows = max(SHARD_SAMPLES, *(a.layout.chunk[0] for name, a in arrays.items() if fields[name]))
    reading = _Reading(store, arrays, {}, [])
    for name in (name for name in arrays if not fields[name]):
        reading.add(name, SHARED, 0, arrays[name].layout.shape[0], 0)
    first = None
    samples = BundleFiles(store, "")
    for piece, at in enumerate(range(0, n, rows)):
        last = min(at + rows, n)
        for name in (name for name in arrays if fields[name]):
            reading.add(name, piece, at, last, last - at)
        samples.add_samples(piece, at, Samples(index=np.arange(at, last)))
        if first is None:
            first = dict(reading.values)
    samples.close()
    bundle = _described(kind, first or {}, reading.highest, min(rows, n))
    layouts = {name: array.entry for name, array in arrays.items()} | samples.layouts
    content = encode_manifest(bundle, layouts, [*reading.rows, *samples.rows])
    sha256 = hashlib.sha256(content).hexdigest()
    notes = parse_manifest(content, "manifest").absent_notes()
    store.write(manifest_name(sha256), content)
    if not store.create(HEADER, encode_header(sha256, WRITTEN_BY, samples=n)):
        raise EvidenceError(f"store {str(store)!r}", f"a {HEADER}", "arrays without one")
    return Adopted(sha256, n, tuple(notes))


def _kind(name: str) -> type[Evidence]:
    kind = kinds().get(name)
    plain = {n: k for n, k in kinds().items() if not any(k.inner_kinds()) and not _is_ragged(k)}
    if kind is None or name not in plain:
        raise EvidenceError("as", repr(name), f"one of {sorted(plain)}")
    return kind


def _is_ragged(kind: type[Evidence]) -> bool:
    """Return whether a kind has ragged arrays, which Zarr cannot represent."""
    return any(layout.ragged for _, layout in kind.layouts())


@dataclass(eq=False)
class _Reading:
    """Reader of all values, shard by shard, that collects rows of the manifest."""

    store: Store
    arrays: Mapping[str, ForeignArray]
    values: dict[str, np.ndarray]
    """Values of the shard that was read last."""
    rows: list[ChunkRow]

    def __post_init__(self) -> None:
        self.highest: dict[str, int] = {}

    def add(self, name: str, piece: int, first: int, last: int, rows: int) -> None:
        what = f"array {name!r} of {str(self.store)!r}"
        layout = parse_piece_layout(self.arrays[name].entry, what)
        places = self.arrays[name].chunks(first, last)
        present = [(p.file, p.offset, p.length) for p in places if p.length]
        parts = iter(self.store.read_ranges(present))
        contents = [next(parts) if p.length else memoryview(b"") for p in places]
        chunks = [(p.corner, content) for p, content in zip(places, contents, strict=True)]
        values = unpack_piece(chunks, last - first, layout, what)
        digest = compute_content_digest(values)
        for p, content in zip(places, contents, strict=True):
            stored = hashlib.sha256(content).digest()
            row = ChunkRow(
                piece, rows, first if rows else 0, name, last - first, p.file, p.offset, p.length,
                p.corner, stored, digest,
            )  # fmt: skip
            self.rows.append(row)
        self.values[name] = values
        if values.dtype.kind in "iu":
            self.highest[name] = max(self.highest.get(name, 0), int(values.max(initial=0)))


def _described(
    kind: type[Evidence], arrays: Mapping[str, Any], highest: Mapping[str, int], rows: int
) -> dict[str, Any]:
    """Return the bundle's description; later shards may add class names."""
    members: dict[str, Any] = dict(arrays) | {"samples": Samples.numbered(rows)}
    bundle = kind(**members)
    axes: dict[str, Any] = {}
    for name, layout in kind.layouts():
        axis = layout.points_to
        if axis in kind.axes() and highest.get(name, -1) >= len(getattr(bundle, axis)):
            axes[axis] = kind.axes()[axis].numbered(highest[name] + 1)
    return describe_bundle(kind(**(members | axes)) if axes else bundle)
