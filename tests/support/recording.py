"""Evidence that notes which of its arrays are read."""

from typing import Any

from theodolite.evidence.base import Evidence


def recording(evidence: Evidence, reads: set[str], prefix: str = "") -> Any:
    """The same evidence; every array that is read from it is added to ``reads``."""
    return _recorded(evidence, reads, prefix)


def _recorded(evidence: Evidence, reads: set[str], prefix: str) -> Any:
    arrays = {name for name, _ in type(evidence).layouts()}
    inner = {name for name, _ in type(evidence).inner_kinds()}
    plain = evidence

    class Recording(type(evidence)):  # type: ignore[misc]
        kind = None  # not a kind of its own

        def __getattribute__(self, name: str) -> Any:
            if name in arrays:
                reads.add(prefix + name)
                return getattr(plain, name)
            if name in inner:
                return _recorded(getattr(plain, name), reads, f"{prefix}{name}.")
            return object.__getattribute__(self, name)

        def has(self, name: str) -> bool:
            return plain.has(name)

        def __len__(self) -> int:
            return len(plain)

        def __getitem__(self, rows: Any) -> Any:
            return _recorded(plain[rows], reads, prefix)

    copy = object.__new__(Recording)
    for field in type(evidence)._fields():
        object.__setattr__(copy, field.name, getattr(plain, field.name))
    return copy
