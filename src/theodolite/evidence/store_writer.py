"""Write evidence into a store, piece by piece, as it is made."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.registry import package_entry
from theodolite.evidence.shards import SHARD, evidence_digest
from theodolite.evidence.store import FORMAT, FORMAT_VERSION, place_of, samples_name
from theodolite.io.packed import packed
from theodolite.io.stores import Store
from theodolite.io.tables import parquet_bytes
from theodolite.io.zarr_arrays import ZarrWriter

MOST_BYTES = 1 << 26


class EvidenceWriter:
    """Takes evidence a batch at a time and writes it in pieces; the header comes last.

    Args:
        address: A new folder, or an address such as ``s3://bucket/evidence``.
        rows: Samples of a piece; by default 2,048, or fewer where these would be large.
    """

    def __init__(self, address: str | Path, rows: int | None = None) -> None:
        self.store = Store.at(address)
        if self.store.names():
            raise EvidenceError(f"store {str(self.store)!r}", "something in it", "an empty one")
        self._rows = rows
        self._waiting: list[Evidence] = []
        self._pieces: list[dict[str, Any]] = []
        self._written = 0
        self._last = -1
        self._arrays: dict[str, ZarrWriter] = {}
        self._shared: dict[str, np.ndarray] = {}
        self._bundle: dict[str, Any] = {}

    def add(self, evidence: Evidence) -> None:
        """Some more samples. Numbers go on where the last ones ended."""
        if not isinstance(evidence, Evidence):
            raise EvidenceError("evidence", type(evidence).__name__, "evidence")
        if not len(evidence):
            return
        self._check(evidence)
        self._waiting.append(self._numbered(evidence))
        if self._rows is None:
            self._rows = _fitting_rows(evidence)
        while sum(map(len, self._waiting)) >= self._rows:
            self._write(self._rows)

    def _numbered(self, evidence: Evidence) -> Any:
        index = np.asarray(evidence.samples.index)
        rising = bool((np.diff(index) > 0).all())
        if not rising or index[0] <= self._last:
            if not (index == np.arange(len(index))).all():
                raise EvidenceError(
                    "samples.index", f"{index[0]} after {self._last}", "numbers that rise"
                )
            evidence = renumbered(evidence, index + self._last + 1)
        self._last = int(np.asarray(evidence.samples.index)[-1])
        return evidence

    def _write(self, rows: int) -> None:
        """One piece of what waits."""
        waiting = self._waiting
        whole = waiting[0] if len(waiting) == 1 else type(waiting[0]).joined(waiting)
        piece, rest = whole[:rows], whole[rows:]
        self._waiting = [rest] if len(rest) else []
        number = len(self._pieces)
        digests: dict[str, str] = {}
        for inner, bundle in _bundles(piece):
            digests[f"sha256 {inner}".strip()] = evidence_digest(bundle)
            for name, values in _arrays(bundle, per_sample=True):
                self._append(place_of(inner, name), values)
        columns = {
            "index": piece.samples.index, "id": piece.samples.ids, "cluster": piece.samples.clusters
        }  # fmt: skip
        table = {name: v.tolist() for name, v in columns.items() if v is not None}
        self.store.write(samples_name(number), parquet_bytes(table))
        self._pieces.append({"rows": len(piece)} | digests)

    def _check(self, evidence: Evidence) -> None:
        """All batches have the same arrays and names, and the same of what samples share."""
        description = _description(evidence)
        if not self._bundle:
            self._bundle = description
        _check_same(self._bundle, description)
        for inner, bundle in _bundles(evidence):
            for name, values in _arrays(bundle, per_sample=False):
                known = self._shared.setdefault(place_of(inner, name), values)
                if not np.array_equal(known, values, equal_nan=True):
                    raise EvidenceError(name, "other values than in the first batch", "the same")

    def _append(self, place: str, values: np.ndarray) -> None:
        if place not in self._arrays:
            self._arrays[place] = ZarrWriter(
                self.store, place, values.dtype, values.shape[1:], self._rows or SHARD
            )
        self._arrays[place].append(values)

    def close(self) -> None:
        """Write what waits, then the header."""
        while self._waiting:
            self._write(self._rows or SHARD)
        if not self._pieces:
            raise EvidenceError("evidence", "no samples", "at least one")
        for array in self._arrays.values():
            array.close()
        if self._shared:
            self.store.write("shared.safetensors", packed(self._shared))
        columns = {name: [piece[name] for piece in self._pieces] for name in self._pieces[0]}
        self.store.write("shards.parquet", parquet_bytes(columns))
        header = {"format": FORMAT, "format_version": FORMAT_VERSION, "bundle": self._bundle}
        self.store.write("header.json", json.dumps(header, sort_keys=True, indent=1).encode())

    def __enter__(self) -> "EvidenceWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()


def _bundles(evidence: Evidence) -> Iterator[tuple[str, Evidence]]:
    """The bundle, and the one inside it."""
    yield "", evidence
    yield from evidence._inner()


def _arrays(evidence: Evidence, *, per_sample: bool) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that have a row per sample, or those that are the same for all."""
    for name, layout in evidence.layouts():
        if evidence.has(name) and (layout.axes[0] == "samples") == per_sample:
            yield name, np.asarray(getattr(evidence, name))


def _description(evidence: Evidence) -> dict[str, Any]:
    """What the header says about a bundle."""
    return {
        "kind": evidence.kind,
        "kind_version": evidence.version,
        "arrays": {
            name: layout.axes[0] == "samples"
            for name, layout in evidence.layouts()
            if evidence.has(name)
        },
        "axes": {n: a.header() for n, a in evidence._axes() if isinstance(a, NamedAxis)},
        "inner": {name: _description(bundle) for name, bundle in evidence._inner()},
    } | package_entry(type(evidence))


def _fitting_rows(evidence: Evidence) -> int:
    """Fewer rows where samples are large: a piece must fit into a worker's memory."""
    total = sum(
        values.nbytes
        for _, bundle in _bundles(evidence)
        for _, values in _arrays(bundle, per_sample=True)
    )
    rows = SHARD
    while rows > 16 and rows * total / len(evidence) > MOST_BYTES:
        rows //= 2
    return rows


def renumbered(evidence: Any, index: np.ndarray) -> Any:
    """The same samples under other numbers."""
    cut = evidence[:]
    samples = Samples(index, evidence.samples.ids, evidence.samples.clusters)
    object.__setattr__(cut, "samples", samples)
    for name, bundle in evidence._inner():
        object.__setattr__(cut, name, renumbered(bundle, index))
    return cut


def _check_same(first: dict[str, Any], other: dict[str, Any]) -> None:
    """All batches have the same arrays, names and kinds."""
    for key in ("kind", "arrays", "axes"):
        if first[key] != other[key]:
            raise EvidenceError(
                key, "others than in the first batch", "the same in every batch",
                "Name concepts and classes in each, so that they are known to be the same."
            )  # fmt: skip
    for name in first["inner"]:
        _check_same(first["inner"][name], other["inner"][name])
