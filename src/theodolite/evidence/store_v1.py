"""Evidence in pieces as 0.1 wrote it, format 1: still read.

A folder or an address holds ``header.json`` (kind, names, arrays), ``shards.parquet`` (rows and
digest of each piece), one Zarr array for each array that has a row per sample, the other arrays in
``shared.safetensors``, and tables of the samples. See docs/file-format.md.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from theodolite.errors import RefusedInput
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import axes_from
from theodolite.evidence.registry import check_installed, kinds
from theodolite.evidence.shards import by_class, evidence_digest
from theodolite.io.packed import unpacked
from theodolite.io.stores import Store
from theodolite.io.tables import read_parquet_from
from theodolite.io.text import json_from
from theodolite.io.zarr_arrays import read_zarr_rows

FORMAT, FORMAT_VERSION = "theodolite-shards", 1
MOST_HEADER = 64 << 20
SAMPLES = ("index", "id", "cluster")


@dataclass(frozen=True)
class StoredPiece:
    """Where one piece is: small to send."""

    store: Store
    inner: str
    """The inner bundle that is meant, if not all."""
    number: int
    first: int
    last: int
    digest: str
    version: str
    """A digest of the store's header: what is remembered of one is not taken for another's."""
    clusters_are_classes: bool = False

    def evidence(self) -> Evidence:
        """Read it, and check that it is what was written."""
        evidence = _read(self, self.inner)
        if evidence_digest(evidence) != self.digest:
            raise RefusedInput(
                f"piece {self.number} of {str(self.store)!r}", "other content than was written",
                "what its digest says", "Copy it again, or write the evidence anew.",
            )  # fmt: skip
        return by_class(evidence) if self.clusters_are_classes else evidence


@dataclass(frozen=True, eq=False)
class StoredShards:
    """All pieces of a stored bundle, or of the bundle inside it. Make one with ``stored``."""

    store: Store
    inner: str
    kind: type[Evidence]
    cuts: tuple[tuple[int, int, str], ...]
    """First row, last row and digest of each piece."""
    version: str
    clusters_are_classes: bool = False

    def __len__(self) -> int:
        return self.cuts[-1][1]

    def first(self) -> Evidence:
        return _first(self.pieces()[0])

    def pieces(self) -> Sequence[StoredPiece]:
        return [
            StoredPiece(
                self.store, self.inner, number, *cut, self.version, self.clusters_are_classes
            )
            for number, cut in enumerate(self.cuts)
        ]

    def digests(self) -> Sequence[str]:
        by = "by class" if self.clusters_are_classes else ""
        return [f"{self.kind.kind} {digest} {by}" for _, _, digest in self.cuts]

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        inner = self.inner or next(iter(_bundle_header(self.store, "", self.version)["inner"]), "")
        header = _bundle_header(self.store, inner, self.version)
        for number, (first, last, _) in enumerate(self.cuts):
            samples = _samples(self.store, number, last - first)
            labels = None
            if "labels" in header["arrays"]:
                labels = read_zarr_rows(self.store, place_of(inner, "labels"), first, last)
            if self.clusters_are_classes and labels is not None:
                samples = Samples(samples.index, samples.ids, labels)
            yield samples, labels

    def digest(self) -> str:
        """Of the header and of the list of pieces, and so of everything."""
        return self.version

    def notes(self) -> list[str]:
        """What a reader must know of how it is stored."""
        return []

    def by_class(self) -> "StoredShards":
        """The same with classes as clusters."""
        return replace(self, clusters_are_classes=True)


@lru_cache(maxsize=8)
def _first(piece: StoredPiece) -> Evidence:
    return piece.evidence()[:1]


def stored_v1(store: Store, header_content: bytes, inner: str = "") -> StoredShards:
    """Evidence of format 1, or the bundle inside it; nothing but the header is read."""
    listed = store.read("shards.parquet")
    version = hashlib.sha256(header_content + listed).hexdigest()
    header = _bundle_header(store, inner, version)
    column = f"sha256 {inner}".strip()
    table = read_parquet_from(listed, "shards.parquet")
    what = f"store {str(store)!r}"
    if not {"rows", column} <= set(table) or not table["rows"]:
        raise RefusedInput(what, f"shards.parquet with {sorted(table)}", f"rows and {column}")
    rows = table["rows"]
    if not all(isinstance(n, int) and 0 < n <= 1 << 24 for n in rows):
        raise RefusedInput(what, "pieces without rows", "whole numbers above 0")
    ends = np.cumsum(rows).tolist()
    cuts = tuple(zip([0, *ends[:-1]], ends, table[column], strict=True))
    return StoredShards(store, inner, kinds()[header["kind"]], cuts, version)


@lru_cache(maxsize=32)
def _bundle_header(store: Store, inner: str, version: str) -> dict[str, Any]:
    """The checked header of a bundle or of the one inside it."""
    del version  # other content is another header to be remembered
    header = json_from(store.read("header.json", MOST_HEADER), "header.json")
    what = f"header of {str(store)!r}"
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise RefusedInput(what, "another format", f"format {FORMAT!r}")
    if header.get("format_version") != FORMAT_VERSION:
        got = f"format version {header.get('format_version')}"
        raise RefusedInput(what, got, f"{FORMAT_VERSION}")
    return checked_bundle(header.get("bundle"), inner, what)


def checked_bundle(bundle: Any, inner: str, what: str) -> dict[str, Any]:
    """What describes a bundle or the one inside it, if it is of a kind that is known here."""
    if inner:
        bundle = bundle.get("inner", {}).get(inner) if isinstance(bundle, dict) else None
    if isinstance(bundle, dict):
        check_installed(bundle)
    kind = kinds().get(str(bundle.get("kind"))) if isinstance(bundle, dict) else None
    if bundle is None or kind is None or bundle.get("kind_version") != kind.version:
        raise RefusedInput(what, "an unknown kind of evidence", f"one of {sorted(kinds())}")
    for key in ("arrays", "axes", "inner"):
        if not isinstance(bundle.get(key), dict):
            raise RefusedInput(what, f"no {key!r}", "an object")
    unknown = sorted(set(bundle["arrays"]) - {name for name, _ in kind.layouts()})
    if unknown:
        raise RefusedInput(what, f"array {unknown[0]!r}", "arrays of its kind")
    bundle_header: dict[str, Any] = bundle
    return bundle_header


def place_of(inner: str, name: str) -> str:
    """Where an array of a bundle, or of the one inside it, lies."""
    return f"{inner}/{name}" if inner else name


def _read(piece: StoredPiece, inner: str) -> Evidence:
    """A piece as evidence."""
    store, header = piece.store, _bundle_header(piece.store, inner, piece.version)
    kind, shared = kinds()[header["kind"]], _shared(store, piece.version)
    members: dict[str, Any] = {}
    for name, per_sample in header["arrays"].items():
        place = place_of(inner, name)
        if per_sample:
            members[name] = read_zarr_rows(store, place, piece.first, piece.last)
        elif place in shared:
            members[name] = shared[place]
        else:
            raise RefusedInput(f"store {str(store)!r}", f"no {place}", "it, in shared.safetensors")
    members |= axes_from(kind, header, str(store))
    for name in header["inner"]:
        members[name] = _read(piece, name)
    if not header["inner"]:
        members["samples"] = _samples(store, piece.number, piece.last - piece.first)
    try:
        return kind(**members)
    except TypeError as error:
        raise RefusedInput(f"store {str(store)!r}", str(error), "all its arrays") from error


@lru_cache(maxsize=4)
def _shared(store: Store, version: str) -> dict[str, np.ndarray]:
    """Arrays that are the same for all samples."""
    del version
    if store.size("shared.safetensors") is None:
        return {}
    return unpacked(store.read("shared.safetensors", 1 << 31), "shared.safetensors")


def _samples(store: Store, number: int, rows: int) -> Samples:
    name = samples_name(number)
    columns = read_parquet_from(store.read(name), name)
    if not set(columns) <= set(SAMPLES) or "index" not in columns or len(columns["index"]) != rows:
        raise RefusedInput(f"{name} of {str(store)!r}", f"{sorted(columns)}", f"{rows} rows")
    arrays = {
        field: np.asarray(columns[column])
        for field, column in zip(("index", "ids", "clusters"), SAMPLES, strict=True)
        if column in columns
    }
    return Samples(**arrays)


def samples_name(number: int) -> str:
    """The table of a piece's samples."""
    return f"samples/{number:06d}.parquet"
