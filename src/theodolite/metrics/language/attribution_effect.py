"""Do claimed contributions of latents agree with what ablating them does?"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from theodolite._stats.sampling import uniform
from theodolite.evidence.columns import with_arrays
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, rows_of
from theodolite.metrics.base import Card, NullModel, Pooled, metric
from theodolite.metrics.language._correlations import LEAST_PAIRS, Ranks, pearson
from theodolite.metrics.states import TRIALS

Agreement = Annotated[
    Literal["spearman", "pearson", "sign"],
    Field(description="Of ranks, of values, or whether both have the same sign."),
]


def _in_any_order(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    """Claims of each sequence dealt out among its own latents that were tried."""
    claims, effects = rows_of(evidence.importance), rows_of(evidence.effect)
    tried = np.flatnonzero(~(np.isnan(claims.flat) | np.isnan(effects.flat)))
    row = claims.row[tried]
    longest = int(np.bincount(row, minlength=1).max(initial=0))
    luck = uniform(np.asarray(evidence.samples.index), (longest,), seed)
    within = np.arange(len(row)) - np.searchsorted(row, row)
    order = np.lexsort((luck[row, within], row))  # rows stay where they are
    flat = np.array(claims.flat, float)
    flat[tried] = flat[tried[order]]
    dealt = Ragged(flat, claims.starts, claims.inner_starts)
    return with_arrays(evidence, importance=dealt)


DEALT_OUT = NullModel(
    "permuted_claims",
    "the claims of a sequence dealt out among its latents that were ablated",
    _in_any_order,
)


@metric(
    "attribution_effect",
    title="Attributions against ablations",
    question="faithful",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("importance", "effect"),
    nulls=(DEALT_OUT,),
    threshold=0.8,
    threshold_from="null",
    is_percentage=True,
    cite="syed2024attribution",
    asked_as="Do claimed contributions of latents agree with ablations?",
    card=Card(
        question="Are latents that are said to contribute more those whose ablation changes the "
        "output more?",
        interpretation="1 is the same order, 0 no relation. From 0.8 on we would rely on it, a "
        "convention.",
        limitations="Pairs drawn from the largest claims alone say nothing of small ones. At the "
        "last token gradients are nearly exact; ask at earlier tokens too, where paths lead "
        "through attention.",
        cost="one run of the network for each pair, then one sort",
        template="What latents are said to contribute and what their ablation does are in the same "
        "order to {value} ({low}–{high}{best}). {null}{enough}.",
    ),
)
class AttributionEffect(Pooled):
    r"""Correlation of claimed contributions with measured effects, over pairs that were tried.

    .. math:: r(\operatorname{rank} c, \operatorname{rank} e)

    with the claimed contribution :math:`c` of a latent at a token and the change :math:`e` of the
    output when it is ablated there; ties share their mean rank. ``agreement``: of ranks (Spearman),
    of values (Pearson), or the share of pairs with the same sign, where 0 agrees with nothing.
    Fewer than three pairs, or no spread: NaN. Attributions that stand in for ablations:
    :cite:t:`syed2024attribution`.

    Example:
        >>> from theodolite.metrics import attribution_effect
        >>> claims, effects = [0.3, -0.1, 0.05, 0.0, 0.2], [0.25, -0.05, 0.1, 0.02, 0.1]
        >>> round(attribution_effect([[[c] for c in claims]], [[[e] for e in effects]]), 6)
        0.974679
    """

    @staticmethod
    def measure(
        evidence: TokenEvidence, weights: np.ndarray, *, agreement: Agreement = "spearman"
    ) -> np.ndarray:
        """The correlation under each row of weights."""
        claims, effects = rows_of(evidence.importance), rows_of(evidence.effect)
        tried = ~(np.isnan(claims.flat) | np.isnan(effects.flat))
        row = claims.row[tried]
        pair = [np.asarray(values.flat[tried], float) for values in (claims, effects)]
        if agreement == "sign":
            same = (np.sign(pair[0]) == np.sign(pair[1])) & (pair[0] != 0)
            return _shares(same.astype(float), row, weights)
        places = [Ranks(values) if agreement == "spearman" else None for values in pair]
        rows = []
        for weight in weights:
            own = weight[row].astype(float)
            x, y = (
                values if ranks is None else ranks.under(own)
                for values, ranks in zip(pair, places, strict=True)
            )
            rows.append(pearson(x, y, own))
        return np.array(rows)

    @staticmethod
    def measure_with_moments(
        evidence: TokenEvidence, weights: np.ndarray, **options: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The same, and how many clusters of sequences have a pair that was tried."""
        claims, effects = rows_of(evidence.importance), rows_of(evidence.effect)
        tried = ~(np.isnan(claims.flat) | np.isnan(effects.flat))
        samples: Any = evidence.samples
        keys = np.asarray(samples.index if samples.clusters is None else samples.clusters)
        n = len(np.unique(keys[claims.row[tried]]))
        return AttributionEffect.measure(evidence, weights, **options), {
            TRIALS: np.array([float(n)])
        }


def _shares(same: np.ndarray, row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    shares = [
        float((same * w[row]).sum() / w[row].sum()) if w[row].sum() > 0 else np.nan for w in weights
    ]
    return np.array(shares if len(row) >= LEAST_PAIRS else [np.nan] * len(weights))
