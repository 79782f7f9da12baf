"""Create and normalize codes that people copy by hand, such as invitations and withdrawal codes."""

import hashlib
import secrets

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Alphabet of the codes. I, L, O and U are left out: they are read as 1, 0 and V."""
LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1", "U": "V"})
GROUP_LETTERS = 4
CODE_LETTERS = 28


def make_code() -> str:
    """Return a code of 140 random bits: 28 letters in groups of four.

    >>> len(make_code())
    34
    """
    letters = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
    return group_letters(letters)


def group_letters(letters: str) -> str:
    """Split letters into groups of four.

    >>> group_letters("7KQ2M9XD")
    '7KQ2-M9XD'
    """
    return "-".join(letters[i : i + GROUP_LETTERS] for i in range(0, len(letters), GROUP_LETTERS))


def normalize_code(code: str) -> str:
    """Normalize a typed code: ignore case and separators, and map look-alike letters.

    >>> normalize_code(" 7kq2–m9xo ")
    '7KQ2M9X0'
    """
    return "".join(letter for letter in code.upper() if letter.isalnum()).translate(LOOKALIKES)


def digest_code(code: str) -> bytes:
    """Return the digest that is stored of a code, which cannot be recovered from it."""
    return hashlib.sha256(b"theodolite code 1\0" + normalize_code(code).encode()).digest()


def encode_digest(digest: bytes, letters: int) -> str:
    """Encode the first bits of a digest in the alphabet of the codes, five bits per letter.

    >>> encode_digest(bytes(4), 6)
    '000000'
    """
    if letters * 5 > len(digest) * 8:
        raise ValueError(f"{letters} letters need more than {len(digest)} bytes")
    number = int.from_bytes(digest, "big") >> (len(digest) * 8 - letters * 5)
    return "".join(LETTERS[(number >> (5 * i)) & 31] for i in reversed(range(letters)))
