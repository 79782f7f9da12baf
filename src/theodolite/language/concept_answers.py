"""Which of many concepts a dictionary tells better than random directions do.

Of 20 concepts one by one, a random dictionary gets at least one *yes* in more than half of the
cases. Here the share of false ones among all *yes* is held below 5 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._stats.draws import (
    ENOUGH,
    NARROW,
    compare_items_with_draws,
    compute_draw_p,
)
from theodolite._stats.intervals import quantile
from theodolite._stats.multiple import correct_discoveries
from theodolite._stats.resampling import draw_poisson_weights
from theodolite._stats.sampling import select_half
from theodolite._stats.weighted_auroc import compute_weighted_aurocs
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged
from theodolite.language.models.chance_draws import same_masks
from theodolite.language.models.pooled_triples import (
    PooledTriples,
    compute_triple_aurocs,
)
from theodolite.results import Answer

HIGH = 0.9
"""An AUROC that is high."""


@dataclass(frozen=True, eq=False)
class ConceptAnswer:
    """One concept: the best latent, random directions, and whether it does better."""

    concept: str
    latent: int
    value: float
    """AUROC of the latent on texts it was not chosen on."""
    low: float
    high: float
    """Interval of 95 % over texts, of the value minus the mean of the draws."""
    draws: Float[np.ndarray, " draws"]
    """The same AUROC of each random dictionary."""
    p: float
    """Probability of a value as high under the draws, by Student's t with their spread."""
    adjusted_p: float
    """The same corrected for the number of concepts (Benjamini and Hochberg)."""
    answer: Answer
    sentence: str

    @property
    def mean(self) -> float:
        """Mean of the draws."""
        return float(self.draws.mean()) if len(self.draws) else math.nan


