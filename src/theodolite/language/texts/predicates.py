"""Compute predicates of tokens: exact tokens, words, shapes, positions, neighbors, patterns,
topics."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Predicates
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.texts.patterns import Span, find_pattern_spans
from theodolite.language.texts.vocabulary import Vocabulary

FAMILIES = ("token", "word", "shape", "place", "after", "before")
"""Families of predicates; the first ones need only the tokens."""
Tagger = Callable[[str], Iterable[Span]]
"""Function from a text to (first character, end, name), such as parts of speech."""
WORD = re.compile(rb"\S+")


@dataclass(eq=False)
class _Facts:
    """Names of predicates in order of appearance, and the tokens where they hold."""

    numbers: dict[str, int] = field(default_factory=dict)
    token: list[int] = field(default_factory=list)
    fact: list[int] = field(default_factory=list)

    def add(self, token: int, family: str, value: str) -> None:
        name = printable(f"{family} {value}", 300)
        self.token.append(token)
        self.fact.append(self.numbers.setdefault(name, len(self.numbers)))


def token_predicates(  # noqa: PLR0913  options are keywords
    tokens: Ragged,
    vocabulary: Vocabulary,
    *,
    families: Sequence[str] = FAMILIES,
    patterns: Mapping[str, str] | None = None,
    taggers: Mapping[str, Tagger] | None = None,
    topics: tuple[Sequence[str], np.ndarray] | None = None,
    least: int = 20,
    most_neighbors: int = 100,
    timeout: float = 30.0,
) -> tuple[Ragged, Predicates]:
    """Return the predicates of each token as ``TokenEvidence`` stores them, and their names.

    Args:
        tokens: Ids, a row a sequence.
        vocabulary: The bytes of each id.
        families: ``token`` (exact id), ``word`` (the word that it is part of, in small letters),
            ``shape``, ``place`` (first, last, position), ``after``, ``before`` (the neighbor).
        patterns: Regular expressions over the text by name; a token is covered where a match is.
        taggers: Functions from a text to spans, by the name of their family.
        topics: Names of concepts, and whether each is in the sequence: it holds at all its tokens.
        least: How often an exact id or a word must occur.
        most_neighbors: How many of the most frequent ids are told apart as neighbors.
        timeout: Seconds for all patterns; Python's expressions can take for ever.

    >>> words = Vocabulary.of(["The", " cat", " ran"])
    >>> holds, names = token_predicates(Ragged.from_rows([[0, 1]]), words, families=["shape"])
    >>> [names.names[i] for i in holds.flat]
    ['shape capitalized', 'shape starts a word', 'shape starts a word', 'shape lower']
    """
    unknown = sorted(set(families) - set(FAMILIES))
    if unknown:
        raise EvidenceError("families", repr(unknown[0]), f"some of {FAMILIES}")
    facts = _Facts()
    counts = Counter(tokens.flat.tolist())
    _add_tokens(facts, tokens, vocabulary, set(families), (counts, least, most_neighbors))
    if "word" in families:
        _add_words(facts, tokens, vocabulary, least)
    _add_spans(facts, tokens, vocabulary, (patterns or {}, taggers or {}, timeout))
    if topics is not None:
        for name, there in zip(topics[0], np.asarray(topics[1], bool).T, strict=True):
            for token in np.flatnonzero(there[tokens.row]).tolist():
                facts.add(token, "topic", name)
    return _holds(facts, tokens)


def _add_tokens(
    facts: _Facts,
    tokens: Ragged,
    vocabulary: Vocabulary,
    families: set[str],
    limits: tuple[Counter[int], int, int],
) -> None:
    counts, least, most_neighbors = limits
    near = {token for token, _ in counts.most_common(most_neighbors)}
    names = _distinct_names(vocabulary, counts)
    for row in range(len(tokens)):
        ids, first = tokens[row].tolist(), int(tokens.starts[row])
        neighbors = zip([None, *ids], [*ids[1:], None], strict=False)
        for at, (token, (left, right)) in enumerate(zip(ids, neighbors, strict=False)):
            values = {
                "token": [names[token]] if counts[token] >= least else [],
                "shape": _shapes(vocabulary[token], at),
                "place": _places(at, len(ids)),
                "after": [names[left]] if left in near else [],
                "before": [names[right]] if right in near else [],
            }
            for family in families & set(values):
                for value in values[family]:
                    facts.add(first + at, family, value)


def _distinct_names(vocabulary: Vocabulary, ids: Iterable[int]) -> dict[int | None, str]:
    """Return tokens as text; those that look the same get their ids."""
    names: dict[int | None, str] = {token: vocabulary.shown(token) for token in ids}
    often = Counter(names.values())
    return {t: name if often[name] == 1 else f"{name} #{t}" for t, name in names.items()}


def _shapes(content: bytes, at: int) -> list[str]:
    text = content.decode(errors="replace")
    bare = text.strip()
    letters = [c for c in bare if c.isalpha()]
    tests = {
        "capitalized": bare[:1].isupper() and not (len(letters) > 1 and bare.isupper()),
        "all capitals": len(letters) > 1 and bare.isupper(),
        "lower": bool(letters) and bare.islower(),
        "digit": bare.isdigit(),
        "punctuation": bool(bare) and not any(c.isalnum() for c in bare),
        "non-ASCII": not text.isascii(),
        "starts a word": bool(bare) and (text[:1].isspace() or not at),
    }
    return [name for name, there in tests.items() if there]


def _places(at: int, n: int) -> list[str]:
    places = ["first"] if at == 0 else []
    if at == n - 1:
        places.append("last")
    if at:  # 2 to 4, 5 to 8, 9 to 16, and so on, counted from 1
        high = max(4, 1 << at.bit_length())
        low = 2 if high == 4 else high // 2 + 1
        places.append(f"{low}-{high}")
    return places


def _token_ends(ids: Sequence[int], vocabulary: Vocabulary) -> tuple[bytes, np.ndarray]:
    parts = [vocabulary[token] for token in ids]
    return b"".join(parts), np.cumsum([len(part) for part in parts], dtype=np.int64)


def _add_words(facts: _Facts, tokens: Ragged, vocabulary: Vocabulary, least: int) -> None:
    """Add the word, between white space, that each token is part of."""
    places: list[tuple[int, str]] = []
    for row in range(len(tokens)):
        content, ends = _token_ends(tokens[row].tolist(), vocabulary)
        for match in WORD.finditer(content):
            word = match.group().decode(errors="replace").lower()
            places += [(int(tokens.starts[row]) + at, word) for at in _covered(ends, *match.span())]
    counts = Counter(word for _, word in places)
    for token, word in places:
        if counts[word] >= least:
            facts.add(token, "word", word)


def _covered(ends: np.ndarray, first: int, last: int) -> range:
    """Return the tokens that a range of bytes overlaps."""
    return range(
        int(np.searchsorted(ends, first, side="right")),
        int(np.searchsorted(ends, last, side="left")) + 1,
    )


def _add_spans(
    facts: _Facts,
    tokens: Ragged,
    vocabulary: Vocabulary,
    how: tuple[Mapping[str, str], Mapping[str, Tagger], float],
) -> None:
    patterns, taggers, timeout = how
    if not patterns and not taggers:
        return
    rows = [_token_ends(tokens[row].tolist(), vocabulary) for row in range(len(tokens))]
    texts = [content.decode(errors="surrogateescape") for content, _ in rows]
    by_family: dict[str, list[list[Span]]] = {
        family: [list(tagger(text)) for text in texts] for family, tagger in taggers.items()
    }
    if patterns:
        by_family["pattern"] = find_pattern_spans(texts, patterns, timeout)
    for row, ((_, ends), text) in enumerate(zip(rows, texts, strict=True)):
        sizes = [len(c.encode(errors="surrogateescape")) for c in text]
        bytes_before = compute_starts(sizes)
        for family, spans in by_family.items():
            for first, last, name in spans[row]:
                begin, end = int(bytes_before[first]), int(bytes_before[last])
                for at in _covered(ends, begin, end):
                    facts.add(int(tokens.starts[row]) + at, family, name)


def _holds(facts: _Facts, tokens: Ragged) -> tuple[Ragged, Predicates]:
    """Return all facts without duplicates, rising within each token."""
    n = len(facts.numbers)
    keys = np.unique(np.array(facts.token, np.int64) * max(n, 1) + np.array(facts.fact, np.int64))
    counts = np.bincount(keys // max(n, 1), minlength=len(tokens.flat))
    flat = (keys % max(n, 1)).astype(np.int32)
    return Ragged(flat, tokens.starts, compute_starts(counts)), Predicates(tuple(facts.numbers))
