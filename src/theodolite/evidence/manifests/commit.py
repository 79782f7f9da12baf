"""Commit the parts of many writers as one bundle, by creating its header atomically.
Used by ``theodolite data commit``."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.manifests.digests import INDEX, compute_content_digest
from theodolite.evidence.manifests.manifest import (
    HEADER,
    MAX_HEADER_BYTES,
    MAX_MANIFEST_BYTES,
    SHARED,
    ChunkRow,
    Manifest,
    check_header,
    encode_header,
    encode_manifest,
    manifest_name,
    parse_manifest,
    read_manifest,
)
from theodolite.evidence.store_writer import PARTS, WRITTEN_BY

PART = re.compile(rf"{PARTS}/([0-9a-f]{{16}})\.json")
MAX_TRIES = 5


@dataclass(frozen=True, eq=False)
class Part:
    """A finished part: its position, its folder and its manifest."""

    number: int
    folder: str
    manifest: Manifest
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    """Result of a commit."""

    sha256: str
    """Digest of the manifest."""
    samples: int
    parts: int
    """Number of parts that were added."""
    created: bool
    """Whether this call created it; False if another process had committed the same."""


def commit(address: str, expects: str | None = None, *, single_committer: bool = False) -> Commit:
    """Combine all finished parts below an address into one bundle.

    The second writer finds the same bundle, or is refused. ``expects``: the digest of the manifest
    that is there, to add new parts to it. Some gateways of buckets ignore conditions; there it is
    refused, unless ``single_committer`` says that nobody else commits.
    """
    store = Store.at(address)
    _check_conditions(store, single_committer=single_committer)
    current, header = None, b""
    if expects is not None:
        header = store.read(HEADER, MAX_HEADER_BYTES)
        sha256 = check_header(header, f"header of {str(store)!r}")["sha256"]
        if sha256 != expects:
            raise _other(store, sha256, expects)
        current = read_manifest(store, sha256)
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
        earlier = [*check_header(header, "").get("earlier", []), expects]
    needs = sorted({need for part in parts for need in part.needs})
    new = encode_header(sha256, WRITTEN_BY, samples=samples, earlier=earlier, needs=needs)
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
            "If this is the only writer, pass --single-committer.",
        )  # fmt: skip


def _placed(store: Store, new: bytes, known: bytes | None, sha256: str) -> bool:
    """Create the header atomically; return False if another one names the same manifest."""
    for _ in range(MAX_TRIES):
        put = store.create(HEADER, new) if known is None else store.replace(HEADER, new, known)
        if put:
            return True
        try:
            there = store.read(HEADER, MAX_HEADER_BYTES)
        except UnsafeInputError:  # two at the same instant, and neither was first
            continue
        if there == new:  # perhaps our own, the answer to which was lost
            return True
        other = check_header(there, f"header of {str(store)!r}")["sha256"]
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
    """Return all parts whose writers finished."""
    parts = []
    for name in store.names(PARTS):
        match = PART.fullmatch(name)
        if match is None:
            continue
        what, folder = f"part {name!r} of {str(store)!r}", f"{PARTS}/{match[1]}"
        header = check_header(store.read(name, MAX_HEADER_BYTES), what)
        number = header.get("part")
        if type(number) is not int:
            raise UnsafeInputError(what, "no number", "a whole number")
        content = store.read(f"{folder}/{manifest_name(header['sha256'])}", MAX_MANIFEST_BYTES)
        if hashlib.sha256(content).hexdigest() != header["sha256"]:
            raise UnsafeInputError(what, "another manifest", "the one that it names")
        parts.append(Part(number, folder, parse_manifest(content, what), tuple(header["needs"])))
    return parts


def _chosen(parts: Sequence[Part], current: Manifest | None) -> list[Part]:
    """Return one part per number, in order; duplicates must have equal content."""
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
    """Return the combined manifest and the number of samples."""
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
            if n == 0 and begin <= last:  # numbered by a writer that knew of no other part
                shift = last + 1 - begin
            own = [_numbered(row, shift) if row.array == INDEX else row for row in own]
            rows += [row._replace(piece=piece, first=samples) for row in own]
            last = begin + shift + step * (index.rows - 1)
            piece, samples = piece + 1, samples + own[0].rows
    entries = {name: layout.entry() for name, layout in first.layouts.items()}
    folders = dict(current.parts) if current else {}
    folders |= {f"{part.number}": part.folder for part in parts}
    return encode_manifest(first.bundle, entries, rows, folders), samples


def _spacing(index: ChunkRow) -> tuple[int, int]:
    """Return the first number and the step of a shard's sample numbers."""
    if index.index_first is None or index.index_step is None:
        got = "numbers in a part that are not evenly spaced"
        raise EvidenceError("samples.index", got, "in each piece the same step")
    return index.index_first, index.index_step


def _numbered(row: ChunkRow, shift: int) -> ChunkRow:
    first, step = _spacing(row)
    if not shift:
        return row
    numbers = first + shift + step * np.arange(row.rows, dtype=np.int64)
    return row._replace(index_first=first + shift, content=compute_content_digest(numbers))


def _check_same(first: Manifest, other: Manifest) -> None:
    """Raise unless parts have the same kind, names, layouts and shared arrays."""
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
