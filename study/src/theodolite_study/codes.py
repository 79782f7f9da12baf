"""Create and normalize codes that people copy by hand, such as invitations and withdrawal codes."""

import hashlib
import secrets

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Alphabet of the codes. I, L, O and U are left out: they are read as 1, 0 and V."""
READ_AS = str.maketrans({"O": "0", "I": "1", "L": "1", "U": "V"})
GROUP = 4
LETTERS_OF_A_CODE = 28


def new_code() -> str:
    """Return a code of 140 random bits: 28 letters in groups of four.

    >>> len(new_code())
    34
    """
    letters = "".join(secrets.choice(LETTERS) for _ in range(LETTERS_OF_A_CODE))
    return grouped(letters)


def grouped(letters: str) -> str:
    """Split letters into groups of four.

    >>> grouped("7KQ2M9XD")
    '7KQ2-M9XD'
    """
    return "-".join(letters[i : i + GROUP] for i in range(0, len(letters), GROUP))


def normalized(code: str) -> str:
    """Normalize a typed code: ignore case and separators, and map look-alike letters.

    >>> normalized(" 7kq2–m9xo ")
    '7KQ2M9X0'
    """
    return "".join(letter for letter in code.upper() if letter.isalnum()).translate(READ_AS)


def code_digest(code: str) -> bytes:
    """Return the digest that is stored of a code, which cannot be recovered from it."""
    return hashlib.sha256(b"theodolite code 1\0" + normalized(code).encode()).digest()


def readable(digest: bytes, letters: int) -> str:
    """Encode the first bits of a digest in the alphabet of the codes, five bits per letter.

    >>> readable(bytes(4), 6)
    '000000'
    """
    if letters * 5 > len(digest) * 8:
        raise ValueError(f"{letters} letters need more than {len(digest)} bytes")
    number = int.from_bytes(digest, "big") >> (len(digest) * 8 - letters * 5)
    return "".join(LETTERS[(number >> (5 * i)) & 31] for i in reversed(range(letters)))
