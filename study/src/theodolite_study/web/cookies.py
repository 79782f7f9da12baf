"""See `serve/cookies.py`."""

from theodolite_study.serve.cookies import (
    BEFORE,
    LONGEST,
    SESSION,
    Cookies,
    before_digest,
    cookies_of,
    forget_session,
    keep_before,
    keep_session,
    new_before,
)

__all__ = [
    "BEFORE",
    "LONGEST",
    "SESSION",
    "Cookies",
    "before_digest",
    "cookies_of",
    "forget_session",
    "keep_before",
    "keep_session",
    "new_before",
]
