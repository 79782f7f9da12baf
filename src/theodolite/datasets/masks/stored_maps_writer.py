"""Write activations and label maps in shards, as a network produces them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite._storage.zarr.arrays import ZarrWriter
from theodolite.datasets.masks.stored_maps import (
    FORMAT,
    FORMAT_VERSION,
    StoredMaps,
    checked_names,
    digest_of_shard,
    open_maps,
)
from theodolite.errors import EvidenceError

Batch = tuple[np.ndarray, np.ndarray]


def write_maps(
    address: str | Path,
    batches: Iterable[tuple[Any, Any]],
    concepts: Sequence[str],
    categories: Sequence[str] | None = None,
    *,
    shard_rows: int = 512,
) -> StoredMaps:
    """Write maps, a batch at a time; batches may have any number of images.

    The header comes last, so maps that were not written to the end are not read by mistake.

    Args:
        address: A folder, or an address such as ``s3://bucket/maps``.
        batches: (activations, label maps): images x units x height x width in half or single
            precision; images x layers x rows x columns, 0 for nothing and c + 1 for concept c.
        concepts: Their names.
        categories: What kind of concept each is.
        shard_rows: Images of a shard: what one worker reads at a time.
    """
    names, kinds = checked_names(concepts, categories)
    if shard_rows < 1:
        raise EvidenceError("shard_rows", f"{shard_rows}", "at least 1")
    store = Store.at(address)
    store.remove("header.json")  # of earlier maps, which are no more
    writers: list[ZarrWriter] = []
    digests: list[str] = []
    looks_like_masks, beyond_first = len(names) > 1, False
    for maps, labels in _shards(_checked(batches, len(names)), shard_rows):
        if not writers:
            writers = [
                ZarrWriter(store, name, part.dtype, part.shape[1:], shard_rows)
                for name, part in (("activations", maps), ("labels", labels))
            ]
        writers[0].append(maps)
        writers[1].append(labels)
        digests.append(digest_of_shard(maps, labels))
        looks_like_masks &= labels.shape[1] == len(names) and labels.max() <= 1
        beyond_first |= bool(labels[:, 1:].any())
    if not writers:
        raise EvidenceError("batches", "none", "at least one, of at least one image")
    if looks_like_masks and beyond_first:
        raise EvidenceError(
            "label maps", f"only 0 and 1, in {len(names)} layers each",
            "numbers of concepts, 0 for nothing and c + 1 for concept c",
            "If each layer is a concept's mask: masks * np.arange(1, n + 1)[:, None, None].",
        )  # fmt: skip
    for writer in writers:
        writer.close()
    header = {
        "format": FORMAT, "version": FORMAT_VERSION, "concepts": list(names),
        "categories": list(kinds), "shard_rows": shard_rows, "digests": digests,
    }  # fmt: skip
    text = json.dumps(header, sort_keys=True, indent=1, ensure_ascii=False)
    store.write("header.json", f"{text}\n".encode())
    return open_maps(address)


def _checked(batches: Iterable[tuple[Any, Any]], n_concepts: int) -> Iterator[Batch]:
    """The door: what is written is what can be dissected."""
    first: tuple[Any, ...] = ()
    for number, (activations, label_maps) in enumerate(batches):
        maps = (
            activations.detach().cpu().numpy()
            if hasattr(activations, "detach")
            else np.asarray(activations)
        )
        labels = np.asarray(label_maps)
        where = f"batch {number}"
        if maps.ndim != 4 or maps.dtype not in (np.float16, np.float32):
            raise EvidenceError(
                f"activations of {where}", f"{maps.dtype} of shape {maps.shape}",
                "float16 or float32, (images, units, height, width)",
            )  # fmt: skip
        if labels.ndim != 4 or len(labels) != len(maps) or labels.dtype.kind not in "iu":
            raise EvidenceError(
                f"label maps of {where}", f"{labels.dtype} of shape {labels.shape}",
                f"whole numbers, (images, layers, rows, columns), of {len(maps)} images",
            )  # fmt: skip
        if not np.isfinite(maps).all():
            raise EvidenceError(
                f"activations of {where}", "NaN or infinite values", "finite numbers",
                "Half precision ends at 65,504: scale larger activations.",
            )  # fmt: skip
        if labels.size and not 0 <= labels.min() <= labels.max() <= n_concepts:
            got = f"numbers from {labels.min()} to {labels.max()}"
            raise EvidenceError(f"label maps of {where}", got, f"0 to {n_concepts}")
        shapes = (maps.dtype, maps.shape[1:], labels.shape[1:])
        first = first or shapes
        if shapes != first:
            got = f"{maps.dtype} {maps.shape[1:]} and labels {labels.shape[1:]}"
            needed = f"{first[0]} {first[1]} and labels {first[2]}, as in the first batch"
            raise EvidenceError(where, got, needed)
        yield maps, labels.astype(np.uint16)


def _shards(batches: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Yield images in batches of this size; the last may be smaller."""
    waiting: list[Batch] = []
    count = 0
    for maps, labels in batches:
        at = 0
        while at < len(maps):
            take = min(rows - count, len(maps) - at)
            waiting.append((maps[at : at + take], labels[at : at + take]))
            count, at = count + take, at + take
            if count == rows:
                yield _joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Batch]) -> Batch:
    maps, labels = zip(*parts, strict=True)
    return np.concatenate(maps), np.concatenate(labels)
