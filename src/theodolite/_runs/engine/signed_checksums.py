"""Signed checksums of checkpoints: digests that bind a name to its content, with or without a key.

Without a key, a checksum reveals damage and mix-ups. With a key, it also reveals content that
third parties wrote into a shared bucket. The key is read from a file on every machine and is
never sent.
"""

import hashlib
import hmac
import os
import secrets
import stat
from functools import lru_cache
from pathlib import Path

from theodolite.errors import EvidenceError

FORMAT = "theodolite-piece 2"
KEY_FILE = "THEODOLITE_SEAL_KEY_FILE"
SHORTEST, LONGEST = 32, 4096


def compute_seal(key: str, content: str, made_on: str, secret: bytes | None = None) -> str:
    """The seal of an entry. Each part comes after its length, so that none can lend to the next.

    >>> compute_seal("0" * 64, "1" * 64, "2" * 64)[:16]
    '1e92d309647d66c0'
    """
    parts = (part.encode() for part in (FORMAT, key, content, made_on))
    text = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    if secret is None:
        return hashlib.sha256(text).hexdigest()
    return hmac.digest(secret, text, "sha256").hex()


def read_seal_key() -> bytes | None:
    """Return the user's key, if the environment names a file with one."""
    path = os.environ.get(KEY_FILE)
    return _read_key_file(path) if path else None


def get_key_id() -> str:
    """Return a public identifier of the key, enough to distinguish two keys."""
    secret = read_seal_key()
    if secret is None:
        return ""
    return hashlib.sha256(b"theodolite seal id" + secret).hexdigest()[:16]


def write_new_key(path: Path) -> None:
    """Write a new key, for nobody else to read; an earlier one is never replaced."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        needed = "a new file: checkpoints signed with an earlier key need that key"
        raise EvidenceError(f"seal key {str(path)!r}", "an existing file", needed) from error
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_bytes(SHORTEST))


@lru_cache(maxsize=4)
def _read_key_file(path: str) -> bytes:
    what = f"seal key {path!r}"
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        needed = f"a file, as {KEY_FILE} says"
        do = "Make one with `theodolite data keys`."
        raise EvidenceError(what, error.strerror or "no file", needed, do) from error
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not stat.S_ISREG(mode) or mode & 0o077:
            got = f"mode {stat.S_IMODE(mode):04o}" if stat.S_ISREG(mode) else "no plain file"
            raise EvidenceError(what, got, "a file that other users cannot read", "chmod 600 it.")
        secret = stream.read(LONGEST + 1)
    if not SHORTEST <= len(secret) <= LONGEST:
        got = f"{len(secret)} bytes"
        raise EvidenceError(what, got, f"{SHORTEST} to {LONGEST} random bytes")
    return secret
