"""Load the public keys that verify Prolific's signatures, from a file or one fixed address.

No content of a token has a part in where keys come from.
"""

import http.client
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import json_from, read_text

HOST = "api.prolific.com"
PATH = "/.well-known/study/jwks.json"
FILE = "jwks.json"
TIMEOUT_SECONDS = 5.0
MAX_BYTES = 1 << 18
MAX_KEYS = 50
MIN_KEY_BITS = 2048
REFRESH_SECONDS, MAX_AGE_SECONDS, RETRY_SECONDS = 6 * 3600.0, 24 * 3600.0, 60.0
NAME_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")


class KeysUnavailableError(EvidenceError):
    """Temporary failure to load the keys. Trying again later helps."""


@runtime_checkable
class SigningKeys(Protocol):
    """Source of public keys by name."""

    def find(self, name: str, now: float) -> RSAPublicKey | None:
        """Return the key of a name, or None if there is none."""


@dataclass(frozen=True)
class StoredKeys:
    """Keys that were read once from a file."""

    keys: Mapping[str, RSAPublicKey]

    def find(self, name: str, now: float) -> RSAPublicKey | None:
        """Return the key of a name; ``now`` is ignored, as a file does not change by itself."""
        return self.keys.get(name)


def read_stored_keys(folder: Path) -> StoredKeys:
    """Read the keys in ``jwks.json`` of a study folder."""
    content = read_text(folder / FILE, "keys of Prolific", MAX_BYTES)
    return parse_keys(content.encode(), FILE)


def parse_keys(content: bytes, name: str) -> StoredKeys:
    """Parse the RSA keys for RS256 in a key set; others are left out."""
    key_set = json_from(content, name)
    entries = key_set.get("keys") if isinstance(key_set, dict) else None
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise UnsafeInputError(
            f"key set {name!r}", "something else", f"a list of at most {MAX_KEYS} keys"
        )
    keys = {}
    for entry in entries:
        key = _parse_public_key(entry)
        if key is not None:
            keys[str(entry["kid"])] = key
    if not keys:
        raise UnsafeInputError(f"key set {name!r}", "no key for RS256", "at least one")
    return StoredKeys(keys)


def _parse_public_key(entry: Any) -> RSAPublicKey | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str):
        return None
    fits = entry.get("kty") == "RSA" and entry.get("alg", "RS256") == "RS256"
    if not fits or entry.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK.from_dict(entry, algorithm="RS256").key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return key if isinstance(key, RSAPublicKey) and key.key_size >= MIN_KEY_BITS else None


class FetchedKeys:
    """Keys from Prolific itself, cached for some hours.

    An unknown name fetches them again, as keys change, but at most once a minute: otherwise
    invented names would cause endless requests.
    """

    def __init__(self, fetch: Callable[[], bytes] | None = None) -> None:
        self._fetch = fetch_keys if fetch is None else fetch
        self._lock = Lock()
        self._kept: StoredKeys | None = None
        self._at = self._tried = -float("inf")

    def find(self, name: str, now: float) -> RSAPublicKey | None:
        """Return the key of a name; ``now`` in seconds since 1970."""
        with self._lock:
            known = self._kept is not None and self._kept.find(name, now) is not None
            stale = abs(now - self._at) > REFRESH_SECONDS
            if (stale or not known) and abs(now - self._tried) >= RETRY_SECONDS:
                self._look(now)
            if self._kept is None or abs(now - self._at) > MAX_AGE_SECONDS:
                raise KeysUnavailableError(
                    "the link from Prolific", "no answer from Prolific", "its public keys",
                    "Please try again in some minutes.",
                )  # fmt: skip
            return self._kept.find(name, now)

    def _look(self, now: float) -> None:
        self._tried = now
        try:
            self._kept = parse_keys(self._fetch(), FILE)
        except (OSError, http.client.HTTPException, UnsafeInputError):
            return  # what we have stays good for a day
        self._at = now


def fetch_keys() -> bytes:
    """Download the key set that Prolific publishes."""
    return read_response(
        http.client.HTTPSConnection(
            HOST, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
        )
    )


def read_response(connection: http.client.HTTPConnection) -> bytes:
    """Read the response of the fixed path, without redirects and with limits of size and time."""
    until = time.monotonic() + TIMEOUT_SECONDS
    try:
        connection.request("GET", PATH, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise UnsafeInputError("keys of Prolific", f"the answer {response.status}", "200")
        content = b""
        while piece := response.read1(MAX_BYTES):
            content += piece
            if len(content) > MAX_BYTES or time.monotonic() > until:
                raise UnsafeInputError("keys of Prolific", "too much or too slow", "a small file")
        return content
    finally:
        connection.close()
