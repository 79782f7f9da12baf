"""Write evidence to a store shard by shard as it is produced."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.manifests.bundle_files import BundleFiles
from theodolite.evidence.manifests.manifest import (
    HEADER,
    encode_header,
    encode_manifest,
    manifest_name,
)
from theodolite.evidence.manifests.stored_shards import get_array_path
from theodolite.evidence.registry import package_entry
from theodolite.evidence.shards import (
    MAX_SHARD_ENTRIES,
    SHARD_SAMPLES,
    find_shard_end,
    list_plain_fields,
)

PARTS = "parts"
WRITTEN_BY = f"theodolite {version('theodolite')}"
MAX_SHARD_BYTES = 1 << 26


class EvidenceWriter:
    """Writer that takes evidence in batches and stores it in shards; the header comes last.

    Args:
        address: A new folder, or an address such as ``s3://bucket/evidence``.
        rows: Samples of a piece; by default 2,048, or fewer where these would be large.
        part: Where many write one bundle, the place of this part in the order. The bundle is there
            when it is committed: ``theodolite data commit ADDRESS``. A part that was not finished
            is written again under the same number.
    """

    def __init__(
        self, address: str | Path, rows: int | None = None, part: int | None = None
    ) -> None:
        self.store = Store.at(address)
        if part is None and self.store.names():
            raise EvidenceError(f"store {str(self.store)!r}", "something in it", "an empty one")
        if part is not None and (isinstance(part, bool) or not isinstance(part, int) or part < 0):
            raise EvidenceError("part", repr(part), "a whole number from 0 on")
        self.part = part
        # names are never used again, so nothing is ever written over
        self._folder = "" if part is None else f"{PARTS}/{secrets.token_hex(8)}"
        self._rows = rows
        self._waiting: list[Evidence] = []
        self._pieces = 0
        self._written = 0
        self._last = -1
        self._files: BundleFiles | None = None
        self._shared: dict[str, np.ndarray] = {}
        self._bundle: dict[str, Any] = {}
        self._needs: set[str] = set()

    def add(self, evidence: Evidence) -> None:
        """Add samples; their numbers continue after those added before."""
        if not isinstance(evidence, Evidence):
            raise EvidenceError("evidence", type(evidence).__name__, "evidence")
        if not len(evidence):
            return
        self._check(evidence)
        self._waiting.append(self._numbered(evidence))
        if self._rows is None:
            self._rows = _fitting_rows(evidence)
        while self._is_full():
            self._write()

    def _numbered(self, evidence: Evidence) -> Any:
        index = np.asarray(evidence.samples.index)
        rising = bool((np.diff(index) > 0).all())
        if not rising or index[0] <= self._last:
            if not (index == np.arange(len(index))).all():
                raise EvidenceError(
                    "samples.index", f"{index[0]} after {self._last}", "numbers that rise"
                )
            evidence = renumber_samples(evidence, index + self._last + 1)
        self._last = int(np.asarray(evidence.samples.index)[-1])
        return evidence

    def _is_full(self) -> bool:
        """Return whether the waiting samples fill a shard."""
        sizes: Counter[str] = Counter()
        for evidence in self._waiting:
            sizes.update({n: values.flat.size for n, _, values in evidence.ragged_fields()})
            sizes.update(
                {axes[0]: int(v.starts[-1]) for _, axes, v in evidence.ragged_fields()[:1]}
            )
        many = max(sizes.values(), default=0) > MAX_SHARD_ENTRIES
        return many or sum(map(len, self._waiting)) >= (self._rows or SHARD_SAMPLES)

    def _write(self) -> None:
        waiting, most = self._waiting, self._rows or SHARD_SAMPLES
        whole = waiting[0] if len(waiting) == 1 else type(waiting[0]).joined(waiting)
        end = find_shard_end(whole, 0, most)
        piece, rest = whole[:end], whole[end:]
        self._waiting = [rest] if len(rest) else []
        if self._files is None:
            self._files = BundleFiles(self.store, self._folder)
        for inner, bundle in _bundles(piece):
            arrays = _arrays(bundle, per_sample=True)
            uneven = list(_uneven(bundle))
            named = [(get_array_path(inner, name), values) for name, values in [*arrays, *uneven]]
            self._files.add(self._pieces, len(piece), self._written, named)
            self._needs |= {"ragged"} if uneven else set()
        self._files.add_samples(self._pieces, self._written, piece.samples)
        self._pieces += 1
        self._written += len(piece)

    def _check(self, evidence: Evidence) -> None:
        """Raise unless all batches have the same arrays, names and shared values."""
        described = describe_bundle(evidence)
        if not self._bundle:
            self._bundle = described
        _check_same(self._bundle, described)
        for inner, bundle in _bundles(evidence):
            for name, values in _arrays(bundle, per_sample=False):
                known = self._shared.setdefault(get_array_path(inner, name), values)
                if not np.array_equal(known, values, equal_nan=True):
                    raise EvidenceError(name, "other values than in the first batch", "the same")

    def close(self) -> None:
        """Write waiting samples, the manifest, and the header or the part's record."""
        while self._waiting:
            self._write()
        if self._files is None:
            raise EvidenceError("evidence", "no samples", "at least one")
        self._files.add_shared(sorted(self._shared.items()))
        self._files.close()
        content = encode_manifest(self._bundle, self._files.layouts, self._files.rows)
        sha256 = hashlib.sha256(content).hexdigest()
        if self.part is not None:
            self.store.write(f"{self._folder}/{manifest_name(sha256)}", content)
            header = self._header(sha256, part=self.part)
            self.store.write(f"{self._folder}.json", header)
            return
        self.store.write(manifest_name(sha256), content)
        if not self.store.create(HEADER, self._header(sha256)):
            raise EvidenceError(f"store {str(self.store)!r}", "a header in it", "an empty one")

    def _header(self, sha256: str, **more: Any) -> bytes:
        if self._needs:  # what an older reader would read wrongly, it must refuse
            more["needs"] = sorted(self._needs)
        return encode_header(sha256, WRITTEN_BY, samples=self._written, **more)

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
    yield "", evidence
    yield from evidence._inner()