@dataclass(frozen=True, eq=False)
class ConceptAnswers:
    """Answers for all concepts of a run at a false discovery rate of 5 %."""

    answers: tuple[ConceptAnswer, ...]
    answer: Answer
    """For the dictionary: yes if any concept is told and the mean over concepts exceeds that of
    each draw."""

    @property
    def headline(self) -> str:
        """Such as "7 of 20 concepts at a false discovery rate of 5 %"."""
        n = sum(own.answer == "yes" for own in self.answers)
        many = f"{n} of {len(self.answers)} concepts"
        return many if len(self.answers) < 2 else f"{many} at a false discovery rate of 5 %"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a table with a row for each concept."""
        names = ("concept", "latent", "value", "low", "high", "mean", "p", "adjusted_p", "answer")
        columns = {name: [getattr(own, name) for own in self.answers] for name in names}
        columns["best_draw"] = [
            float(own.draws.max()) if len(own.draws) else math.nan for own in self.answers
        ]
        columns["draws"] = [len(own.draws) for own in self.answers]
        return {**columns, "sentence": [own.sentence for own in self.answers]}


def concept_answers(
    evidence: TokenEvidence, *, resamples: int = 200, split_seed: int = 0, seed: int = 0
) -> ConceptAnswers:
    """Answer for each concept whether a latent tells it better than random directions do.

    *Yes* needs three things: a p-value that passes the correction of Benjamini and Hochberg over
    all concepts, a value above every draw, and a difference to their mean that is surely above 0.

    Args:
        evidence: Codes, labels and draws of at least 20 random dictionaries (``chance_pooled``).
        resamples: Resamples of texts for intervals.
        split_seed: Which texts latents are chosen on.
        seed: Of resamples.
    """
    if evidence.truth is None or evidence.latent is None or evidence.chance_pooled is None:
        needed = "`latent`, `value`, `truth` and `chance_pooled`"
        raise EvidenceError("evidence", "no codes, labels or draws", needed)
    if evidence.is_signed:
        raise EvidenceError("value", "latents below 0", "none: give each sign as a latent")
    probed = _probe(evidence, split_seed, resamples, seed)
    values, draws = probed.values[0], probed.draws[:, 0]
    p = np.array([compute_draw_p(own, draws[:, c]) for c, own in enumerate(values)])
    adjusted = correct_discoveries(p)
    defined = [own[~np.isnan(own)] for own in draws.T]
    intervals = np.empty((2, len(values)))
    for c, own in enumerate(defined):
        moved = probed.values[1:, c] - probed.draws[:, 1:, c].mean(axis=0)
        intervals[:, c] = _interval(values[c] - own.mean() if len(own) else math.nan, moved, own)
    decided = compare_items_with_draws(values, draws, intervals, best=1.0)
    answers = []
    for c, (name, own) in enumerate(zip(evidence.concepts.names, defined, strict=True)):
        low, high = intervals[:, c].tolist()
        sentence = describe(
            name, int(probed.latents[c]), float(values[c]), own, decided[c], float(adjusted[c]),
            int((~np.isnan(p)).sum()),
        )  # fmt: skip
        answers.append(ConceptAnswer(
            name, int(probed.latents[c]), float(values[c]), low, high, own, float(p[c]),
            float(adjusted[c]), decided[c], sentence,
        ))  # fmt: skip
    return ConceptAnswers(tuple(answers), _decide_all(answers, values, draws))


def describe(  # noqa: PLR0913  all that a sentence names
    concept: str,
    latent: int,
    value: float,
    draws: Float[np.ndarray, " draws"],
    answer: Answer,
    adjusted_p: float,
    concepts: int,
) -> str:
    """Return the sentence of one concept."""
    if len(draws) < ENOUGH or math.isnan(value):
        return f"{concept}: too few draws of random directions, or texts with one class only."
    mean, best = float(draws.mean()), float(draws.max())
    if answer == "yes":
        return (
            f"Latent {latent} tells {concept} (AUROC {value:.2f}); no random dictionary of "
            f"{len(draws)} does as well (mean {mean:.2f}, best {best:.2f})."
        )
    if answer == "no":
        return (
            f"Latent {latent} tells {concept} no better than random directions do ({value:.2f} "
            f"against {mean:.2f})."
        )
    if value >= HIGH and 1 - mean < NARROW:
        return (
            f"Latent {latent} tells {concept} (AUROC {value:.3f}), but so do random directions "
            f"(mean {mean:.3f}). This concept is too easy to show what the dictionary adds."
        )
    side = "Better than the mean" if value > mean else "Not better than the mean"
    after = f" after correction for {concepts} concepts" if concepts > 1 else ""
    return f"{concept}: {side} of the draws, but not surely (p = {adjusted_p:.2g}{after})."


@dataclass(frozen=True, eq=False)
class ProbedConcepts:
    """AUROCs on texts that latents were not chosen on; row 0 is all texts, others resamples."""

    latents: np.ndarray
    values: Float[np.ndarray, "rows concepts"]
    draws: Float[np.ndarray, "draws rows concepts"]


def _probe(evidence: TokenEvidence, split_seed: int, resamples: int, seed: int) -> ProbedConcepts:
    truth, chance = np.asarray(evidence.truth), np.asarray(evidence.chance_pooled)
    known = np.ones(truth.shape, bool) if evidence.known is None else np.asarray(evidence.known)
    first, samples = select_half(evidence.samples, split_seed), evidence.samples
    keys = np.asarray(samples.index if samples.clusters is None else samples.clusters, np.int64)
    weights = np.concatenate(
        [np.ones((1, len(truth))), draw_poisson_weights(keys, resamples, seed)]
    )
    latent, value = require_ragged(evidence.latent), require_ragged(evidence.value)
    triples = PooledTriples.of(
        value.row, latent.flat[:, None], value.flat[:, None], len(evidence.latents), len(truth)
    )
    chosen_on = known & first[:, None]
    latents = choose_best(triples, truth, chosen_on)
    others = [PooledTriples.of_dense(chance[:, number]) for number in range(chance.shape[1])]
    best = np.array([choose_best(other, truth, chosen_on) for other in others])
    values = np.full((len(weights), truth.shape[1]), np.nan)
    draws = np.full((chance.shape[1], *values.shape), np.nan)
    for c in np.flatnonzero(latents >= 0):
        rows = known[:, c] & ~first
        there, counts = truth[rows, c], weights[:, rows]
        own = triples.dense(latents[[c]])[rows, 0]
        values[:, c] = compute_weighted_aurocs(own, there, counts)
        for number in range(chance.shape[1]):
            other = chance[rows, number, best[number, c]]
            draws[number, :, c] = compute_weighted_aurocs(other, there, counts)
    return ProbedConcepts(latents, values, draws)


def choose_best(triples: PooledTriples, truth: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the latent that tells each concept best; -1 where it has one value."""
    best = np.full(truth.shape[1], -1)
    for concepts, mask in same_masks(rows):
        for concept, column in zip(
            concepts, compute_triple_aurocs(triples, truth[:, concepts], mask).T, strict=True
        ):
            best[concept] = -1 if np.isnan(column).all() else int(np.argmax(column))
    return best


def _interval(
    middle: float, moved: Float[np.ndarray, " resamples"], draws: Float[np.ndarray, " draws"]
) -> tuple[float, float]:
    """Return the interval of value minus mean of draws, over texts and draws."""
    moved = moved[~np.isnan(moved)]
    if len(moved) < 2 or len(draws) < 2 or math.isnan(middle):
        return math.nan, math.nan
    variance = float(moved.var(ddof=1)) + float(draws.var(ddof=1)) / len(draws)
    half = quantile(len(moved) - 1, 0.95) * math.sqrt(variance)
    return middle - half, middle + half


def _decide_all(answers: Sequence[ConceptAnswer], values: np.ndarray, draws: np.ndarray) -> Answer:
    defined = ~np.isnan(values) & ~np.isnan(draws).any(axis=0)
    if len(draws) < ENOUGH or not defined.any():
        return "inconclusive"
    above = values[defined].mean() > draws[:, defined].mean(axis=1).max()
    if above and any(own.answer == "yes" for own in answers):
        return "yes"
    return "no" if all(own.answer == "no" for own in answers) else "inconclusive"
