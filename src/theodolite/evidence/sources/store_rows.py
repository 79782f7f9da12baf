"""Stream rows of any source into stored evidence. Public as ``theodolite.store``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.axes import NamedAxis
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load, load_arrays
from theodolite.evidence.sources.assembly import Assembly
from theodolite.evidence.sources.columns import RowSource
from theodolite.evidence.sources.fields import ROW_NAMES, Fields, choose_kind, list_targets
from theodolite.evidence.sources.open_source import open_source
from theodolite.evidence.store import is_stored, stored
from theodolite.evidence.store_writer import EvidenceWriter

SLICE_ROWS = 4096


@dataclass(frozen=True)
class StoredEvidence:
    """Result of ``store``: address, number of samples and shards, and digest."""

    address: str
    samples: int
    pieces: int
    digest: str


def store(
    source: object,
    address: str | Path,
    *,
    kind: str | None = None,
    fields: Fields | None = None,
    rows: int | None = None,
    **arrays: object,
) -> StoredEvidence:
    """Write rows of any source as sharded evidence, a block at a time, in constant memory.

    Args:
        source: Evidence; the address of Parquet, Arrow, Feather, tar or .npz files, of a folder of
            such, or of a saved data set; whatever has ``__arrow_c_stream__``; a data set of Hugging
            Face or Ray; a loader or any iterable of batches; arrays by name (docs/sources.md).
        address: A new folder, or an address such as ``s3://bucket/evidence``.
        kind: The kind of evidence; by default the one that the names of the arrays say.
        fields: Which columns hold what: ``{"values": "logit_*", "labels": "y"}``. By default
            columns are named like the arrays.
        rows: Samples of a piece; by default 2,048, or fewer where these would be large.
        **arrays: What has no row per sample: ``concepts`` and ``classes`` (names, or how many),
            ``weights`` and the like.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa
        >>> import theodolite
        >>> table = pa.table({"logit_horn": [0.1, 2.0], "logit_hoof": [1.5, -1.0], "y": [0, 1]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fields = {"values": "logit_*", "labels": "y"}
        ...     bundle = theodolite.store(table, f"{folder}/new", fields=fields)
        >>> bundle.samples
        2
    """
    batches = evidence_batches(source, kind, fields, arrays)
    with EvidenceWriter(address, rows) as writer:
        for batch in batches:
            writer.add(batch)
    shards = stored(address)
    return StoredEvidence(str(address), len(shards), len(shards.shards()), shards.digest())


def evidence_batches(
    source: object, kind: str | None, fields: Fields | None, arrays: Mapping[str, object]
) -> Iterator[Evidence]:
    """Yield evidence for some rows at a time."""
    if isinstance(source, str | Path):
        if is_stored(source):
            if fields or arrays:
                raise EvidenceError("source", "evidence with fields beside it", "evidence alone")
            return (shard.evidence() for shard in stored(source).shards())
        local = Store.at(source).local
        if local is not None and (local / "header.json").is_file():
            source = load(local)
        elif str(source).endswith(".safetensors"):
            source = load_arrays(source)
    if isinstance(source, Evidence):
        if fields or arrays:
            raise EvidenceError("source", "evidence with fields beside it", "evidence alone")
        return (source[start : start + SLICE_ROWS] for start in range(0, len(source), SLICE_ROWS))
    return _assembly(open_source(source), kind, fields, arrays).evidence()


def _assembly(
    source: RowSource, kind: str | None, fields: Fields | None, arrays: Mapping[str, object]
) -> Assembly:
    header = source.checked_header()
    if not header:
        raise EvidenceError(f"source {source.name!r}", "no rows", "some")
    chosen = choose_kind(kind, tuple(header if fields is None else fields))
    targets = list_targets(chosen, fields, header)
    axes = dict(chosen.axes())
    layouts = dict(chosen.layouts())
    for _, inner in chosen.inner_kinds():
        axes |= inner.axes()
        layouts |= dict(inner.layouts())
    shared = dict(arrays)
    if source.whole is not None:
        taken = {column for target in targets for column in target.columns}
        rest = [n for n in header if n in {*axes, *layouts} and n not in taken]
        unknown = [n for n in header if n not in {*axes, *layouts, *ROW_NAMES, *taken}]
        if unknown and fields is None:
            raise EvidenceError(f"arrays {source.name!r}", f"unknown arrays {unknown}",
                                "arrays named like the fields",
                                did_you_mean(unknown[0], [*layouts, *axes]))  # fmt: skip
        shared = {name: source.whole(name) for name in rest} | shared
    wrong = [n for n in shared if n not in axes and n not in layouts]
    if wrong:
        raise EvidenceError("store", f"an argument {wrong[0]!r}", f"one of {[*layouts, *axes]}",
                            did_you_mean(wrong[0], [*layouts, *axes]))  # fmt: skip
    names = {name: _axis(axes[name], shared.pop(name), name) for name in axes if name in shared}
    return Assembly(chosen, targets, source, names, shared)


def _axis(kind: type[NamedAxis], value: Any, name: str) -> NamedAxis:
    """Return an axis from names or a number of positions."""
    if isinstance(value, kind):
        return value
    if isinstance(value, int | np.integer) and 0 < int(value) <= 1_000_000:
        return kind.numbered(int(value))
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise EvidenceError(name, repr(value)[:60], "a list of names, or how many")
    return kind(tuple(str(text) for text in np.atleast_1d(np.asarray(value)).tolist()))
