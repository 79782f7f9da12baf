"""DSSE envelopes, as tools of supply chains read them: the statement with Ed25519 signatures."""

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Any

from theodolite._storage.optional import require
from theodolite._storage.paths import all_or_nothing, size_within
from theodolite._storage.text import json_from
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.report.dossier.statement import canonical

ENVELOPE = "statement.dsse.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
LARGEST = 16 << 20
LIBRARY = "cryptography.hazmat.primitives"


def encoding(payload: bytes, kind: str = PAYLOAD_TYPE) -> bytes:
    """What is signed: the pre-authentication encoding of DSSE 1.0.

    >>> encoding(b'{"a":1}')
    b'DSSEv1 28 application/vnd.in-toto+json 7 {"a":1}'
    """
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def sign_envelope(folder: Path, statement: bytes, key: Path) -> Path:
    """Write the statement in an envelope; a signature that is there stays beside the new one."""
    private = _private_key(key)
    path = folder / ENVELOPE
    signatures = _signatures(path, statement) if path.exists() else []
    signature = private.sign(encoding(statement))
    identity = key_identity(private.public_key())
    others = [other for other in signatures if other.get("keyid") != identity]
    envelope = {
        "payload": base64.b64encode(statement).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [*others, {"keyid": identity, "sig": base64.b64encode(signature).decode()}],
    }
    with all_or_nothing(path) as stream:
        stream.write(canonical(envelope))
    return path


def check_envelope(folder: Path, statement: bytes, key: Path | None) -> str:
    """Check that an envelope holds these bytes and, with a public key, that this key signed them.

    Returns the identity of the key, or nothing if none was given.
    """
    signatures = _signatures(folder / ENVELOPE, statement)
    if key is None:
        return ""
    public = _public_key(key)
    invalid = require("cryptography.exceptions", "DSSE envelopes", "sign").InvalidSignature
    for signature in signatures:
        try:
            public.verify(_decoded(signature.get("sig")), encoding(statement))
        except invalid:
            continue
        return key_identity(public)
    raise VerificationError(f"envelope {ENVELOPE!r}", f"no signature by {key.name!r}", "one")


def key_identity(public: Any) -> str:
    """The fingerprint of a public key, as ssh-keygen writes it."""
    serialization = require(f"{LIBRARY}.serialization", "DSSE envelopes", "sign")
    line = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _signatures(path: Path, statement: bytes) -> list[dict[str, Any]]:
    """The signatures of an envelope around these very bytes."""
    size_within(path, LARGEST, "envelope")
    what = f"envelope {path.name!r}"
    try:
        content = json_from(path.read_bytes(), path.name)
        payload, kind = _decoded(content["payload"]), content["payloadType"]
        signatures = [dict(signature) for signature in content["signatures"]]
    except (KeyError, TypeError, ValueError) as error:
        raise VerificationError(what, "a broken envelope", "a DSSE envelope") from error
    if (payload, kind) != (statement, PAYLOAD_TYPE):
        raise VerificationError(what, "another statement", "the bytes of statement.json")
    return signatures


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise VerificationError(f"envelope {ENVELOPE!r}", "broken base64", "base64") from error


def _private_key(path: Path) -> Any:
    """An Ed25519 key without a passphrase, of OpenSSH or PEM."""
    content, load = _key_file(path, b"OPENSSH PRIVATE KEY", "private")
    try:
        key = load(content, password=None)
    except (TypeError, ValueError) as error:
        raise EvidenceError(
            f"key {path.name!r}", "a key with a passphrase",
            "an Ed25519 key of OpenSSH or in PEM", "Without --dsse ssh-keygen asks for it.",
        ) from error  # fmt: skip
    return _ed25519(key, path, "Ed25519PrivateKey")


def _public_key(path: Path) -> Any:
    content, load = _key_file(path, b"ssh-", "public")
    try:
        key = load(content)
    except ValueError as error:
        needed = "a public Ed25519 key of OpenSSH or in PEM"
        raise UnsafeInputError(f"key {path.name!r}", "something else", needed) from error
    return _ed25519(key, path, "Ed25519PublicKey")


def _key_file(path: Path, of_ssh: bytes, kind: str) -> tuple[bytes, Any]:
    """The bytes of a key, and what reads such a file."""
    size_within(path, 1 << 16, "key")
    serialization = require(f"{LIBRARY}.serialization", "DSSE envelopes", "sign")
    content = path.read_bytes()
    way = "ssh" if of_ssh in content[:64] else "pem"
    return content, getattr(serialization, f"load_{way}_{kind}_key")


def _ed25519(key: Any, path: Path, kind: str) -> Any:
    ed25519 = require(f"{LIBRARY}.asymmetric.ed25519", "DSSE envelopes", "sign")
    if not isinstance(key, getattr(ed25519, kind)):
        raise EvidenceError(f"key {path.name!r}", type(key).__name__, "an Ed25519 key")
    return key
