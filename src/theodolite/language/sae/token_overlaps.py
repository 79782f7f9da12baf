"""Describe each latent by the best single token predicate: chosen on one half, scored on the other.

Nulls go through the same search: random directions, and activations moved to other texts."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from theodolite._stats.sampling import hash_clusters, hash_integers
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, require_ragged
from theodolite.evidence.shards import Shards

FAMILY = "token "
"""Prefix of predicates that hold of one token only."""
MAX_COUNTS = 1 << 26
"""Largest number of latent-predicate counts in memory; more latents need more passes."""
MAX_RATE_RATIO = 1.25
"""Largest ratio of firing rates of latents that count as similar."""
MAX_PARTNERS = 20
"""Number of latents with similar rate whose predicates are tried on a latent."""


@dataclass(frozen=True, eq=False)
class TokenOverlaps:
    """Best predicate of each latent and its overlap (intersection over union of tokens)."""

    predicate: Int[np.ndarray, " latents"]
    """Best predicate in the choosing half; -1 if none occurs."""
    chosen: Float[np.ndarray, " latents"]
    """Overlap in the choosing half, which is biased upwards."""
    overlap: Float[np.ndarray, " latents"]
    """Overlap in the test half; NaN if the latent is inactive there."""
    token_overlap: Float[np.ndarray, " latents"]
    """Test-half overlap of the best single-token predicate."""
    others: Float[np.ndarray, "latents partners"]
    """Test-half overlaps of predicates of latents with similar rate; NaN if there are fewer."""
    rate: Float[np.ndarray, " latents"]
    """Fraction of all tokens at which the latent is active."""


@dataclass(frozen=True, eq=False)
class _Counts:
    """Tokens of latents, of predicates and of both in one half of the texts."""

    active: Int[np.ndarray, " latents"]
    holds: Int[np.ndarray, " predicates"]
    shared: Int[np.ndarray, "latents predicates"]
    tokens: int

    def overlaps(self) -> Float[np.ndarray, "latents predicates"]:
        either = self.active[:, None] + self.holds - self.shared
        return np.asarray(
            np.divide(self.shared, either, out=np.zeros(either.shape), where=either > 0)
        )


def compute_token_overlaps(
    shards: Shards, *, seed: int = 0, dealt_out: bool = False
) -> TokenOverlaps:
    """Choose and score a predicate for each latent.

    Args:
        shards: Token evidence with codes and ``holds``, in pieces.
        seed: Of the halves, which are cut by document.
        dealt_out: Whether what holds of tokens is moved on to other texts of like length: what
            the same search comes to where there is nothing to find.
    """
    first = shards.first()
    if not isinstance(first, TokenEvidence) or first.latent is None or first.holds is None:
        raise EvidenceError("evidence", "no sparse codes with `holds`", "token evidence with both")
    latents, predicates = len(first.latents), len(first.predicates)
    if not predicates:
        raise EvidenceError("predicates", "none", "one or more")
    is_token = np.array([name.startswith(FAMILY) for name in first.predicates.names])
    step = max(MAX_COUNTS // predicates, MAX_PARTNERS + 1)
    blocks = [
        _scored(_halves(shards, low, min(low + step, latents), seed, dealt_out=dealt_out), is_token)
        for low in range(0, latents, step)
    ]
    columns = zip(*blocks, strict=True)
    return TokenOverlaps(*(np.concatenate(column) for column in columns))


def _halves(
    shards: Shards, low: int, high: int, seed: int, *, dealt_out: bool
) -> tuple[_Counts, _Counts]:
    totals: list[_Counts] = []
    for piece in shards.shards():
        for half, counts in enumerate(
            _counted(piece.evidence(), low, high, seed, dealt_out=dealt_out)
        ):
            if len(totals) <= half:
                totals.append(counts)
            else:
                totals[half].active[:] += counts.active
                totals[half].holds[:] += counts.holds
                totals[half].shared[:] += counts.shared
                whole = totals[half]
                totals[half] = _Counts(
                    whole.active, whole.holds, whole.shared, whole.tokens + counts.tokens
                )
    return totals[0], totals[1]


def _counted(
    evidence: TokenEvidence, low: int, high: int, seed: int, *, dealt_out: bool
) -> Iterator[_Counts]:
    codes, holds = require_ragged(evidence.latent), require_ragged(evidence.holds)
    active = _incidence(codes, len(evidence.latents))[:, low:high].T.tocsr()
    facts = _incidence(holds, len(evidence.predicates))
    if dealt_out:
        facts = _moved_on(facts, codes, np.asarray(evidence.samples.index), seed)
    second = select_second_half(evidence, seed)[np.repeat(np.arange(len(codes)), codes.lengths)]
    for own in (~second, second):
        tokens = np.flatnonzero(own)
        some, what = active[:, tokens], facts[tokens]
        yield _Counts(
            np.asarray(some.sum(axis=1)).ravel().astype(np.int64),
            np.asarray(what.sum(axis=0)).ravel().astype(np.int64),
            (some @ what).toarray().astype(np.int64),
            len(tokens),
        )


def select_second_half(evidence: TokenEvidence, seed: int) -> Bool[np.ndarray, " sequences"]:
    """Return which sequences are in the test half; documents are not split."""
    return np.asarray(hash_clusters(evidence.samples, seed) >> np.uint64(63) == 1)


def _incidence(values: Ragged, width: int) -> sparse.csr_matrix:
    inner = np.asarray(values.inner_starts)
    ones = np.ones(len(values.flat), np.int32)
    return sparse.csr_matrix((ones, values.flat, inner), (len(inner) - 1, width))


def _moved_on(
    facts: sparse.csr_matrix, codes: Ragged, index: np.ndarray, seed: int
) -> sparse.csr_matrix:
    """Move the predicates of each text to the next one in an order by length and hash."""
    if len(codes) < 2:
        return sparse.csr_matrix(facts.shape, dtype=np.int32)
    lengths = codes.lengths
    octave = np.frexp(np.maximum(lengths, 1))[1]
    order = np.lexsort((hash_integers(index, seed + 1), octave))
    partner = np.empty(len(codes), np.int64)
    partner[order] = np.roll(order, 1)
    row = np.repeat(np.arange(len(codes)), lengths)
    at = np.arange(len(row)) - codes.starts[row]
    fits = at < lengths[partner[row]]
    source = np.where(fits, codes.starts[partner[row]] + at, 0)
    own = sparse.diags_array(fits.astype(np.int32), dtype=np.int32)
    return sparse.csr_matrix(own @ facts[source])


def _scored(
    halves: tuple[_Counts, _Counts], is_token: Bool[np.ndarray, " predicates"]
) -> tuple[np.ndarray, ...]:
    choosing, scoring = halves
    chosen_by, scored_by = choosing.overlaps(), scoring.overlaps()
    scored_by[scoring.active == 0] = np.nan
    every = np.arange(len(chosen_by))
    best = chosen_by.argmax(axis=1)
    none = chosen_by[every, best] <= 0
    words = np.where(is_token, chosen_by, 0.0)
    word = words.argmax(axis=1)
    no_word = words[every, word] <= 0
    rate = (choosing.active + scoring.active) / max(choosing.tokens + scoring.tokens, 1)
    return (
        np.where(none, -1, best),
        np.where(none, np.nan, chosen_by[every, best]),
        np.where(none, np.nan, scored_by[every, best]),
        np.where(no_word, np.nan, scored_by[every, word]),
        _of_others(scored_by, np.where(none, -1, best), rate),
        rate,
    )


def _of_others(scored_by: np.ndarray, best: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return overlaps of predicates of latents with similar firing rate and another predicate."""
    n = len(best)
    others = np.full((n, MAX_PARTNERS), np.nan)
    usable = np.flatnonzero((best >= 0) & (rate > 0))
    order = usable[np.argsort(rate[usable], kind="stable")]
    filled = np.zeros(n, np.int64)
    steps = [side * step for step in range(1, 4 * MAX_PARTNERS) for side in (1, -1)]
    for step in steps:
        here = np.arange(len(order))
        there = here + step
        inside = (there >= 0) & (there < len(order))
        own, other = order[here[inside]], order[there[inside]]
        ratio = rate[own] / rate[other]
        like = (
            (best[own] != best[other]) & (ratio <= MAX_RATE_RATIO) & (ratio >= 1 / MAX_RATE_RATIO)
        )
        like &= filled[own] < MAX_PARTNERS
        own, other = own[like], other[like]
        others[own, filled[own]] = scored_by[own, best[other]]
        filled[own] += 1
    return others
