"""Compute digests of stored arrays, axes and shards as docs/file-format.md defines them (recipe
2)."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

INDEX, IDS, ENDS, CLUSTERS = "of index", "of ids", "of ids ends", "of clusters"
SAMPLE_ARRAYS = (INDEX, IDS, ENDS, CLUSTERS)
"""Arrays that identify the samples of a shard."""


def compute_content_digest(array: np.ndarray) -> bytes:
    """Return the digest of type, shape and bytes, little-endian and in C order.

    >>> compute_content_digest(np.float32([[0.5, 1], [2, -1]])).hex()[:16]
    'f5c35c96b08940d6'
    """
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    digest = hashlib.sha256(f"{plain.dtype.str}\0{np.shape(array)}\0".encode())
    digest.update(plain.reshape(-1).view(np.uint8).data)
    return digest.digest()


def compute_axes_digest(axes: Mapping[str, Any]) -> bytes:
    """Return the digest of the names of concepts, classes and other axes."""
    text = json.dumps(axes, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def compute_shard_digest(contents: Iterable[tuple[str, bytes]], axes: bytes) -> str:
    """Return the digest of all arrays of a shard by name, shared arrays included."""
    lines = [f"{name} {content.hex()}\n" for name, content in sorted(contents)]
    return hashlib.sha256("".join([*lines, f"axes {axes.hex()}\n"]).encode()).hexdigest()


def collect_axes(bundle: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the axes of a described bundle and, as ``inner/name``, of its inner bundles."""
    axes = {f"{prefix}{name}": axis for name, axis in bundle["axes"].items()}
    for name, inside in bundle["inner"].items():
        axes |= collect_axes(inside, f"{prefix}{name}/")
    return axes


def pack_ids(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ids as UTF-8 bytes, and where each ends."""
    texts = [str(text).encode() for text in ids]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ends


def unpack_ids(content: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the ids from UTF-8 bytes; raise if bytes or ends are invalid."""
    limits = [0, *ends.tolist()]
    if limits != sorted(limits) or limits[-1] != len(content):
        raise ValueError("ends that do not rise to the last byte")
    whole = content.tobytes()
    return np.array([whole[a:b].decode() for a, b in pairwise(limits)], str)
