"""Record which arrays of evidence are read. Used by `testing.laws`."""

import sys
from typing import Any

from theodolite.evidence.base import Evidence

UNRECORDED_MODULES = ("dataclasses", "theodolite.evidence.base", "theodolite.evidence.shards")
"""Modules that copy, cut and join bundles: they read every array and use none."""


def recording(evidence: Evidence) -> tuple[Any, set[str]]:
    """Return a copy of the evidence, and the names of its arrays read since (``inner.name`` for one
    of an inner bundle).

    >>> from theodolite._planted.concepts import planted_concepts
    >>> evidence, reads = recording(planted_concepts())
    >>> half = evidence[:10]
    >>> half.values.shape
    (10, 12)
    >>> reads
    {'values'}
    """
    reads: set[str] = set()
    return _recording(evidence, reads, ""), reads


def _recording(evidence: Evidence, reads: set[str], prefix: str) -> Any:
    names = {name for name, _ in evidence.layouts()}
    kind = type(evidence)

    def note(bundle: Any, name: str) -> Any:
        if name in names and sys._getframe(1).f_globals.get("__name__") not in UNRECORDED_MODULES:
            reads.add(prefix + name)
        return object.__getattribute__(bundle, name)

    same = type(kind.__name__, (kind,), {"__getattribute__": note, "__module__": kind.__module__})
    copy: Any = object.__new__(same)
    for name, member in vars(evidence).items():
        inside = isinstance(member, Evidence)
        value = _recording(member, reads, f"{prefix}{name}.") if inside else member
        object.__setattr__(copy, name, value)
    return copy
