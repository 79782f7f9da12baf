"""Read and use the key file of a study, which pseudonymizes people and signs codes and forms.

The file is kept outside the database, so that neither of them alone reveals an identity.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from theodolite.errors import UnsafeInputError
from theodolite.ext.studies import json_from
from theodolite_study.readable_codes import (
    CODE_LETTERS,
    digest_code,
    encode_digest,
    group_letters,
    make_code,
)

KEYS_FILE = "keys.json"
"""File name of the keys in a study folder."""
FORMAT = "theodolite study keys 1"
SECRETS = ("pepper", "sealing", "completion", "forms")
SECRET_BYTES = 32
MIN_DIFFERENT_BYTES = 16
"""Minimum number of different bytes in a secret. Random secrets of 32 bytes have about 30; typed
ones have few."""
MAX_FILE_BYTES = 1 << 16
SEAL_VERSION = b"\x01"
NONCE_BYTES = 12
MAKE_HINT = "Make one: theodolite study init makes it; Keys.create(path) does."


@dataclass(frozen=True)
class Keys:
    """Secrets of a study. Each has one purpose, and none is ever shown."""

    id: str
    """Identifier of these keys; tables made with other keys cannot be joined to them."""
    pepper: bytes = field(repr=False)
    """Secret for pseudonyms of participants."""
    sealing: bytes = field(repr=False)
    """Secret for encrypting platform ids that payment still needs."""
    completion: bytes = field(repr=False)
    """Secret for completion codes, withdrawal codes and receipts."""
    forms: bytes = field(repr=False)
    """Secret for the hidden fields that prove that a form is ours."""

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in SECRETS]
        for name, secret in zip(SECRETS, values, strict=True):
            if len(secret) != SECRET_BYTES or len(set(secret)) < MIN_DIFFERENT_BYTES:
                raise UnsafeInputError(
                    f"key {name!r}", "a weak secret", f"{SECRET_BYTES} random bytes", MAKE_HINT
                )
        if len(set(values)) != len(values):
            raise UnsafeInputError(
                "keys", "one secret for two purposes", "different ones", MAKE_HINT
            )
        if not self.id.isalnum():
            raise UnsafeInputError("keys", "no id", "letters and digits", MAKE_HINT)

    @classmethod
    def create(cls, path: Path) -> "Keys":
        """Write new random keys to a new file that only its owner can read."""
        new_secrets = {name: secrets.token_bytes(SECRET_BYTES) for name in SECRETS}
        keys = cls(id=secrets.token_hex(8), **new_secrets)
        content = {"format": FORMAT, "id": keys.id}
        content |= {name: base64.b64encode(getattr(keys, name)).decode() for name in SECRETS}
        _write_new(path, (json.dumps(content, indent=1) + "\n").encode())
        return keys

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read the keys of a file, or of the study folder that was named instead."""
        path = path / KEYS_FILE if path.is_dir() else path
        content = json_from(_read_private(path), path.name)
        what = f"key file {path.name!r}"
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise UnsafeInputError(what, "another content", f"the format {FORMAT!r}", MAKE_HINT)
        stored = {name: _read_secret(content, name, what) for name in SECRETS}
        return cls(id=str(content.get("id", "")), **stored)

    def digest_person(self, slug: str, platform: str, platform_id: str) -> bytes:
        """Return the stable pseudonymous identity of a person in one study."""
        return _compute_mac(self.pepper, "person", slug, platform, platform_id)

    def digest_barred_person(self, slug: str, platform: str, platform_id: str) -> bytes:
        """Return the fingerprint by which a person is barred from taking part again."""
        return _compute_mac(self.pepper, "bar", slug, platform, platform_id)

    def encrypt(self, plain: str, slug: str = "") -> bytes:
        """Encrypt a text that only these keys can decrypt, and only for the same study."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return (
            SEAL_VERSION
            + nonce
            + AESGCM(self.sealing).encrypt(nonce, plain.encode(), self._bound(slug))
        )

    def decrypt(self, sealed: bytes, slug: str = "") -> str:
        """Decrypt a text that was encrypted by `encrypt`."""
        nonce, rest = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            if sealed[:1] != SEAL_VERSION or len(nonce) != NONCE_BYTES:
                raise InvalidTag
            return AESGCM(self.sealing).decrypt(nonce, rest, self._bound(slug)).decode()
        except InvalidTag as error:
            raise UnsafeInputError(
                "sealed text", "one of other keys, of another study, or a changed one",
                f"one that keys {self.id} made for this study", "Use the study's own key file.",
            ) from error  # fmt: skip

    def _bound(self, slug: str) -> bytes:
        return _encode_parts("sealed", self.id, slug)

    def make_withdrawal_code(self, participant_id: UUID | str | None = None) -> str:
        """Return a code by which only its owner can withdraw all data.

        With an id it is that person's code, always the same, so that a page can show it again and
        nobody has to keep it. Without, it is a random one.
        """
        if participant_id is None:
            return make_code()
        mac = _compute_mac(self.completion, "withdrawal", str(participant_id))
        return group_letters(encode_digest(mac, CODE_LETTERS))

    def digest_code(self, code: str) -> bytes:
        """Return the digest that is stored of a code; case and separators do not matter."""
        return digest_code(code)

    def make_completion_code(self, slug: str, participant_id: UUID | str) -> str:
        """Return the code that a participant enters at the platform, different for each."""
        return encode_digest(
            _compute_mac(self.completion, "completion", slug, str(participant_id)), 12
        )

    def derive_key(self, label: str) -> bytes:
        """Derive a key for one purpose by HKDF; it reveals no other key."""
        kdf = HKDF(SHA256(), SECRET_BYTES, salt=None, info=_encode_parts("derived", label))
        return kdf.derive(self.forms)

    def make_form_token(self, session_digest: bytes) -> str:
        """Return the hidden field of the forms in a session."""
        mac = _compute_mac(self.derive_key("csrf"), "csrf", session_digest)
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()

    def is_form_token(self, session_digest: bytes, token: str) -> bool:
        """Return whether a form came from a page of this session, in constant time."""
        return hmac.compare_digest(
            self.make_form_token(session_digest).encode(), token.encode(errors="replace")
        )


def _encode_parts(purpose: str, *parts: str | bytes) -> bytes:
    """Encode parts with their lengths, so that no two lists of parts give the same bytes."""
    raw = [part.encode() if isinstance(part, str) else part for part in (purpose, *parts)]
    return b"theodolite study 1" + b"".join(len(part).to_bytes(8, "big") + part for part in raw)


def _compute_mac(secret: bytes, purpose: str, *parts: str | bytes) -> bytes:
    return hmac.new(secret, _encode_parts(purpose, *parts), hashlib.sha256).digest()


def _read_secret(content: dict[str, Any], name: str, what: str) -> bytes:
    try:
        return base64.b64decode(content[name], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        problem = f"no {name!r}" if name not in content else f"a broken {name!r}"
        raise UnsafeInputError(
            what, problem, f"{SECRET_BYTES} random bytes in base64", MAKE_HINT
        ) from error


def _read_private(path: Path) -> bytes:
    """Read a file, and refuse it if anybody but its owner can read it."""
    what = f"key file {path.name!r}"
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise UnsafeInputError(
            what, "nothing that can be read", "the study's keys", MAKE_HINT
        ) from error
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeInputError(what, "no plain file", "the study's keys", MAKE_HINT)
        if os.name == "posix" and status.st_mode & 0o077:
            raise UnsafeInputError(
                what, f"mode {status.st_mode & 0o777:03o}, which others can read", "mode 600",
                f"chmod 600 {path.name}; if others may have read it, make new keys.",
            )  # fmt: skip
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UnsafeInputError(what, "a large file", f"at most {MAX_FILE_BYTES:,} bytes", MAKE_HINT)
    return content


def _write_new(path: Path, content: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UnsafeInputError(
            f"key file {path.name!r}", "one that is there", "a new name",
            "Keys are not replaced: pseudonyms would change. A new study has new keys.",
        ) from error  # fmt: skip
    except OSError as error:
        raise UnsafeInputError(f"key file {path.name!r}", str(error.strerror), "a place") from error
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
