"""Create invitation codes, each for one participant. Only their digests are stored."""

from dataclasses import dataclass, field

from theodolite.errors import EvidenceError
from theodolite_study.platforms.participant_identity import ParticipantIdentity
from theodolite_study.readable_codes import digest_code, make_code

PLATFORM = "invite"
MAX_INVITATIONS = 100_000


@dataclass(frozen=True)
class Invitations:
    """New codes to send to participants, and their digests to store."""

    codes: tuple[str, ...] = field(repr=False)
    digests: tuple[bytes, ...]


def make_invitations(count: int) -> Invitations:
    """Create a number of distinct codes."""
    if not 1 <= count <= MAX_INVITATIONS:
        raise EvidenceError("invitations", f"{count:,}", f"1 to {MAX_INVITATIONS:,}")
    codes = tuple(make_code() for _ in range(count))
    return Invitations(codes, tuple(digest_code(code) for code in codes))


def make_identity(digest: bytes) -> ParticipantIdentity:
    """Return the identity of the participant whose invitation has this digest."""
    return ParticipantIdentity(PLATFORM, digest.hex())
