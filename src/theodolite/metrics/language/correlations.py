"""Metrics of whether claimed effects and simulated activations correlate with the measured ones."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from theodolite._stats.sampling import hash_to_uniforms
from theodolite._stats.weighted_sums import sum_weighted
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, require_ragged
from theodolite.metrics.base import Card, NullModel, Pooled, metric
from theodolite.metrics.language._tokens import explained_entries
from theodolite.metrics.states import TRIALS

EffectAgreement = Annotated[
    Literal["spearman", "pearson", "sign"],
    Field(description="Of ranks, of values, or whether both have the same sign."),
]
Sequences = Annotated[
    Literal["random", "top+random", "all"],
    Field(description="Whose tokens: of random sequences, with those of most activity, or all."),
]
Agreement = Annotated[
    Literal["pearson", "squared", "spearman"],
    Field(description="Of values, the same squared, or of ranks."),
]
Over = Literal["explanations"]
MAX_FREQUENCY_RATIO = 1.25
"""Maximum frequency ratio of two latents that count as similarly frequent."""
COUNTED = {"random": (0,), "top+random": (0, 1), "all": (0, 1, 2)}
LEAST_PAIRS = 3
MIN_RELATIVE_VARIANCE = 1e-12
"""Fraction of the squared maximum below which a variance is rounding."""
Pair = tuple[np.ndarray, np.ndarray]


class Ranks:
    """Mean ranks under weights; what is sorted is sorted once."""

    def __init__(self, values: np.ndarray) -> None:
        _, self._level = np.unique(values, return_inverse=True)
        self._n = int(self._level.max(initial=-1)) + 1

    def under(self, weights: np.ndarray) -> np.ndarray:
        """Of each value."""
        each = np.bincount(self._level, weights, self._n)
        return np.asarray((np.cumsum(each) - each / 2)[self._level])


def pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Compute the correlation of two columns; NaN for fewer than three pairs or no variance."""
    total: Any = weights.sum()
    if (weights > 0).sum() < LEAST_PAIRS:
        return float("nan")
    dx, dy = x - (x * weights).sum() / total, y - (y * weights).sum() / total
    spread = np.sqrt((weights * dx**2).sum() * (weights * dy**2).sum())
    scale = total * max(np.abs(x).max(), 1e-300) * max(np.abs(y).max(), 1e-300)
    if spread <= MIN_RELATIVE_VARIANCE * scale:
        return float("nan")
    return float(np.clip((weights * dx * dy).sum() / spread, -1.0, 1.0))


def _n_clusters(evidence: TokenEvidence, rows: np.ndarray) -> float:
    """Clusters of the sequences in these rows."""
    samples: Any = evidence.samples
    keys = np.asarray(samples.index if samples.clusters is None else samples.clusters)
    return float(len(np.unique(keys[rows])))


def _tried(evidence: TokenEvidence) -> tuple[Ragged, Ragged, np.ndarray]:
    """Claims, effects, and the positions of those that were tried."""
    claims, effects = require_ragged(evidence.importance), require_ragged(evidence.effect)
    return claims, effects, np.flatnonzero(~(np.isnan(claims.flat) | np.isnan(effects.flat)))