def _arrays(evidence: Evidence, *, per_sample: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays with a row per sample, or those that all samples share."""
    for name, layout in evidence.layouts():
        if evidence.has(name) and (layout.axes[0] == "samples") == per_sample and not layout.ragged:
            yield name, np.asarray(getattr(evidence, name))


def _uneven(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the ragged arrays of a bundle."""
    even = {name for name, layout in evidence.layouts() if not layout.ragged}
    return ((name, values) for name, values in list_plain_fields(evidence) if name not in even)


def describe_bundle(evidence: Evidence) -> dict[str, Any]:
    """Return the description of a bundle for its header."""
    return {
        "kind": evidence.kind,
        "kind_version": evidence.version,
        "arrays": {
            name: layout.axes[0] == "samples"
            for name, layout in evidence.layouts()
            if evidence.has(name)
        },
        "axes": {n: a.header() for n, a in evidence._axes() if isinstance(a, NamedAxis)},
        "inner": {name: describe_bundle(bundle) for name, bundle in evidence._inner()},
    } | package_entry(type(evidence))


def _fitting_rows(evidence: Evidence) -> int:
    """Return the rows per shard; fewer if samples are large, so that workers can hold it."""
    total = sum(
        values.nbytes
        for _, bundle in _bundles(evidence)
        for _, values in _arrays(bundle, per_sample=True)
    )
    rows = SHARD_SAMPLES
    while rows > 16 and rows * total / len(evidence) > MAX_SHARD_BYTES:
        rows //= 2
    return rows


def renumber_samples(evidence: Any, index: np.ndarray) -> Any:
    """Return the samples under other numbers."""
    cut = evidence[:]
    samples = Samples(index, evidence.samples.ids, evidence.samples.clusters)
    object.__setattr__(cut, "samples", samples)
    for name, bundle in evidence._inner():
        object.__setattr__(cut, name, renumber_samples(bundle, index))
    return cut


def _check_same(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Raise unless batches have the same arrays, names and kinds."""
    for key in ("kind", "arrays", "axes"):
        if first[key] != other[key]:
            raise EvidenceError(
                key, "others than in the first batch", "the same in every batch",
                "Name concepts and classes in each, so that they are known to be the same."
            )  # fmt: skip
    for name in first["inner"]:
        _check_same(first["inner"][name], other["inner"][name])
