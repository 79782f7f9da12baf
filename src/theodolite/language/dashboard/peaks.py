"""Find the places in texts where latents are strongest, and a sample of all their active places.

One pass over the shards. Memory depends on the number of places shown, not on the texts, and
results do not depend on how texts are split into shards."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.sampling import hash_integers
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import compute_starts, require_ragged
from theodolite.evidence.shards import Shards

STRETCH = 128
"""Tokens of a text that count as one place; a long text may show a latent repeatedly."""
SAMPLED_PLACES = 100
"""Number of sampled places per latent, from which deciles are computed."""


@dataclass(frozen=True, eq=False)
class Peaks:
    """Strongest token of each latent in each stretch of text in which it is active."""

    latent: Int[np.ndarray, " peaks"]
    value: Float[np.ndarray, " peaks"]
    row: Int[np.ndarray, " peaks"]
    """Number of the sequence, counted over all shards."""
    at: Int[np.ndarray, " peaks"]
    """Position of the token in its sequence."""

    def __len__(self) -> int:
        return len(self.latent)

    def take(self, some: np.ndarray) -> "Peaks":
        """Return a selection of the peaks."""
        return Peaks(self.latent[some], self.value[some], self.row[some], self.at[some])


@dataclass(eq=False)
class Largest:
    """Places with the largest ranks of each latent so far.

    Ranks are numbers; of equal ones the place that comes first in the texts is larger.
    """

    latents: int
    most: int
    rank: np.ndarray = field(init=False)
    value: np.ndarray = field(init=False)
    row: np.ndarray = field(init=False)
    at: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.latents, self.most)
        self.rank = np.full(shape, -np.inf)
        self.value = np.zeros(shape, np.float32)
        self.row = np.full(shape, -1, np.int64)
        self.at = np.zeros(shape, np.int32)

    def add(self, peaks: Peaks, rank: np.ndarray) -> None:
        """Add more places, which must come later in the texts than those before."""
        near = rank > self.rank[peaks.latent, -1] if self.most else np.zeros(len(rank), bool)
        some, rank = peaks.take(near), rank[near]
        if not len(some):
            return
        touched = np.flatnonzero(np.bincount(some.latent, minlength=self.latents))
        old = self.rank[touched] > -np.inf
        latent = np.concatenate([np.repeat(touched, old.sum(axis=1)), some.latent])
        columns = [
            np.concatenate([mine[touched][old], new])
            for mine, new in zip(
                (self.rank, self.value, self.row, self.at),
                (rank, some.value, some.row, some.at),
                strict=True,
            )
        ]
        # what was there comes earlier in the texts, and the order of equals is left as it is
        order = np.lexsort((-columns[0], latent))
        latent, columns = latent[order], [column[order] for column in columns]
        place = np.arange(len(latent)) - np.searchsorted(latent, latent, side="left")
        first = place < self.most
        self.rank[touched] = -np.inf
        self.row[touched] = -1
        for mine, new in zip((self.rank, self.value, self.row, self.at), columns, strict=True):
            mine[latent[first], place[first]] = new[first]


@dataclass(frozen=True, eq=False)
class Activity:
    """Firing rates and strengths of each latent, and places that show it."""

    tokens: int
    """Number of tokens in all texts."""
    sequences: int
    active_tokens: Int[np.ndarray, " latents"]
    active_sequences: Int[np.ndarray, " latents"]
    largest: Float[np.ndarray, " latents"]
    """Largest absolute value; NaN for a latent that is never active."""
    strongest: Largest
    sampled: Largest

    @property
    def firing_rate(self) -> Float[np.ndarray, " latents"]:
        """Fraction of tokens at which each latent is active."""
        return np.asarray(self.active_tokens / max(self.tokens, 1))


def check_ids(evidence: TokenEvidence, words: int) -> None:
    """Raise if tokens exceed a vocabulary of ``words`` entries."""
    ids = require_ragged(evidence.tokens).flat
    if len(ids) and (int(ids.max()) >= words or int(ids.min()) < 0):
        raise EvidenceError(
            "vocabulary", f"{words:,} tokens", f"one for the id {int(ids.max())}",
            "It is of another tokenizer.",
        )  # fmt: skip


def find_peaks(shards: Shards, strongest: int, seed: int, words: int | None = None) -> Activity:
    """Find the peaks of every latent in one pass over the shards.

    Args:
        shards: Token evidence in pieces.
        strongest: How many of the strongest places of each latent are looked for.
        seed: Of the places that are drawn.
        words: How many the vocabulary has, if that is to be checked.
    """
    latents = len(shards.first().latents)  # type: ignore[attr-defined]
    top, sampled = Largest(latents, strongest), Largest(latents, SAMPLED_PLACES)
    active_tokens, active_sequences = np.zeros((2, latents), np.int64)
    largest = np.full(latents, np.nan)
    tokens = rows = 0
    for evidence in list_token_shards(shards):
        if words is not None:
            check_ids(evidence, words)
        codes = require_ragged(evidence.latent)
        active_tokens += np.bincount(codes.flat, minlength=latents)
        peaks = _peaks(evidence, rows)
        active_sequences += _sequences(peaks, latents)
        size = np.abs(peaks.value).astype(float)
        np.fmax.at(largest, peaks.latent, size)
        top.add(peaks, size)
        index = np.asarray(evidence.samples.index)[peaks.row - rows]
        places = (index * latents + peaks.latent) ^ (peaks.at.astype(np.int64) // STRETCH << 44)
        sampled.add(peaks, -(hash_integers(places, seed) >> np.uint64(11)).astype(float))
        tokens, rows = tokens + len(require_ragged(evidence.tokens).flat), rows + len(evidence)
    return Activity(tokens, rows, active_tokens, active_sequences, largest, top, sampled)


def _sequences(peaks: Peaks, latents: int) -> Int[np.ndarray, " latents"]:
    """Return how many texts each latent is active in, counting each long text once."""
    order = np.argsort(peaks.latent, kind="stable")  # rows rise within each latent
    latent, row = peaks.latent[order], peaks.row[order]
    new = np.ones(len(order), bool)
    new[1:] = (latent[1:] != latent[:-1]) | (row[1:] != row[:-1])
    return np.bincount(latent[new], minlength=latents)


def list_token_shards(shards: Shards) -> Iterator[TokenEvidence]:
    """Yield the shards, checked for the arrays that pages need."""
    for piece in shards.shards():
        evidence = piece.evidence()
        if not isinstance(evidence, TokenEvidence):
            raise EvidenceError("evidence", evidence.kind, "token evidence")
        if evidence.latent is None or evidence.value is None:
            do = "Give the values that are not 0, or above a threshold, as sparse codes."
            raise EvidenceError("evidence", "no `latent` and `value`", "sparse codes", do)
        yield evidence


def _peaks(evidence: TokenEvidence, rows_before: int) -> Peaks:
    latent, values = require_ragged(evidence.latent), require_ragged(evidence.value).flat
    token, row = latent.inner_row, latent.row
    at = token - latent.starts[row]
    stretches = compute_starts(-(-latent.lengths // STRETCH))
    place = stretches[row] + at // STRETCH
    order = np.argsort(latent.flat.astype(np.int64) * max(int(stretches[-1]), 1) + place,
                       kind="stable")  # fmt: skip
    size = np.abs(values[order].astype(np.float32))
    key_latent, key_place = latent.flat[order], place[order]
    new = np.ones(len(order), bool)
    new[1:] = (key_latent[1:] != key_latent[:-1]) | (key_place[1:] != key_place[:-1])
    starts = np.flatnonzero(new)
    if not len(starts):
        nothing = np.zeros(0, np.int64)
        return Peaks(nothing, np.zeros(0, np.float32), nothing, nothing)
    peak = np.maximum.reduceat(size, starts)
    group = np.cumsum(new) - 1
    hits = np.flatnonzero(size == peak[group])
    best = order[hits[np.searchsorted(group[hits], np.arange(len(starts)), side="left")]]
    # by the order of the texts, so that of equal values the first is taken
    best = best[np.argsort(token[best], kind="stable")]
    return Peaks(latent.flat[best].astype(np.int64), values[best].astype(np.float32),
                 row[best] + rows_before, at[best])  # fmt: skip