def _in_any_order(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    """Claims of each sequence dealt out among its own latents that were tried."""
    claims, _, tried = _tried(evidence)
    row = claims.row[tried]
    longest = int(np.bincount(row, minlength=1).max(initial=0))
    luck = hash_to_uniforms(np.asarray(evidence.samples.index), (longest,), seed)
    within = np.arange(len(row)) - np.searchsorted(row, row)
    order = np.lexsort((luck[row, within], row))  # rows stay where they are
    flat = np.array(claims.flat, float)
    flat[tried] = flat[tried[order]]
    dealt = Ragged(flat, claims.starts, claims.inner_starts)
    return replace_arrays(evidence, importance=dealt)


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
        evidence: TokenEvidence, weights: np.ndarray, *, agreement: EffectAgreement = "spearman"
    ) -> np.ndarray:
        claims, effects, tried = _tried(evidence)
        row = claims.row[tried]
        x, y = (np.asarray(values.flat[tried], float) for values in (claims, effects))
        if agreement == "sign":
            same = (np.sign(x) == np.sign(y)) & (x != 0)
            return _shares(same.astype(float), row, weights)
        if agreement == "spearman":
            return _of_ranks((x, y), row, weights)
        return np.array([pearson(x, y, weight[row].astype(float)) for weight in weights])

    @staticmethod
    def measure_with_moments(
        evidence: TokenEvidence, weights: np.ndarray, **options: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The same, and how many clusters of sequences have a pair that was tried."""
        claims, _, tried = _tried(evidence)
        values = AttributionEffect.measure(evidence, weights, **options)
        return values, {TRIALS: np.array([_n_clusters(evidence, claims.row[tried])])}


def _shares(same: np.ndarray, row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    shares = [
        float((same * w[row]).sum() / w[row].sum()) if w[row].sum() > 0 else np.nan for w in weights
    ]
    return np.array(shares if len(row) >= LEAST_PAIRS else [np.nan] * len(weights))


def _firing(evidence: TokenEvidence) -> dict[str, np.ndarray]:
    _, item = explained_entries(evidence)
    return {"active": np.bincount(item, minlength=len(evidence.explanations)).astype(float)}


def _of_another(
    evidence: TokenEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> TokenEvidence:
    """Return the correlation of each simulation with another latent of similar frequency."""
    often, latent = sums["active"], np.asarray(evidence.explained)
    low, high = np.minimum(often[:, None], often), np.maximum(often[:, None], often)
    like = (high <= MAX_FREQUENCY_RATIO * low) & (low > 0) & (latent[:, None] != latent)
    luck = np.where(like, np.random.default_rng(seed).random(like.shape), -1.0)
    other = luck.argmax(axis=1) if len(luck) else np.zeros(0, int)
    simulated = require_ragged(evidence.simulated)
    flat = np.where(like.any(axis=1), np.asarray(simulated.flat, float)[:, other], np.nan)
    return replace_arrays(evidence, simulated=Ragged(flat, simulated.starts))


def _of_the_token(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    del seed
    simulated = require_ragged(evidence.simulated)
    flat = np.full(simulated.flat.shape, np.nan)
    if evidence.chance_simulated is not None:
        there = ~np.isnan(np.asarray(simulated.flat, float))
        flat = np.where(there, require_ragged(evidence.chance_simulated).flat, np.nan)
    return replace_arrays(evidence, simulated=Ragged(flat, simulated.starts))


NULLS = (
    NullModel(
        "another_latent",
        "the simulation from the explanation of another latent, one that is active about as often; "
        "undefined where there is none",
        _of_another, sums=_firing,
        label="another_latent",
    ),
    NullModel(
        "token_only",
        "the mean activation of the token in other sequences, without any explanation; undefined "
        "where it was not given",
        _of_the_token, random=False,
        label="token identity only",
    ),
)  # fmt: skip


@metric(
    "simulation_correlation",
    title="Correlation with simulated activations",
    question="detects",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("latent", "value", "explained", "simulated"),
    may_use=("picked", "chance_simulated"),
    detail=True,
    nulls=NULLS,
    threshold=0.8,
    threshold_from="null",
    is_percentage=True,
    decides=False,
    cite="bills2023language",
    asked_as="Can a simulator predict the latent from its explanation?",
    card=Card(
        question="Does a simulator that knows the explanation alone predict how active the latent "
        "is at each token?",
        interpretation="1 is the same activity up to a factor, 0 no relation. On sequences drawn "
        "at random, unless said otherwise. From 0.8 on we would rely on it, a convention.",
        limitations="Over sequences in which the latent is most active the same simulator gets "
        "another number, mostly a higher one: only numbers of one choice of `sequences` compare. "
        "A latent that fires at one word is predicted by a word list: see token identity only.",
        cost="a simulation of every token, then sums over tokens",
    ),
)
class SimulationCorrelation(Pooled):
    r"""Correlation over tokens of simulated with real activation.

    .. math:: r(\hat a_t, a_t)

    with the latent's activity :math:`a_t` (0 where it is not active) and the activity
    :math:`\hat a_t` that a simulator expects at token :math:`t` from the explanation.
    ``agreement``: Pearson's correlation, its square, or Spearman's, in which ties share their mean
    rank. Either constant, or fewer than three tokens: NaN. After :cite:t:`bills2023language`, who
    take sequences in which the latent is most active together with random ones
    (``sequences="top+random"``).

    Example:
        >>> from theodolite.metrics import simulation_correlation
        >>> latent = [[[], [0], []], [[], [0], [0], []], [[], [0], []], [[], [], []]]
        >>> value = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []], [[], [], []]]
        >>> guess = [[[0], [10], [0]], [[0], [8], [1], [0]], [[0], [2], [0]], [[0], [0], [1]]]
        >>> simulation_correlation(latent, value, [0], guess).round(6)
        array([0.986731])
    """

    @staticmethod
    def measure(
        evidence: TokenEvidence,
        weights: np.ndarray,
        *,
        sequences: Sequences = "random",
        agreement: Agreement = "pearson",
        over: Over = "explanations",
    ) -> np.ndarray:
        del over
        simulated, counted = require_ragged(evidence.simulated), _counted(evidence, sequences)
        guess, real = np.asarray(simulated.flat, float), _activity(evidence)
        result = np.full((len(weights), guess.shape[1]), np.nan)
        for item in range(guess.shape[1]):
            own = counted[:, item]
            pair, row = (guess[own, item], real[own, item]), simulated.row[own]
            if agreement == "spearman":
                result[:, item] = _of_ranks(pair, row, weights)
            else:
                result[:, item] = _sum_by_sequence(pair, row, weights)
        return result**2 if agreement == "squared" else result

    @staticmethod
    def measure_with_moments(
        evidence: TokenEvidence,
        weights: np.ndarray,
        *,
        sequences: Sequences = "random",
        **options: Any,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The same, and how many clusters of sequences each explanation was simulated on."""
        row = require_ragged(evidence.simulated).row
        trials = [_n_clusters(evidence, row[own]) for own in _counted(evidence, sequences).T]
        values = SimulationCorrelation.measure(evidence, weights, sequences=sequences, **options)
        return values, {TRIALS: np.array(trials)}


