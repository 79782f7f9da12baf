"""Read the bytes of each token from a ``tokenizer.json`` of the library tokenizers."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theodolite._storage.text import read_json
from theodolite.errors import UnsafeInputError
from theodolite.language.texts.vocabulary import Vocabulary

FILE = "tokenizer.json"
MAX_TOKENS = 1 << 24
BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
SPACE = "▁"


def read_vocabulary(path: Path | str) -> Vocabulary:
    """Read the vocabulary from a tokenizer file or its folder.

    Byte-level tokens, pieces with a sign for the space before a word, bytes written as ``<0x0A>``
    and words with ``##`` where they go on are understood; no code of the folder is run.
    """
    place = Path(path)
    file = place / FILE if place.is_dir() else place
    tokenizer = read_json(file, "tokenizer")
    try:
        return build_vocabulary(tokenizer)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        got = f"no such vocabulary: {type(error).__name__}"
        raise UnsafeInputError(f"tokenizer {file.name!r}", got, "a file of tokenizers") from error


def build_vocabulary(tokenizer: Mapping[str, Any]) -> Vocabulary:
    """Build the vocabulary from the parsed file.

    >>> words = {"model": {"type": "WordLevel", "vocab": {"the": 0, "cat": 1}}}
    >>> build_vocabulary(words)[1]
    b' cat'
    """
    model = tokenizer["model"]
    pieces = model["vocab"]
    ids = (
        {str(text): int(number) for text, number in pieces.items()}
        if isinstance(pieces, Mapping)
        else {str(piece[0]): number for number, piece in enumerate(pieces)}
    )
    added = {int(own["id"]): str(own["content"]) for own in tokenizer.get("added_tokens") or ()}
    largest = max([*ids.values(), *added], default=-1)
    if min([*ids.values(), *added], default=0) < 0 or largest >= MAX_TOKENS:
        raise UnsafeInputError("tokenizer", f"the id {largest:,}", f"0 to {MAX_TOKENS - 1:,}")
    tokens = [b""] * (largest + 1)
    bytes_of = _reader(tokenizer, str(model.get("type", "BPE")))
    for text, number in ids.items():
        tokens[number] = bytes_of(text)
    for number, text in added.items():
        tokens[number] = text.encode(errors="replace")
    return Vocabulary.of(tokens)


def _reader(tokenizer: Mapping[str, Any], kind: str) -> Any:
    ways = json.dumps([tokenizer.get("pre_tokenizer"), tokenizer.get("decoder")])
    if '"ByteLevel"' in ways:
        alphabet = build_byte_alphabet()
        return lambda text: b"".join(
            alphabet.get(letter, letter.encode(errors="replace")) for letter in text
        )
    if kind == "WordPiece":
        mark = str(tokenizer["model"].get("continuing_subword_prefix") or "##")
        return lambda text: (
            text.removeprefix(mark) if text.startswith(mark) else f" {text}"
        ).encode(errors="replace")
    if kind == "WordLevel":
        return lambda text: f" {text}".encode(errors="replace")
    return _piece


def _piece(text: str) -> bytes:
    byte = BYTE.fullmatch(text)
    if byte:
        return bytes([int(byte.group(1), 16)])
    return text.replace(SPACE, " ").encode(errors="replace")


def build_byte_alphabet() -> dict[str, bytes]:
    """Return the characters that byte-level tokenizers use for bytes: printable ones stand for
    themselves, others count from 256.
    """
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): bytes([byte]) for byte in plain}
    return letters | {chr(256 + n): bytes([byte]) for n, byte in enumerate(others)}
