"""Hash the session tokens of participants, of which only digests are stored."""

import hashlib

MAX_SESSION_SECONDS = 14 * 24 * 3600
"""Seconds after which a participant's session ends."""


def digest_session_token(token: str) -> bytes:
    """Return the digest that is stored of a session token."""
    return hashlib.sha256(token.encode()).digest()
