"""Checkpoints of a run: one file per task, named by a digest of the task, its data and the code.

A file appears only when it is complete. An interrupted run therefore resumes on any machine with
the tasks that have no file. A file records what its name was computed from and has a signed
checksum: files that were copied, exchanged or edited are rejected. `tasks` and `worker_pool` read
and write checkpoints. Messages call the content of a checkpoint a piece.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from theodolite._runs.engine.signed_checksums import FORMAT, compute_seal, read_seal_key
from theodolite._storage.packed_arrays import (
    Arrays,
    digest_arrays,
    pack_with_metadata,
    unpack_with_metadata,
)
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError

MAX_BYTES = 1 << 31
"""Maximum size of a checkpoint file."""
PARTIAL_FILE = re.compile(r"\.[0-9a-f]{64}\.safetensors\.\d+\.partial")
CHECKPOINT_FILE = re.compile(r"([0-9a-f]{64})\.safetensors")
"""Names of checkpoint files; other files in the same folder are not touched."""
FIELDS = {"format", "key", "about", "data", "code", "content", "made_on", "made_by", "seal"}


def to_canonical_json(value: Any) -> str:
    """Return the canonical JSON of plain data: equal data give equal texts."""
    return json.dumps(value, sort_keys=True, default=_to_builtin)


def compute_key(description: Mapping[str, Any], digest: str, code: Any) -> str:
    """Return the key of a checkpoint: a digest of the task, the data and the code."""
    return CheckpointName.of(to_canonical_json(description), digest, to_canonical_json(code)).key


def _to_builtin(value: Any) -> Any:
    """Convert numpy numbers and arrays; refuse types without a canonical text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no name of its own")


@dataclass(frozen=True)
class CheckpointName:
    """Key of a checkpoint, and the canonical JSON texts that it was computed from."""

    key: str
    description: str
    data: str
    code: str

    @classmethod
    def of(cls, description: str, digest: str, code: str) -> "CheckpointName":
        """Return the name for a task (canonical JSON), the digest of its data, and the code."""
        return cls.of_texts(description, to_canonical_json(digest), code)

    @classmethod
    def of_texts(cls, description: str, data: str, code: str) -> "CheckpointName":
        """Return the name for three canonical JSON texts."""
        text = f"[{description}, {data}, {code}]"
        return cls(hashlib.sha256(text.encode()).hexdigest(), description, data, code)

    def made_by(self) -> str:
        """Return the version of theodolite in the description of the code."""
        return _get_version(self.code)


@lru_cache(maxsize=16)  # thousands of entries are of the same code
def _get_version(code_text: str) -> str:
    code = json.loads(code_text)
    version = code.get("theodolite", "") if isinstance(code, dict) else code
    return f"theodolite {str(version).partition('+')[0]}"


@dataclass(frozen=True)
class CheckpointRecord:
    """What is known of a checkpoint without its arrays."""

    key: str
    content: str
    """Digest of its arrays."""
    size: int
    made_on: str
    """Digest of the arithmetic of the process that computed it."""


def pack_checkpoint(
    name: CheckpointName, arrays: Arrays, made_on: str
) -> tuple[bytes, CheckpointRecord]:
    """Return the bytes of a checkpoint file, and its record."""
    content = digest_arrays(arrays)
    metadata = {
        "format": FORMAT,
        "key": name.key,
        "about": name.description,
        "data": name.data,
        "code": name.code,
        "content": content,
        "made_on": made_on,
        "made_by": name.made_by(),
        "seal": compute_seal(name.key, content, made_on, read_seal_key()),
    }
    file = pack_with_metadata(arrays, metadata)
    return file, CheckpointRecord(name.key, content, len(file), made_on)


