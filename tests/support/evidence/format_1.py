"""Writes evidence in pieces as format 1 was: what 0.1 left must be read, and refused, for ever."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.evidence.axes import NamedAxis
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import evidence_digest
from theodolite.io.packed import packed
from theodolite.io.stores import Store
from theodolite.io.tables import parquet_bytes
from theodolite.io.zarr_arrays import ZarrWriter


def write_format_1(evidence: Evidence, folder: str | Path, rows: int) -> None:
    """Evidence without a bundle inside it."""
    store = Store.at(str(folder))
    fields = {n: layout.axes[0] == "samples" for n, layout in evidence.layouts() if evidence.has(n)}
    pieces: list[Any] = [evidence[at : at + rows] for at in range(0, len(evidence), rows)]
    for name, per_sample in fields.items():
        if per_sample:
            values = np.asarray(getattr(evidence, name))
            with ZarrWriter(store, name, values.dtype, values.shape[1:], rows) as array:
                array.append(values)
    for number, piece in enumerate(pieces):
        samples = piece.samples
        columns = {"index": samples.index, "id": samples.ids, "cluster": samples.clusters}
        table = {name: v.tolist() for name, v in columns.items() if v is not None}
        store.write(f"samples/{number:06d}.parquet", parquet_bytes(table))
    shared = {n: np.asarray(getattr(evidence, n)) for n, own in fields.items() if not own}
    if shared:
        store.write("shared.safetensors", packed(shared))
    digests = [evidence_digest(piece) for piece in pieces]
    table = {"rows": [len(piece) for piece in pieces], "sha256": digests}
    store.write("shards.parquet", parquet_bytes(table))
    bundle = {
        "kind": evidence.kind, "kind_version": evidence.version, "arrays": fields, "inner": {},
        "axes": {n: a.header() for n, a in evidence._axes() if isinstance(a, NamedAxis)},
    }  # fmt: skip
    header = {"format": "theodolite-shards", "format_version": 1, "bundle": bundle}
    store.write("header.json", json.dumps(header).encode())
