"""Interface for work that is split into tasks, independent of where the tasks run.
Implemented here serially, and by the engines in ``_runs``."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from theodolite._storage.packed_arrays import Arrays
from theodolite.evidence.read_ahead import read_ahead

__all__ = ["Arrays", "Entry", "Merge", "SerialWorkers", "Tree", "Work", "Workers"]
Merge = Callable[[Any, Any], Any]


@runtime_checkable
class Entry(Protocol):
    """Stored result of a task: a small reference that other workers can read."""

    @property
    def digest(self) -> str:
        """Digest of everything that determines the content."""

    def read(self) -> Arrays:
        """Return the arrays of the result."""


@dataclass(frozen=True, eq=False)
class InMemoryEntry:
    """Result of a task in memory."""

    arrays: Arrays
    digest: str

    def read(self) -> Arrays:
        return self.arrays


@dataclass(frozen=True, kw_only=True)
class Work:
    """A pure function to apply to many items.

    What it gives depends on the item, on ``about`` and on nothing else: a piece that was done once
    is never done again, on whatever machine.
    """

    what: str
    """Label for the progress bar."""
    do: Callable[..., Arrays]
    """(item) -> arrays; or (item, tool). A function of a module, perhaps with ``partial``, so that
    it can be sent to another process."""
    items: Sequence[Any]
    """Small references to the data, or the data itself if it is small."""
    digests: Sequence[str]
    """Digest of what each item stands for."""
    about: Mapping[str, Any]
    """Everything else that determines the result (names, versions, seeds), as plain JSON."""
    names: Sequence[str] = ()
    """Display names of the items; their numbers by default."""
    tool: Callable[[], Any] | None = field(default=None)
    """Function that creates a shared resource, such as a model, once per process."""

    network: bool = False
    """Whether the resource is a model, which runs on a GPU if there is one."""
    kept: bool = True
    """Whether results are kept with the run; False if they are kept elsewhere."""

    def name(self, number: int) -> str:
        """Return the display name of an item."""
        return self.names[number] if self.names else f"{self.what} {number}"


@runtime_checkable
class Workers(Protocol):
    """Executor of work. The bytes of a result do not depend on where it runs."""

    def each(self, work: Work) -> Iterator[Arrays | None]:
        """Yield the result of each item in order; None for an item that failed three times."""

    def entries(self, work: Work) -> list[Entry | None]:
        """Return a reference to each item's result, for other tasks to read."""

    def reduced(self, work: Work, merge: Merge) -> Arrays | None:
        """Return all results merged pairwise in a fixed order; None if all failed."""

    def missing(self) -> frozenset[int]:
        """Return the numbers of the items of the last work that failed for good."""

    def once(self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]) -> Arrays:
        """Run work that cannot be split, here; its result is kept like any other."""


def _digest_of(description: Mapping[str, Any], digest: str) -> str:
    text = json.dumps([description, digest], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


class Tree:
    """Merge results in order, in pairs of equal size, so that sums do not depend on the split.

    >>> tree = Tree(lambda a, b: f"({a}{b})")
    >>> for letter in "abcdefg":
    ...     tree.add(letter, 1)
    >>> tree.whole()
    '(((ab)(cd))((ef)g))'
    """

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._parts: list[tuple[int, Any]] = []

    def add(self, part: Any, size: int) -> None:
        """Add the next part, merged from ``size`` items: a power of two, or the rest."""
        self._parts.append((size, part))
        while len(self._parts) > 1 and self._parts[-1][0] == self._parts[-2][0]:
            self._join()

    def _join(self) -> None:
        (n, left), (m, right) = self._parts[-2:]
        both = left if right is None else right if left is None else self._merge(left, right)
        self._parts[-2:] = [(n + m, both)]

    def whole(self) -> Any:
        """Return the merge of all parts."""
        while len(self._parts) > 1:
            self._join()
        return self._parts[0][1] if self._parts else None


class SerialWorkers:
    """Run items one after the other in this process and keep nothing."""

    def each(self, work: Work) -> Iterator[Arrays | None]:
        tools = () if work.tool is None else (work.tool(),)
        read_ahead(work.items)
        for item in work.items:
            yield work.do(item, *tools)

    def entries(self, work: Work) -> list[Entry | None]:
        digests = [_digest_of(work.about, digest) for digest in work.digests]
        return [
            None if arrays is None else InMemoryEntry(arrays, digest)
            for arrays, digest in zip(self.each(work), digests, strict=True)
        ]

    def missing(self) -> frozenset[int]:
        return frozenset()

    def once(self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]) -> Arrays:
        del description, digest
        return do()

    def reduced(self, work: Work, merge: Merge) -> Arrays | None:
        tree = Tree(merge)
        for arrays in self.each(work):
            tree.add(arrays, 1)
        whole: Arrays | None = tree.whole()
        return whole
