"""Check passphrases, phone codes (TOTP) and enrollment links of staff accounts. Used by the
desk."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from threading import BoundedSemaphore

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from theodolite.errors import EvidenceError
from theodolite_study.common_passphrases import COMMON_WORDS, KEYBOARD_ROWS, PROJECT_WORDS
from theodolite_study.refusals import NothingNow

MIN_CHARACTERS, MAX_CHARACTERS = 12, 128
MIN_DIFFERENT_CHARACTERS = 5
STEP_SECONDS = 30
"""Seconds for which one phone code is shown."""
MAX_DRIFT_STEPS = 1
"""Number of steps by which a phone's clock may differ."""
ENROLLMENT = timedelta(hours=24)
HASHER = PasswordHasher(time_cost=3, memory_cost=1 << 16, parallelism=1)
"""Argon2id with 64 MiB, which takes about 0.1 seconds."""
MAX_CONCURRENT_CHECKS = 2
"""Passphrases that one process checks at once, so that logins leave memory and cores to others."""
_turns = BoundedSemaphore(MAX_CONCURRENT_CHECKS)


def check_passphrase(passphrase: str, account: str) -> None:
    """Refuse a passphrase that is short or easy to guess; its composition does not matter."""
    if not MIN_CHARACTERS <= len(passphrase) <= MAX_CHARACTERS:
        raise EvidenceError(
            "passphrase", f"{len(passphrase)} characters", f"{MIN_CHARACTERS} to {MAX_CHARACTERS}",
            "Some words that do not belong together are easy to keep and hard to guess.",
        )  # fmt: skip
    reason = _find_weakness(passphrase.casefold(), account.casefold())
    if reason:
        raise EvidenceError(
            "passphrase", reason, "one that nobody tries first",
            "Take some words that do not belong together.",
        )  # fmt: skip


def _find_weakness(passphrase: str, account: str) -> str:
    if len(set(passphrase)) < MIN_DIFFERENT_CHARACTERS:
        return "few different characters"
    if len(account) > 2 and account in passphrase:
        return "the name of the account"
    plain = re.sub(r"[\W_]", "", passphrase)
    if plain and any(plain in row + row or plain in (row + row)[::-1] for row in KEYBOARD_ROWS):
        return "a walk over the keyboard"
    core = re.sub(r"[\W\d_]", "", passphrase)
    if core in COMMON_WORDS or core in PROJECT_WORDS or _has_few_words(core):
        return "a common word with something around it"
    return ""


def _has_few_words(core: str) -> bool:
    """Return whether a text is one word repeated, or two common words, such as summerlove."""
    known = COMMON_WORDS | PROJECT_WORDS
    starts = [end for end in range(1, len(core)) if core[:end] in known]
    return any(core[end:] in known or core == core[:end] * (len(core) // end) for end in starts)


def hash_passphrase(passphrase: str) -> str:
    """Return the hash that is stored of a passphrase."""
    return HASHER.hash(passphrase)


@contextmanager
def reserve_check() -> Iterator[None]:
    """Reserve a slot for checking a passphrase, or refuse at once if all slots are taken."""
    if not _turns.acquire(blocking=False):
        raise NothingNow("Others log in just now. Please try again in a moment.", 2)
    try:
        yield
    finally:
        _turns.release()


@dataclass(frozen=True)
class PassphraseCheck:
    """Result of checking a passphrase, with a new hash if the old one is outdated."""

    right: bool
    rehashed: str | None = field(default=None, repr=False)


def verify_passphrase(stored: str | None, passphrase: str) -> PassphraseCheck:
    """Check a passphrase; without an account, take the same time, so that time reveals nothing."""
    if len(passphrase) > MAX_CHARACTERS:
        return PassphraseCheck(right=False)
    try:
        HASHER.verify(_make_decoy_hash() if stored is None else stored, passphrase)
    except (VerificationError, InvalidHashError):
        return PassphraseCheck(right=False)
    if stored is None:
        return PassphraseCheck(right=False)
    return PassphraseCheck(
        right=True,
        rehashed=hash_passphrase(passphrase) if HASHER.check_needs_rehash(stored) else None,
    )


@lru_cache(maxsize=1)
def _make_decoy_hash() -> str:
    return HASHER.hash(secrets.token_hex(32))


def make_phone_secret() -> str:
    """Return a secret of 160 random bits for an authenticator app."""
    return pyotp.random_base32()


def format_phone_address(secret: str, account: str, issuer: str = "theodolite") -> str:
    """Return the secret as an address that authenticator apps read from a QR code."""
    return pyotp.TOTP(secret, interval=STEP_SECONDS).provisioning_uri(account, issuer_name=issuer)


def check_code(secret: str, code: str, last_step: int | None, now: float) -> int | None:
    """Return the time step of a correct, unused phone code, to be stored as the last; or None.

    ``now`` in seconds since 1970, of the server. A code is good for its own 30 seconds and the
    step on either side, and only once: nothing up to ``last_step`` is taken again.
    """
    digits = code.replace(" ", "")
    if not re.fullmatch(r"[0-9]{6}", digits):
        return None
    expected, current = pyotp.TOTP(secret, interval=STEP_SECONDS), int(now // STEP_SECONDS)
    accepted = None
    for step in range(
        current - MAX_DRIFT_STEPS, current + MAX_DRIFT_STEPS + 1
    ):  # all of them: time tells nothing
        same = hmac.compare_digest(expected.generate_otp(step), digits)
        if same and (last_step is None or step > last_step):
            accepted = step
    return accepted


@dataclass(frozen=True)
class Enrollment:
    """Link that creates an account, valid once and for a day. Only its digest is stored."""

    token: str = field(repr=False)
    digest: bytes
    expires: datetime


def make_enrollment(now: datetime, lifetime: timedelta = ENROLLMENT) -> Enrollment:
    """Create an enrollment link from 256 random bits."""
    if now.tzinfo is None:
        raise EvidenceError("time", "one without a zone", "one with")
    token = secrets.token_urlsafe(32)
    return Enrollment(token, digest_token(token), now + lifetime)


def digest_token(token: str) -> bytes:
    """Return the digest that is stored of a token, which cannot be recovered from it."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
