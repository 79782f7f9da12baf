"""Create invitation codes, each for one participant. Only their digests are stored."""

from dataclasses import dataclass, field

from theodolite.errors import EvidenceError
from theodolite_study.codes import code_digest, new_code
from theodolite_study.platforms.identity import Identity

PLATFORM = "invite"
MOST = 100_000


@dataclass(frozen=True)
class Invitations:
    """New codes to send to participants, and their digests to store."""

    codes: tuple[str, ...] = field(repr=False)
    digests: tuple[bytes, ...]


def new_invitations(count: int) -> Invitations:
    """Create a number of distinct codes."""
    if not 1 <= count <= MOST:
        raise EvidenceError("invitations", f"{count:,}", f"1 to {MOST:,}")
    codes = tuple(new_code() for _ in range(count))
    return Invitations(codes, tuple(code_digest(code) for code in codes))


def identity(digest: bytes) -> Identity:
    """Return the identity of the participant whose invitation has this digest."""
    return Identity(PLATFORM, digest.hex())