def unpack_checkpoint(
    file: bytes, key: str, secret: bytes | None
) -> tuple[dict[str, Any], CheckpointRecord]:
    """Return arrays and record of a checkpoint file, after checking that it belongs to the key.

    The error says what differs: key, description, content, signed checksum or version.
    """
    what = f"piece {key[:16]}…"
    try:
        arrays, metadata = unpack_with_metadata(file, f"{key}.safetensors")
    except UnsafeInputError as error:
        raise VerificationError(what, error.got, error.expected) from error
    if set(metadata) != FIELDS or not all(isinstance(text, str) for text in metadata.values()):
        raise VerificationError(what, "no seal, or another format", FORMAT)
    if metadata["key"] != key:
        raise VerificationError(f"{what} holds the piece {metadata['key'][:16]}…, not {key[:16]}…")
    name = CheckpointName.of_texts(metadata["about"], metadata["data"], metadata["code"])
    if name.key != key:
        raise VerificationError(what, "another description", "the one that its key was made from")
    if digest_arrays(arrays) != metadata["content"]:
        raise VerificationError(what, "other content than its digest says", "what was written")
    seal = compute_seal(key, metadata["content"], metadata["made_on"], secret)
    if not hmac.compare_digest(seal, metadata["seal"]) or metadata["format"] != FORMAT:
        raise VerificationError(what, "another seal", "that of its key and content")
    if name.made_by() != metadata["made_by"]:
        raise VerificationError(what, "another version", "the one that its key was made from")
    return arrays, CheckpointRecord(key, metadata["content"], len(file), metadata["made_on"])


@dataclass(frozen=True)
class CheckpointStore:
    """Checkpoints in a folder or an object store."""

    store: Store
    keyed: bool = True
    """Whether checksums are signed with the user's key, if there is one."""

    def done(self) -> set[str]:
        """Return the keys of all checkpoints."""
        matches = (CHECKPOINT_FILE.fullmatch(name) for name in self.store.names())
        return {match[1] for match in matches if match is not None}

    def read(self, key: str) -> tuple[dict[str, Any], CheckpointRecord] | None:
        """Return a checkpoint; None if it is missing or damaged, so that its task runs again."""
        try:
            return self.check(key)
        except (UnsafeInputError, VerificationError):
            return None

    def check(self, key: str) -> tuple[dict[str, Any], CheckpointRecord] | None:
        """Return a checkpoint; None if it is missing. Raise an error if it is damaged."""
        name = f"{key}.safetensors"
        try:
            file = self.store.read(name, MAX_BYTES)
        except UnsafeInputError:
            if self.store.size(name) is None:  # asked last: entries are nearly always there
                return None
            raise
        return unpack_checkpoint(file, key, read_seal_key() if self.keyed else None)

    def write(self, name: CheckpointName, arrays: Arrays, made_on: str) -> CheckpointRecord:
        """Write the arrays of a finished task, and return the record of the file."""
        file, record = pack_checkpoint(name, arrays, made_on)
        self.store.write(f"{name.key}.safetensors", file)
        return record

    def compare(self, entries: Iterable[CheckpointRecord]) -> int:
        """Check that the store has these checkpoints with this content; return their number."""
        count = 0
        for entry in entries:
            here = self.check(entry.key)
            if here is None:
                raise VerificationError(f"piece {entry.key[:16]}…", "nothing there", "its entry")
            if here[1].content != entry.content:
                raise VerificationError(
                    f"piece {entry.key[:16]}…", "other content", "that which the run used"
                )
            count += 1
        return count

    def keep_only(self, keys: set[str]) -> None:
        """Remove all other checkpoints, which earlier settings or code left."""
        for path in [] if self.store.local is None else self.store.local.glob(".*.partial"):
            if PARTIAL_FILE.fullmatch(path.name):  # its writer was killed
                path.unlink(missing_ok=True)
        for key in sorted(self.done() - keys):
            self.store.remove(f"{key}.safetensors")


@dataclass(frozen=True)
class StoredCheckpoint:
    """Reference to a checkpoint, which other tasks read."""

    checkpoints: CheckpointStore
    digest: str
    """Key of the checkpoint."""

    def read(self) -> Arrays:
        known = self.checkpoints.read(self.digest)
        if known is None:
            raise EvidenceError(
                f"piece {self.digest}", "no such piece, or a damaged one", "what was written",
                "Start the same command again: what is missing is done again.",
            )  # fmt: skip
        return known[0]
