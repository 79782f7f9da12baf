"""Simulators without a model: predict a latent's activation per token from its explanation."""

from typing import Literal, get_args

import numpy as np

from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, require_ragged

Simulator = Literal["formula", "keyword"]


def simulate(
    simulator: Simulator, evidence: TokenEvidence, *, split_seed: int = 0
) -> TokenEvidence:
    """Add the simulator's predictions to the evidence, for ``simulation_correlation``.

    ``formula`` expects 1 where the explanation's predicate holds; ``keyword`` knows no explanation
    and expects the mean activation of the token on the half of the sequences that ``split_seed``
    cuts, by cluster. Either way that half is left out, and what ``keyword`` expects is put beside
    as the null ``chance_simulated``.

    >>> from theodolite.evidence.kinds.token import TokenEvidence
    >>> from theodolite.testing import plant_example
    >>> some = simulate("formula", plant_example(TokenEvidence, 0))
    >>> sorted(set(some.simulated.flat[~np.isnan(some.simulated.flat)].tolist()))
    [0.0, 1.0]
    """
    if simulator not in get_args(Simulator):
        raise EvidenceError("simulator", repr(simulator), f"one of {get_args(Simulator)}")
    missing = [name for name in ("latent", "value", "explained") if not evidence.has(name)]
    if simulator == "formula":
        missing += [name for name in ("holds", "predicate_of") if not evidence.has(name)]
    if missing:
        raise EvidenceError(missing[0], "none", f"`{missing[0]}`, for {simulator}")
    by_token = _token_means(evidence, split_seed)
    guess = by_token if simulator == "keyword" else _where_it_holds(evidence)
    rows = require_ragged(evidence.tokens)
    own = select_half(evidence.samples, split_seed)[rows.row]
    arrays = {
        name: Ragged(np.where(own[:, None], np.nan, values), rows.starts)
        for name, values in (("simulated", guess), ("chance_simulated", by_token))
    }
    return replace_arrays(evidence, **arrays)


def _where_it_holds(evidence: TokenEvidence) -> np.ndarray:
    holds, predicate = require_ragged(evidence.holds), np.asarray(evidence.predicate_of)
    guess = np.zeros((len(require_ragged(evidence.tokens).flat), len(predicate)))
    for item, number in enumerate(predicate.tolist()):
        guess[holds.inner_row[holds.flat == number], item] = 1.0
    guess[:, predicate < 0] = np.nan
    return guess


def _token_means(evidence: TokenEvidence, seed: int) -> np.ndarray:
    """Return each latent's mean per token in one half; its overall mean for tokens that are absent
    there.
    """
    tokens, latent, values = (
        require_ragged(getattr(evidence, name)) for name in ("tokens", "latent", "value")
    )
    own = select_half(evidence.samples, seed)[tokens.row]
    _, word = np.unique(tokens.flat, return_inverse=True)
    often = np.bincount(word[own], minlength=int(word.max(initial=-1)) + 1)
    means = np.full((len(word), len(evidence.explanations)), np.nan)
    token = latent.inner_row
    for item, number in enumerate(np.asarray(evidence.explained).tolist()):
        entry = np.flatnonzero((latent.flat == number) & own[token])
        sums = np.bincount(word[token[entry]], values.flat[entry].astype(float), len(often))
        overall = sums.sum() / max(int(own.sum()), 1)
        means[:, item] = np.where(often > 0, sums / np.maximum(often, 1), overall)[word]
    return means
