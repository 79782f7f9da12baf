"""What was done already: one file per piece of work, named by all that decides what is in it.

A file that is there is done; it appears only when complete. So a run that was cut off anywhere, on
whatever machine, goes on with what is missing, and nothing is done twice. A file says what its name
was made from and is sealed: one that was copied, exchanged or edited is not believed.
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
PARTIAL_FILE = re.compile(r"\.[0-9a-f]{64}\.safetensors\.\d+\.partial")
CHECKPOINT_FILE = re.compile(r"([0-9a-f]{64})\.safetensors")
"""How files of pieces are named; others in the same place are not touched."""
FIELDS = {"format", "key", "about", "data", "code", "content", "made_on", "made_by", "seal"}


def to_canonical_json(value: Any) -> str:
    """The one text of something plain."""
    return json.dumps(value, sort_keys=True, default=_to_builtin)


def compute_key(description: Mapping[str, Any], digest: str, code: Any) -> str:
    """The name of a piece: a digest of the work, of the data and of the code."""
    return CheckpointName.of(to_canonical_json(description), digest, to_canonical_json(code)).key


def _to_builtin(value: Any) -> Any:
    """Numbers of numpy as numbers; what has no one way to be written is refused."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no name of its own")


@dataclass(frozen=True)
class CheckpointName:
    """A key, and what it was made from, each as canonical JSON."""

    key: str
    description: str
    data: str
    code: str

    @classmethod
    def of(cls, description: str, digest: str, code: str) -> "CheckpointName":
        """The name of the piece for the data of this digest."""
        return cls.of_texts(description, to_canonical_json(digest), code)

    @classmethod
    def of_texts(cls, description: str, data: str, code: str) -> "CheckpointName":
        """The name that canonical texts give."""
        text = f"[{description}, {data}, {code}]"
        return cls(hashlib.sha256(text.encode()).hexdigest(), description, data, code)

    def made_by(self) -> str:
        """The version that the code says."""
        return _get_version(self.code)


@lru_cache(maxsize=16)  # thousands of entries are of the same code
def _get_version(code_text: str) -> str:
    code = json.loads(code_text)
    version = code.get("theodolite", "") if isinstance(code, dict) else code
    return f"theodolite {str(version).partition('+')[0]}"


@dataclass(frozen=True)
class CheckpointRecord:
    """What is known of an entry without its arrays."""

    key: str
    content: str
    """A digest of its arrays."""
    size: int
    made_on: str
    """A digest of the arithmetic that computed it."""


def pack_checkpoint(
    name: CheckpointName, arrays: Arrays, made_on: str
) -> tuple[bytes, CheckpointRecord]:
    """The file of an entry."""
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
    """The arrays of the entry with this key, or in which way it is another or was changed."""
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
    """Finished pieces in a store."""

    store: Store
    keyed: bool = True
    """Whether entries are sealed with the user's key, if there is one."""

    def done(self) -> set[str]:
        """The keys of all finished pieces."""
        matches = (CHECKPOINT_FILE.fullmatch(name) for name in self.store.names())
        return {match[1] for match in matches if match is not None}

    def read(self, key: str) -> tuple[dict[str, Any], CheckpointRecord] | None:
        """What a piece gave; nothing if it is not there, or damaged: then it is done again."""
        try:
            return self.check(key)
        except (UnsafeInputError, VerificationError):
            return None

    def check(self, key: str) -> tuple[dict[str, Any], CheckpointRecord] | None:
        """What a piece gave; nothing if it is not there. Damage is said."""
        name = f"{key}.safetensors"
        try:
            file = self.store.read(name, MAX_BYTES)
        except UnsafeInputError:
            if self.store.size(name) is None:  # asked last: entries are nearly always there
                return None
            raise
        return unpack_checkpoint(file, key, read_seal_key() if self.keyed else None)

    def write(self, name: CheckpointName, arrays: Arrays, made_on: str) -> CheckpointRecord:
        """Keep what a piece gave."""
        file, entry = pack_checkpoint(name, arrays, made_on)
        self.store.write(f"{name.key}.safetensors", file)
        return entry

    def compare(self, entries: Iterable[CheckpointRecord]) -> int:
        """Check that these are here as they were listed; how many they are."""
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
        """Remove pieces that this run did not use: those of earlier settings or code."""
        for path in [] if self.store.local is None else self.store.local.glob(".*.partial"):
            if PARTIAL_FILE.fullmatch(path.name):  # whoever wrote it was killed
                path.unlink(missing_ok=True)
        for key in sorted(self.done() - keys):
            self.store.remove(f"{key}.safetensors")


@dataclass(frozen=True)
class StoredCheckpoint:
    """A finished piece, for other pieces to read."""

    checkpoints: CheckpointStore
    digest: str
    """Its key."""

    def read(self) -> Arrays:
        known = self.checkpoints.read(self.digest)
        if known is None:
            raise EvidenceError(
                f"piece {self.digest}", "no such piece, or a damaged one", "what was written",
                "Start the same command again: what is missing is done again.",
            )  # fmt: skip
        return known[0]
