"""Who is asking: long random tokens in a cookie, of which only a digest is kept."""

import hashlib

PARTICIPANT_LONGEST = 14 * 24 * 3600
"""Seconds after which a participant's session ends."""


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).digest()
