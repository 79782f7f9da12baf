"""Look up where latents are active in texts, and split the texts into a choosing and a test half.
Used to draw questions and to fit baseline judges."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from theodolite._stats.sampling import hash_integers, select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, compute_starts, require_ragged
from theodolite.language.judges.bag_of_words import BagOfWordsJudge
from theodolite.language.judges.keyword import KeywordJudge
from theodolite.language.texts.vocabulary import Vocabulary

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class LatentTexts:
    """Activations of evidence together with the bytes of its tokens.

    On one half of the sequences, cut by cluster, explanations and keywords are made; questions are
    of the other half.
    """

    evidence: TokenEvidence
    vocabulary: Vocabulary
    split_seed: int = 0

    def __post_init__(self) -> None:
        if self.evidence.latent is None or self.evidence.value is None:
            raise EvidenceError("evidence", "no codes", "`latent` and `value`")

    @cached_property
    def choosing(self) -> Bool[np.ndarray, " sequences"]:
        """Sequences from which explanations and keywords are made."""
        return select_half(self.evidence.samples, self.split_seed)

    @cached_property
    def starts(self) -> Int[np.ndarray, " sequences1"]:
        """First token of each sequence among all."""
        return np.asarray(require_ragged(self.evidence.tokens).starts)

    @cached_property
    def lengths(self) -> Int[np.ndarray, " sequences"]:
        """Number of tokens of each sequence."""
        return np.diff(self.starts)

    @cached_property
    def _by_latent(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Starts, sequences, tokens and values of all activations, ordered by latent."""
        latent, value = require_ragged(self.evidence.latent), require_ragged(self.evidence.value)
        token, row = latent.inner_row, latent.row
        order = np.argsort(latent.flat, kind="stable")
        starts = np.searchsorted(latent.flat[order], np.arange(len(self.evidence.latents) + 1))
        return starts, row[order], token[order], value.flat[order]

    def active(self, latent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sequences, tokens and values of one latent's activations."""
        starts, row, token, value = self._by_latent
        own = slice(starts[latent], starts[latent + 1])
        return row[own], token[own], value[own]

    def text(self, sequence: int) -> str:
        """Return the text of a sequence; invalid bytes are replaced."""
        return b"".join(self._bytes(sequence)).decode("utf-8", "replace")

    def _bytes(self, sequence: int) -> list[bytes]:
        return [self.vocabulary[int(token)] for token in self.evidence.tokens[sequence]]

    def spans(self, sequence: int, places: Sequence[int]) -> Spans:
        """Return the character ranges of some tokens of a sequence."""
        parts, text = self._bytes(sequence), self.text(sequence)
        spans = []
        for place in sorted(places):
            start = len(b"".join(parts[:place]).decode("utf-8", "ignore"))
            end = len(b"".join(parts[: place + 1]).decode("utf-8", "ignore"))
            start = min(start, max(len(text) - 1, 0))
            spans.append((start, min(max(end, start + 1), len(text))))
        return tuple(span for span in spans if span[0] < span[1])

    def latents_to_ask(self, n: int, *, fewest: int = 4, seed: int = 0) -> list[int]:
        """Draw ``n`` latents that are active in at least ``fewest`` sequences of each half and
        inactive in some of the test half.
        """
        fit = []
        for latent in range(len(self.evidence.latents)):
            rows = np.unique(self.active(latent)[0])
            half = int(self.choosing[rows].sum())
            others = len(rows) - half
            silent = int((~self.choosing).sum()) - others
            if min(half, others, silent) >= fewest:
                fit.append(latent)
        luck = hash_integers(np.array(fit, np.int64), seed)
        return sorted(int(fit[i]) for i in np.argsort(luck, kind="stable")[:n])

    @cached_property
    def frequency(self) -> np.ndarray:
        """Fraction of sequences in which each latent is active."""
        n = len(self.evidence.latents)
        rows = [len(np.unique(self.active(latent)[0])) for latent in range(n)]
        return np.array(rows) / max(len(self.lengths), 1)

    def keyword_judge(self, latents: Sequence[int]) -> KeywordJudge:
        """Return a keyword judge fitted on the choosing half."""
        numbers: list[int] = []
        words: list[str] = []
        values: list[float] = []
        ids = require_ragged(self.evidence.tokens).flat
        for latent in latents:
            row, token, value = self.active(latent)
            own = self.choosing[row]
            words += [self.vocabulary[int(ids[t])].decode("utf-8", "ignore") for t in token[own]]
            values += value[own].tolist()
            numbers += [latent] * int(own.sum())
        return KeywordJudge.fitted(numbers, words, values)

    def bag_of_words_judge(
        self, latents: Sequence[int], *, most: int = 40, seed: int = 0
    ) -> BagOfWordsJudge:
        """Return a bag-of-words judge fitted on the choosing half, with balanced classes."""
        numbers: list[int] = []
        texts: list[str] = []
        active: list[bool] = []
        rows = np.flatnonzero(self.choosing)
        for latent in latents:
            there = np.isin(rows, self.active(latent)[0])
            for is_active in (True, False):
                own = rows[there == is_active]
                own = own[np.argsort(hash_integers(own, seed + latent), kind="stable")[:most]]
                texts += [self.text(int(row)) for row in own]
                numbers += [latent] * len(own)
                active += [is_active] * len(own)
        return BagOfWordsJudge.fitted(numbers, texts, active)


def permute_codes(evidence: TokenEvidence, seed: int = 0) -> TokenEvidence:
    """Permute whole sequences' activations among sequences of equal length. Scores on the result
    reflect only length and firing rate.
    """
    latent, value = require_ragged(evidence.latent), require_ragged(evidence.value)
    starts, inner = latent.starts, np.asarray(latent.inner_starts)
    lengths = np.diff(starts)
    rows = np.arange(len(lengths))
    order = np.lexsort((hash_integers(rows, seed), lengths))
    source = rows.copy()
    for length in np.unique(lengths):
        own = order[lengths[order] == length]
        source[own] = np.roll(own, 1)
    tokens = np.repeat(starts[source], lengths) + _within(lengths)
    counts = np.diff(inner)[tokens]
    values = np.repeat(inner[tokens], counts) + _within(counts)
    dealt = compute_starts(counts)
    return replace_arrays(
        evidence,
        latent=Ragged(latent.flat[values], starts, dealt),
        value=Ragged(value.flat[values], starts, dealt),
    )


def _within(counts: np.ndarray) -> np.ndarray:
    """0, 1, ... in each of some runs."""
    return np.asarray(np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts))
