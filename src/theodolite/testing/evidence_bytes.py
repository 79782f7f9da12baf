"""Convert evidence to bytes, to compare two bundles. Used by the laws and by tests."""

from dataclasses import fields

import numpy as np

from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.ragged import Ragged


def encode_evidence(evidence: Evidence) -> bytes:
    """Return the bytes of all arrays, including those of inner bundles."""
    parts = []
    for field in fields(evidence):
        member = getattr(evidence, field.name)
        if isinstance(member, Evidence):
            parts.append(encode_evidence(member))
        elif isinstance(member, np.ndarray):
            parts.append(member.tobytes())
        elif isinstance(member, Ragged):
            parts += [array.tobytes() for array in _arrays(member)]
    return b"".join(parts)


def _arrays(ragged: Ragged) -> list[np.ndarray]:
    inner = [] if ragged.inner_starts is None else [ragged.inner_starts]
    return [ragged.flat, ragged.starts, *inner]


def find_difference(left: Evidence, right: Evidence) -> str:
    """Return the first difference of two bundles; None if they are equal."""
    if type(left) is not type(right):
        return f"{type(left).__name__} and {type(right).__name__}"
    for field in fields(left):
        members = getattr(left, field.name), getattr(right, field.name)
        if not _same(*members):
            return field.name
    return ""


def _same(left: object, right: object) -> bool:
    if isinstance(left, Evidence) and isinstance(right, Evidence):
        return not find_difference(left, right)
    if isinstance(left, Samples) and isinstance(right, Samples):
        names = ("index", "ids", "clusters")
        return all(_same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        alike = left.dtype == right.dtype and left.shape == right.shape
        return alike and left.tobytes() == right.tobytes()
    if isinstance(left, Ragged) and isinstance(right, Ragged):
        pairs = zip(_arrays(left), _arrays(right), strict=False)
        return len(_arrays(left)) == len(_arrays(right)) and all(_same(a, b) for a, b in pairs)
    if isinstance(left, NamedAxis):
        return left == right
    return left is right or bool(left == right)
