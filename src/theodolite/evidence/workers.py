"""Work that is cut into pieces: whoever wants it done need not know where it happens."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from theodolite._storage.packed import Arrays
from theodolite.evidence.read_ahead import read_ahead

__all__ = ["Arrays", "Entry", "Merge", "SerialWorkers", "Tree", "Work", "Workers"]
Merge = Callable[[Any, Any], Any]


@runtime_checkable
class Entry(Protocol):
    """What an item gave, where it lies: small to send to whoever works on with it."""

    @property
    def digest(self) -> str:
        """Of all that decides what is in it."""

    def read(self) -> Arrays:
        """The arrays."""


@dataclass(frozen=True, eq=False)
class InMemoryEntry:
    """What an item gave, in memory."""

    arrays: Arrays
    digest: str

    def read(self) -> Arrays:
        return self.arrays


@dataclass(frozen=True, kw_only=True)
class Work:
    """The same pure function for many items.

    What it gives depends on the item, on ``about`` and on nothing else: a piece that was done once
    is never done again, on whatever machine.
    """

    what: str
    """For the progress bar."""
    do: Callable[..., Arrays]
    """(item) -> arrays; or (item, tool). A function of a module, perhaps with ``partial``, so that
    it can be sent to another process."""
    items: Sequence[Any]
    """Small things that say where the data is, or the data itself where it is small."""
    digests: Sequence[str]
    """A digest of what each item stands for."""
    about: Mapping[str, Any]
    """What else decides the result: names, versions, options, seeds; as plain JSON."""
    names: Sequence[str] = ()
    """What people call the items; their numbers if not given."""
    tool: Callable[[], Any] | None = field(default=None)
    """Makes what every piece needs and is slow to make, such as a network: once in each process."""

    network: bool = False
    """Whether the tool is a network: then it is run on a GPU where there is one."""
    kept: bool = True
    """Whether what it gives is kept with the run; not where the pieces are kept elsewhere."""

    def name(self, number: int) -> str:
        """What people call an item."""
        return self.names[number] if self.names else f"{self.what} {number}"


@runtime_checkable
class Workers(Protocol):
    """Does work somewhere. The bytes of the result do not depend on where."""

    def each(self, work: Work) -> Iterator[Arrays | None]:
        """What each item gave, in order; nothing for an item that failed three times."""

    def entries(self, work: Work) -> list[Entry | None]:
        """Where what each item gave lies, for other items to read; nothing of it comes here."""

    def reduced(self, work: Work, merge: Merge) -> Arrays | None:
        """What all items gave, merged two by two in one fixed order; nothing if all failed."""

    def missing(self) -> frozenset[int]:
        """The items of the last work that failed for good, by their numbers."""

    def once(self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]) -> Arrays:
        """Work that cannot be cut, done here; what it gave is kept like any piece."""


def _digest_of(description: Mapping[str, Any], digest: str) -> str:
    text = json.dumps([description, digest], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


class Tree:
    """Merges what comes in order, in pairs of equal size: the same sums however the work was cut.

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
        """The next part, merged from so many items: a power of two, or what is left at the end."""
        self._parts.append((size, part))
        while len(self._parts) > 1 and self._parts[-1][0] == self._parts[-2][0]:
            self._join()

    def _join(self) -> None:
        (n, left), (m, right) = self._parts[-2:]
        both = left if right is None else right if left is None else self._merge(left, right)
        self._parts[-2:] = [(n + m, both)]

    def whole(self) -> Any:
        """All of it."""
        while len(self._parts) > 1:
            self._join()
        return self._parts[0][1] if self._parts else None


class SerialWorkers:
    """One item after the other, here and now, and nothing is kept."""

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