def _counted(evidence: TokenEvidence, sequences: Sequences) -> np.ndarray:
    """Return the tokens that count for each explanation."""
    simulated = require_ragged(evidence.simulated)
    counted = ~np.isnan(np.asarray(simulated.flat, float))
    if evidence.picked is not None:
        counted &= np.isin(evidence.picked, COUNTED[sequences])[simulated.row]
    return np.asarray(counted)


def _activity(evidence: TokenEvidence) -> np.ndarray:
    """Return the activity of each explained latent at each token, 0 where inactive."""
    values = require_ragged(evidence.value)
    entry, item = explained_entries(evidence)
    n = len(np.asarray(values.inner_starts)) - 1
    real = np.zeros((n, len(evidence.explanations)))
    real[values.inner_row[entry], item] = values.flat[entry]
    return real


def _of_ranks(pair: Pair, row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    ranks = [Ranks(values) for values in pair]
    each = (weight[row].astype(float) for weight in weights)
    return np.array([pearson(ranks[0].under(own), ranks[1].under(own), own) for own in each])


def _sum_by_sequence(pair: Pair, row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute from sums per sequence, so that a resample does not touch tokens."""
    n = weights.shape[1]
    if not len(row):
        return np.full(len(weights), np.nan)
    x, y = (values - values.mean() for values in pair)  # nothing is lost where means are large
    columns = (np.ones(len(row)), x, y, x * x, y * y, x * y)
    sums = np.stack([np.bincount(row, column, n) for column in columns], axis=1)
    total, sx, sy, xx, yy, xy = sum_weighted(weights.astype(float), sums).T
    with np.errstate(invalid="ignore", divide="ignore"):
        spreads = xx - sx**2 / total, yy - sy**2 / total
        flat = [
            ~(spread > MIN_RELATIVE_VARIANCE * total * np.abs(centered).max() ** 2)
            | _is_constant(values)
            for spread, centered, values in zip(spreads, (x, y), pair, strict=True)
        ]
        value = np.clip((xy - sx * sy / total) / np.sqrt(spreads[0] * spreads[1]), -1.0, 1.0)
    tokens = np.bincount(row, minlength=n)
    few = (weights > 0).astype(int) @ tokens < LEAST_PAIRS
    return np.where(flat[0] | flat[1] | few, np.nan, value)


def _is_constant(values: np.ndarray) -> bool:
    """Return whether all values are equal, up to rounding of a mean."""
    return bool(np.ptp(values) <= 1e-13 * np.abs(values).max())
