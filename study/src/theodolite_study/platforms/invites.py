"""Invitations: each code lets one person in. Only digests are kept."""

from dataclasses import dataclass, field

from theodolite.errors import EvidenceError
from theodolite_study.codes import code_digest, new_code
from theodolite_study.platforms.identity import Identity

PLATFORM = "invite"
MOST = 100_000


@dataclass(frozen=True)
class Invitations:
    """New codes, to be sent to people and forgotten, and their digests, to be kept."""

    codes: tuple[str, ...] = field(repr=False)
    digests: tuple[bytes, ...]


def new_invitations(count: int) -> Invitations:
    """So many codes, all different."""
    if not 1 <= count <= MOST:
        raise EvidenceError("invitations", f"{count:,}", f"1 to {MOST:,}")
    codes = tuple(new_code() for _ in range(count))
    return Invitations(codes, tuple(code_digest(code) for code in codes))


def identity(digest: bytes) -> Identity:
    """The person of an invitation that was found by its digest."""
    return Identity(PLATFORM, digest.hex())
