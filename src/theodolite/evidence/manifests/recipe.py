"""Digests of what is stored, recipe 2. docs/file-format.md has the same in words and as code."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

INDEX, IDS, ENDS, CLUSTERS = "of index", "of ids", "of ids ends", "of clusters"
OF_SAMPLES = (INDEX, IDS, ENDS, CLUSTERS)
"""Arrays that say which samples a piece is about."""


def content_digest(array: np.ndarray) -> bytes:
    """Of type, shape and bytes, little-endian and in C order.

    >>> content_digest(np.float32([[0.5, 1], [2, -1]])).hex()[:16]
    'f5c35c96b08940d6'
    """
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    digest = hashlib.sha256(f"{plain.dtype.str}\0{np.shape(array)}\0".encode())
    digest.update(plain.reshape(-1).view(np.uint8).data)
    return digest.digest()


def axes_digest(axes: Mapping[str, Any]) -> bytes:
    """Of the names of concepts, classes and the like."""
    text = json.dumps(axes, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def piece_digest(contents: Iterable[tuple[str, bytes]], axes: bytes) -> str:
    """Of all arrays of a piece by name, those that all samples share included."""
    lines = [f"{name} {content.hex()}\n" for name, content in sorted(contents)]
    return hashlib.sha256("".join([*lines, f"axes {axes.hex()}\n"]).encode()).hexdigest()


def axes_of(bundle: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The axes of a described bundle and of those inside it, these by ``inner/name``."""
    axes = {f"{prefix}{name}": axis for name, axis in bundle["axes"].items()}
    for name, inside in bundle["inner"].items():
        axes |= axes_of(inside, f"{prefix}{name}/")
    return axes


def packed_ids(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ids as bytes of UTF-8, and where each ends."""
    texts = [str(text).encode() for text in ids]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ends


def unpacked_ids(content: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The ids again; whatever is not UTF-8 or not in order is an error."""
    limits = [0, *ends.tolist()]
    if limits != sorted(limits) or limits[-1] != len(content):
        raise ValueError("ends that do not rise to the last byte")
    whole = content.tobytes()
    return np.array([whole[a:b].decode() for a, b in pairwise(limits)], str)
