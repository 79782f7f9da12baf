"""Adapt token evidence to dissection: latents as units, tokens as positions, halves and nulls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.sampling import hash_integers, select_half
from theodolite.dissection.formula import Formula
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts, require_ragged
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.evidence.store import stored
from theodolite.language.sae.activation_shard import SparseActivationShard

LIMIT_VALUES = 1 << 26
"""Largest number of values that thresholds of dense latents are computed from."""


@dataclass(frozen=True, eq=False)
class TokenShard:
    """Sequences with the latents active at each token and the predicates that hold."""

    samples: Samples
    active: Ragged
    holds: Ragged

    def half(self, seed: int, *, first: bool) -> "TokenShard":
        """Return the choosing half or the test half, without empty sequences."""
        rows = np.flatnonzero(
            (select_half(self.samples, seed) == first) & (self.active.lengths > 0)
        )
        return TokenShard(self.samples[rows], self.active[rows], self.holds[rows])

    def of(self, latents: Integer[np.ndarray, " chosen"], n_latents: int) -> "TokenShard":
        """Return some latents, renumbered from 0."""
        slot = np.full(n_latents, -1, np.int64)
        slot[latents] = np.arange(len(latents))
        number = slot[self.active.flat]
        stays = number >= 0
        before = np.concatenate([[0], np.cumsum(stays)])
        inner = before[np.asarray(self.active.inner_starts)]
        active = Ragged(number[stays], self.active.starts, inner)
        return TokenShard(self.samples, active, self.holds)

    def dealt_out(self, seed: int) -> "TokenShard":
        """Return each sequence with activations of another one of similar length."""
        other = match_other_sequences(self.samples, self.active.lengths, seed)
        return TokenShard(self.samples, move_entries(self.active, other), self.holds)

    def codes(self) -> SparseActivationShard | None:
        """Return the activations as a shard for dissection; None without tokens."""
        if not len(self.samples):
            return None
        labels = np.asarray(self.holds.inner_starts), self.holds.flat
        return SparseActivationShard.from_csr(
            self.active.inner_starts, self.active.flat, documents=self.active.lengths,
            labels=labels,
        )  # fmt: skip

    def counts(self, formulas: Sequence[Formula | None]) -> Integer[np.ndarray, "3 samples chosen"]:
        """Count tokens of each latent, its formula and both, by sequence.

        A latent without a formula has none of the three: nothing is stated, so nothing is scored.
        """
        n = len(self.samples)
        row = np.repeat(np.arange(n), self.active.lengths)
        active, holding = _by_number(self.active), _by_number(self.holds)

        @lru_cache(16)  # latents often have the same formula
        def meant(formula: Formula) -> tuple[np.ndarray, np.ndarray]:
            mask = formula.holds(lambda c: _mask(holding(c), len(row)))
            return mask, np.bincount(row[mask], minlength=n)

        counts = np.zeros((3, n, len(formulas)), np.int64)
        for number, formula in enumerate(formulas):
            if formula is None:
                continue
            own, (mask, by_row) = active(number), meant(formula)
            counts[0, :, number] = np.bincount(row[own], minlength=n)
            counts[1, :, number] = by_row
            counts[2, :, number] = np.bincount(row[own[mask[own]]], minlength=n)
        return counts


def _mask(positions: np.ndarray, n: int) -> np.ndarray:
    mask = np.zeros(n, bool)
    mask[positions] = True
    return mask


def _by_number(values: Ragged) -> Any:
    order = np.argsort(values.flat, kind="stable")
    numbers, tokens = values.flat[order], values.inner_row[order]

    def tokens_of(number: int) -> np.ndarray:
        first, last = np.searchsorted(numbers, [number, number + 1])
        return tokens[first:last]

    return tokens_of


def match_other_sequences(
    samples: Samples, lengths: Integer[np.ndarray, " samples"], seed: int
) -> Integer[np.ndarray, " samples"]:
    """Match each sequence with another one of similar length (same octave), each used once, from
    another cluster where possible.

    >>> match_other_sequences(Samples.numbered(4), np.array([4, 9, 5, 15]), 0).tolist()
    [2, 3, 0, 1]
    """
    index = np.asarray(samples.index)
    clusters = index if samples.clusters is None else np.asarray(samples.clusters)
    octave = np.log2(np.maximum(lengths, 1)).astype(np.int64)
    order = np.lexsort((hash_integers(index, seed), hash_integers(clusters, seed), octave))
    groups: list[np.ndarray] = []
    for rows in (
        [] if not len(order) else np.split(order, np.flatnonzero(np.diff(octave[order])) + 1)
    ):
        if groups and min(len(groups[-1]), len(rows)) == 1:
            groups[-1] = np.concatenate([groups[-1], rows])
        else:
            groups.append(rows)
    other = np.empty(len(order), np.int64)
    for rows in groups:
        _, largest = np.unique(clusters[rows], return_counts=True)
        shift = min(int(largest.max()), max(len(rows) // 2, 1))
        other[rows] = np.roll(rows, -shift)
    return other


def move_entries(active: Ragged, source: Integer[np.ndarray, " samples"]) -> Ragged:
    """Return each row with the entries of another row, cut to its own length.

    >>> codes = Ragged.from_rows([[[0], [1]], [[2], [3], [4]]], depth=2)
    >>> swapped = move_entries(codes, np.array([1, 0]))
    >>> swapped.flat, swapped.inner_starts
    (array([2, 3, 0, 1]), array([0, 1, 2, 3, 4, 4]))
    """
    inner, lengths = np.asarray(active.inner_starts), active.lengths
    within = np.arange(active.starts[-1]) - np.repeat(active.starts[:-1], lengths)
    there = within < np.repeat(lengths[source], lengths)
    token = np.where(there, np.repeat(active.starts[source], lengths) + within, 0)
    sizes = np.where(there, np.diff(inner)[token], 0) if len(token) else token
    starts = compute_starts(sizes)
    place = np.arange(starts[-1]) + np.repeat(inner[token] - starts[:-1], sizes)
    return Ragged(active.flat[place], active.starts, starts)


TokenSource = TokenEvidence | Shards | Path | str
"""Evidence in memory, in shards, or the address of a store."""


def _shards(evidence: Any) -> Any:
    if isinstance(evidence, str | Path):
        return stored(evidence)
    return InMemoryShards(evidence) if isinstance(evidence, Evidence) else evidence


class LatentTokens:
    """SAE activations shard by shard, with the predicates of the tokens."""

    def __init__(
        self, evidence: TokenSource, *, active_share: float | None = None, seed: int = 0
    ) -> None:
        """Treat sparse latents as active above 0, dense ones at ``active_share`` of tokens."""
        self.shards = _shards(evidence)
        first = self.shards.first()
        if not isinstance(first, TokenEvidence):
            raise EvidenceError("evidence", type(first).__name__, "TokenEvidence")
        if first.dense is None and first.value is None:
            raise EvidenceError("latent", "none", "`latent` and `value`, or `dense`")
        self.latents, self.predicates = first.latents, first.predicates
        self.limits: np.ndarray | None = None
        if first.dense is not None:
            if active_share is None or not 0 < active_share < 1:
                raise EvidenceError(
                    "active_share", f"{active_share}", "a share of tokens between 0 and 1",
                    "Take that of the dictionary that neurons are compared with: K / width.",
                )  # fmt: skip
            self.limits = self._limits(active_share, seed)

    def token_shards(self, holds: "LatentTokens | None" = None) -> Iterator[TokenShard]:
        """Yield all shards, optionally with predicates from other evidence of the same tokens."""
        others = self.shards.shards() if holds is None else holds.shards.shards()
        own = self.shards.shards()
        if len(others) != len(own):
            raise EvidenceError("random", f"{len(own)} pieces", f"{len(others)}, as in `evidence`")
        for mine, other in zip(own, others, strict=True):
            piece = cast(TokenEvidence, mine.evidence())
            whole = piece if holds is None else cast(TokenEvidence, other.evidence())
            if whole.holds is None:
                raise EvidenceError("holds", "none", "predicates of tokens", "token_predicates")
            same = np.array_equal(np.asarray(whole.samples.index), np.asarray(piece.samples.index))
            if not same or not np.array_equal(whole.tokens.starts, piece.tokens.starts):
                raise EvidenceError("random", "other sequences", "those of `evidence`, in order")
            yield TokenShard(piece.samples, self._active(piece), whole.holds)

    def _active(self, piece: TokenEvidence) -> Ragged:
        if self.limits is not None:
            values = require_ragged(piece.dense)
            token, number = np.nonzero(values.flat > self.limits)
            starts = np.searchsorted(token, np.arange(len(values.flat) + 1))
            return Ragged(number, values.starts, starts)
        latent, values = require_ragged(piece.latent), require_ragged(piece.value)
        if not piece.is_signed:
            return latent
        positive = values.flat > 0
        before = np.concatenate([[0], np.cumsum(positive)])
        return Ragged(latent.flat[positive], latent.starts, before[np.asarray(latent.inner_starts)])

    def _limits(self, share: float, seed: int) -> Float[np.ndarray, " latents"]:
        """Return the value that each latent exceeds at this fraction of choosing-half tokens; long
        data are subsampled.
        """
        pieces = self.shards.shards()
        most = max(LIMIT_VALUES // (len(self.latents) * len(pieces)), 1)
        parts = []
        for each in pieces:
            piece = cast(TokenEvidence, each.evidence())
            part = require_ragged(piece.dense)[
                np.flatnonzero(select_half(piece.samples, seed))
            ].flat
            parts.append(part[:: max(-(-len(part) // most), 1)])
        values = np.concatenate(parts).astype(float)
        if not len(values):
            raise EvidenceError("dense", "no token to take thresholds from", "more sequences")
        rank = min(max(round((1 - share) * len(values)), 1), len(values)) - 1
        return np.asarray(np.partition(values, rank, axis=0)[rank])

    def firing(self, seed: int) -> Integer[np.ndarray, " latents"]:
        """Return how often each latent is active in the choosing half."""
        counts = np.zeros(len(self.latents), np.int64)
        for each in self.shards.shards():
            piece = cast(TokenEvidence, each.evidence())
            rows = np.flatnonzero(select_half(piece.samples, seed))
            counts += np.bincount(self._active(piece)[rows].flat, minlength=len(counts))
        return counts


def draw_latents(
    firing: Integer[np.ndarray, " latents"], most: int | None, seed: int
) -> Integer[np.ndarray, " chosen"]:
    """Draw active latents, stratified by firing rate from rare to frequent.

    >>> draw_latents(np.array([0, 5, 90, 4, 80]), 2, seed=0).tolist()
    [1, 4]
    """
    alive = np.flatnonzero(firing)
    if most is None or len(alive) <= most:
        return alive
    luck = hash_integers(alive, seed)
    order = alive[np.lexsort((luck, firing[alive]))]
    groups = np.array_split(order, most)
    return np.sort([group[np.argmin(hash_integers(group, seed))] for group in groups])
