"""Identify participants from Prolific, and return them to it.

With «Secured external URL» the link carries a token that Prolific signed. Without, the ids in the
address are unverified.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import jwt

from theodolite.errors import UnsafeInputError
from theodolite_study.platforms.participant_identity import ID_PATTERN, ParticipantIdentity, read_id
from theodolite_study.platforms.prolific_keys import NAME_PATTERN, SigningKeys

if TYPE_CHECKING:
    from jwt.types import Options

PLATFORM = "prolific"
TOKEN = "prolific_token"  # noqa: S105  # the name of the part, not what is in it
PERSON, STUDY, SESSION = "PROLIFIC_PID", "STUDY_ID", "SESSION_ID"
ISSUER = "https://www.prolific.com"
ALGORITHM = "RS256"
MAX_TOKEN_CHARACTERS = 8192
MAX_CLOCK_SKEW_SECONDS = 60
"""Maximum seconds by which Prolific's clock may be ahead of ours."""
EXIT = "https://app.prolific.com/submissions/complete"
REOPEN_HINT = "Open the study again from Prolific's page."
UNCHECKED_OPTIONS: "Options" = {
    "verify_exp": False, "verify_nbf": False, "verify_iat": False,
    "verify_aud": False, "verify_iss": False, "verify_sub": False, "verify_jti": False,
}  # fmt: skip
"""Options that disable the checks of the library; they are done here with the caller's clock."""


@dataclass(frozen=True)
class ExpectedAudience:
    """Study that a token must be issued for."""

    address: str
    """Address of the study: https://study.example.org/s/horns."""
    study_id: str | None = None
    """Id of the study at Prolific. Without it, any study there may send people here."""


@dataclass(frozen=True)
class SignedArrival:
    """Participant whom Prolific vouches for, and the digest of the token."""

    identity: ParticipantIdentity
    token_digest: bytes
    """Digest of the token; a second arrival with it must have the same session."""
    expires: datetime
    """Time after which the digest may be forgotten."""


def verify_arrival(
    token: str, expected: ExpectedAudience, keys: SigningKeys, now: float
) -> SignedArrival:
    """Verify a token and identify its participant. ``now`` in seconds since 1970."""
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise _make_refusal("a token that is too long")
    name = _read_key_name(token)
    key = keys.find(name, now)
    if key is None:
        raise _make_refusal("a signature by a key that Prolific does not publish")
    try:
        claims = jwt.decode(token, key, algorithms=[ALGORITHM], options=UNCHECKED_OPTIONS)
    except jwt.PyJWTError as error:
        raise _make_refusal("a signature that is not Prolific's") from error
    expires = _check_time(claims, now)
    if claims.get("iss", ISSUER) != ISSUER:
        raise _make_refusal("a token that somebody else made")
    if not _is_meant_for(claims.get("aud"), expected.address):
        raise _make_refusal("a token for another address")
    return SignedArrival(
        _read_identity(claims, expected),
        hashlib.sha256(token.encode()).digest(),
        datetime.fromtimestamp(expires, timezone.utc),
    )


def _read_key_name(token: str) -> str:
    """Return the name of the key; only it and the algorithm are read from the header."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise _make_refusal("something that is no token") from error
    name = header.get("kid")
    if header.get("alg") != ALGORITHM or "crit" in header:
        raise _make_refusal("a token that is not signed by RS256")
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        raise _make_refusal("a token that does not name its key")
    return name


def _check_time(claims: Mapping[str, Any], now: float) -> float:
    for name in ("nbf", "iat"):
        start = _to_timestamp(claims.get(name, 0))
        if start is None or start > now + MAX_CLOCK_SKEW_SECONDS:
            raise _make_refusal("a token that is not valid yet")
    expires = _to_timestamp(claims.get("exp"))
    if expires is None:
        raise _make_refusal("a token without an end")
    if expires <= now:
        raise _make_refusal("a token that is no longer valid")
    return expires


def _to_timestamp(value: Any) -> float | None:
    """Return a time that a calendar has; other values are not compared with clocks."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value < 1e11 else None


def _is_meant_for(audience: Any, address: str) -> bool:
    """Return whether a token is for our address: by its host alone, or by host and path."""
    ours = urlsplit(address)
    for recipient in audience if isinstance(audience, list) else [audience]:
        if not isinstance(recipient, str):
            continue
        try:
            theirs = urlsplit(recipient if "//" in recipient else f"{ours.scheme}://{recipient}")
            same = (theirs.scheme, theirs.hostname, theirs.port) == (
                ours.scheme, ours.hostname, ours.port,
            )  # fmt: skip
        except ValueError:
            continue
        path = theirs.path.rstrip("/")
        if same and theirs.username is None and path in ("", ours.path.rstrip("/")):
            return True
    return False


def _read_identity(claims: Mapping[str, Any], expected: ExpectedAudience) -> ParticipantIdentity:
    inside = claims.get("prolific")
    inside = inside if isinstance(inside, dict) else {}
    ids = [inside.get(name) for name in (PERSON, STUDY, SESSION)]
    person, study, session = (value if isinstance(value, str) else "" for value in ids)
    if not all(ID_PATTERN.fullmatch(value) for value in (person, study, session)):
        raise _make_refusal(
            "a token without the ids", hint=f"The link needs {PERSON}, {STUDY} and {SESSION}."
        )
    if expected.study_id is not None and study != expected.study_id:
        raise _make_refusal("a token for another study")
    if claims.get("sub", session) != session:
        raise _make_refusal("a token for another visit")
    return ParticipantIdentity(PLATFORM, person, study_id=study, session_id=session, signed=True)


def _make_refusal(problem: str, hint: str = REOPEN_HINT) -> UnsafeInputError:
    return UnsafeInputError("the link from Prolific", problem, "the link as Prolific made it", hint)


def read_unsigned_arrival(parameters: Mapping[str, str]) -> ParticipantIdentity:
    """Return the unverified identity in an address."""
    person, study, session = (
        read_id(parameters, name, "Prolific") for name in (PERSON, STUDY, SESSION)
    )
    return ParticipantIdentity(PLATFORM, person, study_id=study, session_id=session)


def get_completion_url(code: str) -> str:
    """Return the address where participants enter their code. The host is fixed."""
    if not ID_PATTERN.fullmatch(code):
        raise UnsafeInputError("completion code", "other letters", "letters and digits")
    return f"{EXIT}?{urlencode({'cc': code})}"
