"""Relevance of tokens and what annotators marked: what the scores of places in texts share."""

from collections.abc import Mapping

import numpy as np

from theodolite.evidence.columns import with_arrays
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, rows_of
from theodolite.metrics.base import NullModel, PerSample

ASKED_AS = "Are the tokens that are said to matter those that people marked?"
USES = ("relevance", "rationale")


def marked_share(evidence: TokenEvidence) -> tuple[np.ndarray, np.ndarray]:
    """The share of each sequence's tokens that is marked, and whether some and not all are."""
    rationale = rows_of(evidence.rationale)
    marked, n = rationale.sums(), rationale.lengths
    return marked / np.maximum(n, 1), (marked > 0) & (marked < n)


def shares(part: np.ndarray, defined: np.ndarray) -> PerSample:
    """A share for each sequence that some and not all tokens of are marked in."""
    return PerSample(
        np.where(defined, part, 0.0), defined.astype(float), np.ones(len(defined), bool)
    )


def by_relevance(relevance: Ragged) -> np.ndarray:
    """Positions of all tokens, sequence by sequence, the most relevant first; of equals the
    earlier."""
    return np.lexsort((np.arange(len(relevance.flat)), -relevance.flat, relevance.row))


def _first_tokens(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    del seed
    own = rows_of(evidence.relevance)
    place = np.arange(len(own.flat)) - own.starts[:-1][own.row]
    # falls by halves: the first token has about half of all relevance
    return with_arrays(evidence, relevance=Ragged(0.5**place, own.starts))


def _counts(evidence: TokenEvidence) -> dict[str, np.ndarray]:
    return {"counts": np.bincount(_ids(evidence), minlength=VOCABULARY)}


def _ids(evidence: TokenEvidence) -> np.ndarray:
    return np.asarray(np.minimum(rows_of(evidence.tokens).flat, VOCABULARY - 1))


VOCABULARY = 1 << 18
"""Ids that are told apart; those beyond, if there are any, count as one."""


def _rare_tokens(
    evidence: TokenEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> TokenEvidence:
    del seed
    tokens, counts = rows_of(evidence.tokens), sums["counts"]
    share = np.maximum(counts[_ids(evidence)], 1) / max(counts.sum(), 1)
    rare = Ragged(-np.log(share), tokens.starts)
    return with_arrays(evidence, relevance=rare)


def _uniform(evidence: TokenEvidence) -> PerSample:
    return shares(*marked_share(evidence))


NULLS = (
    NullModel(
        "rare tokens",
        "minus the logarithm of how often a token occurs: rare words are content words",
        _rare_tokens, sums=_counts, random=False,
    ),
    NullModel("first tokens", "the earlier, the more relevant", _first_tokens, random=False),
    NullModel(
        "all alike", "every token as relevant as every other", expected=_uniform, random=False
    ),
)  # fmt: skip
