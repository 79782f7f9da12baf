"""What can be counted in an explanation in words, before anybody reads it."""

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LITTLE = """
a an the of in on at to is are be was were and or that this it its as with for by from there they he
she his her their
"""
_NEGATIONS = """
not no never cannot can't isn't aren't doesn't don't didn't won't wasn't nor without neither nothing
"""
LITTLE = frozenset(_LITTLE.split())
"""Words that say little about what a sentence is about."""
NEGATIONS = frozenset(_NEGATIONS.split())
REASONS = frozenset(("because", "since", "so", "therefore", "thus", "if", "hence"))
DOUBTS = frozenset(
    ("may", "might", "could", "possibly", "necessarily", "maybe", "perhaps", "probably")
)
Counts = dict[str, float]


def word_features(
    texts: Sequence[str], contexts: Sequence[str], labels: Sequence[str]
) -> tuple[tuple[str, ...], Float[np.ndarray, "explanations features"]]:
    """Counts and shares for each explanation, with their names.

    Args:
        texts: The explanations.
        contexts: What each explains.
        labels: The answer that each explains; empty if there is none.
    """
    rows = [
        of_text(text) | of_both(text, context, label)
        for text, context, label in zip(texts, contexts, labels, strict=True)
    ]
    names = tuple(rows[0]) if rows else ()
    return names, np.array([list(row.values()) for row in rows], np.float64).reshape(
        len(rows), len(names)
    )


def length_features(
    texts: Sequence[str],
) -> tuple[tuple[str, ...], Float[np.ndarray, "explanations features"]]:
    """Return how long each explanation is: the least that a score must beat."""
    lengths = np.array([len(words(text)) for text in texts], np.float64)
    return ("words", "log of words"), np.stack([lengths, np.log1p(lengths)], axis=1)


def words(text: str) -> list[str]:
    """The words of a text, in small letters.

    >>> words("It isn't a dog's, is it?")
    ['it', "isn't", 'a', "dog's", 'is', 'it']
    """
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


def of_text(text: str) -> Counts:
    """What an explanation is like by itself."""
    tokens = words(text)
    n = len(tokens)
    some = max(n, 1)

    def any_of(listed: frozenset[str]) -> float:
        return float(not listed.isdisjoint(tokens))

    return {
        "words": float(n),
        "log of words": float(np.log1p(n)),
        "letters": float(len(text)),
        "letters a word": sum(map(len, tokens)) / some,
        "different words": len(set(tokens)) / some,
        "commas": float(text.count(",")),
        "other stops": float(sum(text.count(mark) for mark in ";:()")),
        "questions": float(text.count("?")),
        "digits": float(any(letter.isdigit() for letter in text)),
        "ends": float(text.rstrip()[-1:] in (".", "!", "?")),
        "begins large": float(text[:1].isupper()),
        "negations": float(sum(word in NEGATIONS for word in tokens)),
        "reasons": any_of(REASONS),
        "doubts": any_of(DOUBTS),
    }


def of_both(text: str, context: str, label: str) -> Counts:
    """What an explanation has in common with what it explains."""
    text_terms, context_terms = _telling(text), _telling(context)
    label_tokens, text_tokens = words(label), words(text)
    common = len(text_terms & context_terms)
    return {
        "taken from the context": common / max(len(text_terms), 1),
        "context taken up": common / max(len(context_terms), 1),
        "new words": float(len(text_terms) - common),
        "label named": float(
            bool(label_tokens) and f" {' '.join(label_tokens)} " in f" {' '.join(text_tokens)} "
        ),
        "label words named": len(set(label_tokens) & set(text_tokens))
        / max(len(set(label_tokens)), 1),
        "words of the context": float(len(words(context))),
    }


def _telling(text: str) -> set[str]:
    return set(words(text)) - LITTLE
