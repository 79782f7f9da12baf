"""A kind of evidence in one file, with a metric that may decide a verdict."""

from dataclasses import dataclass

import numpy as np

from theodolite import ext


@dataclass(frozen=True)
class Words(ext.NamedAxis):
    """Positions in a text."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PassageEvidence(ext.Evidence):
    """How relevant a method calls each word, and the words that people marked."""

    kind = "passage"
    version = 1
    marker = "word_relevance"  # plain arrays with this name are of this kind
    ways = {"located": "relevant and marked words (`word_relevance`, `marked_words`)"}
    word_relevance: np.ndarray = ext.array("samples", "words")
    """Relevance of each word."""
    marked_words: np.ndarray = ext.array("samples", "words", content="flag")
    """Whether people marked it."""
    words: Words = Words()

    @classmethod
    def planted(cls, seed: int) -> "PassageEvidence":
        """Plant a perfect explanation: every marked word is more relevant than any other."""
        random = np.random.default_rng(seed)
        marked = random.random((60, 8)) < 0.3
        return cls(word_relevance=marked + 0.5 * random.random(marked.shape), marked_words=marked)


@ext.metric(
    "top_word_marked", question="located", better="higher", bounds=(0.0, 1.0),
    decides=True, threshold=0.8,
)  # fmt: skip
def top_word_marked(word_relevance, marked_words):
    """Share of texts whose most relevant word is marked."""
    hit = marked_words[np.arange(len(marked_words)), word_relevance.argmax(axis=1)]
    return np.where(marked_words.any(axis=1), hit, np.nan)  # undefined without a marked word
