"""Many writers, one commit: parts become a bundle by one object that is created once."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.manifests.manifest import (
    HEADER,
    MOST_HEADER,
    MOST_MANIFEST,
    SHARED,
    ChunkRow,
    Manifest,
    checked_header,
    header_bytes,
    manifest_at,
    manifest_bytes,
    manifest_from,
    manifest_name,
)
from theodolite.evidence.manifests.recipe import INDEX, content_digest
from theodolite.evidence.store_writer import PARTS, WRITTEN_BY

PART = re.compile(rf"{PARTS}/([0-9a-f]{{16}})\.json")
TRIES = 5


@dataclass(frozen=True, eq=False)
class Part:
    """A finished part: its place in the order, its folder and its manifest."""

    number: int
    folder: str
    manifest: Manifest
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    """What a commit left there."""

    sha256: str
    """Of the manifest."""
    samples: int
    parts: int
    """Those that were added."""
    created: bool
    """False if somebody else had committed the same."""


def commit(address: str, expects: str | None = None, *, single_committer: bool = False) -> Commit:
    """Make one bundle of all finished parts below an address.

    Whoever is second finds the same bundle, or is refused. ``expects``: the digest of the manifest
    that is there, to add new parts to it. Some gateways of buckets ignore conditions; there it is
    refused, unless ``single_committer`` says that nobody else commits.
    """
    store = Store.at(address)
    _check_conditions(store, single_committer=single_committer)
    current, header = None, b""
    if expects is not None:
        header = store.read(HEADER, MOST_HEADER)
        sha256 = checked_header(header, f"header of {str(store)!r}")["sha256"]
        if sha256 != expects:
            raise _other(store, sha256, expects)
        current = manifest_at(store, sha256)
    parts = _chosen(_finished(store), current)
    if not parts:
        raise EvidenceError(
            f"store {str(store)!r}", "no new finished part", "at least one",
            "Write some: EvidenceWriter(address, part=0).",
        )  # fmt: skip
    content, samples = _joined(parts, current)
    sha256 = hashlib.sha256(content).hexdigest()
    store.write(manifest_name(sha256), content)
    earlier: list[str] = []
    if expects is not None:
        earlier = [*checked_header(header, "").get("earlier", []), expects]
    needs = sorted({need for part in parts for need in part.needs})
    new = header_bytes(sha256, WRITTEN_BY, samples=samples, earlier=earlier, needs=needs)
    done = _placed(store, new, header if expects is not None else None, sha256)
    return Commit(sha256, samples, len(parts), done)


def _check_conditions(store: Store, *, single_committer: bool) -> None:
    if single_committer or store.local is not None:
        return
    probe = f"{PARTS}/probe-{secrets.token_hex(8)}"
    holds = store.keeps_conditions(probe)
    store.remove(probe)
    if not holds:
        raise EvidenceError(
            f"store {str(store)!r}", "a server that ignores conditions", "If-None-Match, If-Match",
            "If nobody else commits there, pass --single-committer.",
        )  # fmt: skip


def _placed(store: Store, new: bytes, known: bytes | None, sha256: str) -> bool:
    """Put the header there, in one step. If another one came first, theirs must name the same."""
    for _ in range(TRIES):
        put = store.create(HEADER, new) if known is None else store.replace(HEADER, new, known)
        if put:
            return True
        try:
            there = store.read(HEADER, MOST_HEADER)
        except UnsafeInputError:  # two at the same instant, and neither was first
            continue
        if there == new:  # perhaps our own, the answer to which was lost
            return True
        other = checked_header(there, f"header of {str(store)!r}")["sha256"]
        if other == sha256:
            return False
        raise _other(store, other, sha256)
    raise EvidenceError(f"store {str(store)!r}", "no answer to a header", "one", "Try again.")


def _other(store: Store, there: str, ours: str) -> EvidenceError:
    return EvidenceError(
        f"store {str(store)!r}", f"a bundle with the manifest {there}", f"none, or {ours}",
        "To add parts to it: theodolite data commit ADDRESS --expects DIGEST.",
    )  # fmt: skip


def _finished(store: Store) -> list[Part]:
    """All parts whose writers came to the end."""
    parts = []
    for name in store.names(PARTS):
        match = PART.fullmatch(name)
        if match is None:
            continue
        what, folder = f"part {name!r} of {str(store)!r}", f"{PARTS}/{match[1]}"
        header = checked_header(store.read(name, MOST_HEADER), what)
        number = header.get("part")
        if type(number) is not int:
            raise UnsafeInputError(what, "no number", "a whole number")
        content = store.read(f"{folder}/{manifest_name(header['sha256'])}", MOST_MANIFEST)
        if hashlib.sha256(content).hexdigest() != header["sha256"]:
            raise UnsafeInputError(what, "another manifest", "the one that it names")
        parts.append(Part(number, folder, manifest_from(content, what), tuple(header["needs"])))
    return parts


def _chosen(parts: Sequence[Part], current: Manifest | None) -> list[Part]:
    """One part for each number, in order; two of one number must hold the same."""
    chosen: dict[int, Part] = {}
    committed = {} if current is None else current.parts
    for part in sorted(parts, key=lambda part: (part.number, part.folder)):
        if part.folder in committed.values() or f"{part.number}" in committed:
            continue
        first = chosen.setdefault(part.number, part)
        if first.manifest.digests() != part.manifest.digests():
            got = f"two parts {part.number} that differ: {first.folder} and {part.folder}"
            raise EvidenceError("parts", got, "the same in both", "Remove one of them.")
    return list(chosen.values())


def _joined(parts: Sequence[Part], current: Manifest | None) -> tuple[bytes, int]:
    """The manifest of all of them, and how many samples there are."""
    first = current or parts[0].manifest
    rows: list[ChunkRow] = first.rows_of(SHARED)
    piece, samples, last = 0, 0, -1
    for manifest in [*([current] if current else []), *(part.manifest for part in parts)]:
        _check_same(first, manifest)
        shift = 0
        for n in range(manifest.pieces):
            own = manifest.rows_of(n)
            index = next(row for row in own if row.array == INDEX)
            begin, step = _spacing(index)
            if n == 0 and begin <= last:  # numbered by somebody who knew of no other part
                shift = last + 1 - begin
            own = [_numbered(row, shift) if row.array == INDEX else row for row in own]
            rows += [row._replace(piece=piece, first=samples) for row in own]
            last = begin + shift + step * (index.rows - 1)
            piece, samples = piece + 1, samples + own[0].rows
    entries = {name: layout.entry() for name, layout in first.layouts.items()}
    folders = dict(current.parts) if current else {}
    folders |= {f"{part.number}": part.folder for part in parts}
    return manifest_bytes(first.bundle, entries, rows, folders), samples


def _spacing(index: ChunkRow) -> tuple[int, int]:
    """First number and step of a piece."""
    if index.index_first is None or index.index_step is None:
        got = "numbers in a part that are not evenly spaced"
        raise EvidenceError("samples.index", got, "in each piece the same step")
    return index.index_first, index.index_step


def _numbered(row: ChunkRow, shift: int) -> ChunkRow:
    """The row of a piece's numbers, raised."""
    first, step = _spacing(row)
    if not shift:
        return row
    numbers = first + shift + step * np.arange(row.rows, dtype=np.int64)
    return row._replace(index_first=first + shift, content=content_digest(numbers))


def _check_same(first: Manifest, other: Manifest) -> None:
    """Parts of one bundle have one kind, the same names, layouts and shared arrays."""
    pairs: dict[str, tuple[Any, Any]] = {
        "kind, arrays or names": (first.bundle, other.bundle),
        "layouts": (dict(first.layouts), dict(other.layouts)),
        "shared arrays": (_contents(first), _contents(other)),
    }
    for what, (ours, theirs) in pairs.items():
        if ours != theirs:
            raise EvidenceError("parts", f"other {what} than in the first", "the same in all")


def _contents(manifest: Manifest) -> dict[str, bytes]:
    return {row.array: row.content for row in manifest.rows_of(SHARED)}
