"""Linear probes of concepts on the activations themselves: what a dictionary could reach at most.

A probe reads the mean activation of a text. It decides nothing: it is shown beside a dictionary,
and absorption asks which latents carry its direction.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from theodolite._stats.sampling import hash_integers, select_half
from theodolite._stats.weighted_auroc import compute_weighted_aurocs
from theodolite.evidence.axes import LatentExplanations, Samples
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.models.hooked import Ids
from theodolite.language.models.token_evidence import SequenceLabels

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
"""Penalties on squared weights that are tried, per text."""
FOLDS = 5
FEWEST = 8
"""Texts with and without a concept that a probe is fitted on."""
Labels = Bool[np.ndarray, " texts"]


@dataclass(frozen=True, eq=False)
class ConceptProbes:
    """A direction for each concept; NaN where too few texts are known."""

    directions: Float[np.ndarray, "concepts dimensions"]
    """Of length 1."""
    offsets: Float[np.ndarray, " concepts"]
    """What the projection of an activation must exceed for the probe to say yes."""
    center: Float[np.ndarray, " dimensions"]
    aurocs: Float[np.ndarray, " concepts"]
    """AUROC of the probe on texts that it was not fitted on."""
    difference_aurocs: Float[np.ndarray, " concepts"]
    """AUROC along the difference of class means, on those texts."""

    def absorption_arrays(
        self, activations: Any, ids: Ids, labels: SequenceLabels, named: dict[int, int]
    ) -> dict[str, Any]:
        """Return the arrays that absorption needs, where ``named`` has the concept of each latent.

        Activations are centered, because a constant part along a probe is carried by no latent.
        """
        truth = np.asarray(labels.truth)
        known = truth if labels.known is None else truth & np.asarray(labels.known)
        starts = compute_starts([*map(len, ids)])
        along = np.full((starts[-1], len(self.directions)), np.nan, np.float32)
        for text in np.flatnonzero(known.any(axis=1)).tolist():
            first, last = starts[text : text + 2]
            hidden = np.asarray(activations[first:last], np.float64) - self.center
            own = hidden @ self.directions.T
            along[first:last] = np.where(known[text] & (own > self.offsets), own, np.nan)
        names = tuple(f"{latent}: {labels.concepts[concept]}" for latent, concept in named.items())
        return {
            "probes": np.nan_to_num(self.directions),
            "projections": Ragged(along, starts),
            "explained": np.array([*named], np.int64),
            "concept_of": np.array([*named.values()], np.int64),
            "explanations": LatentExplanations(names),
        }


def sum_texts(activations: Any, ids: Ids) -> Float[np.ndarray, "texts dimensions"]:
    """Return the sum of the activations of each text."""
    starts = compute_starts([*map(len, ids)]).tolist()
    pairs = itertools.pairwise(starts)
    return np.array([np.sum(activations[a:b], axis=0, dtype=np.float64) for a, b in pairs])


def fit_concept_probes(
    activations: Any, ids: Ids, labels: SequenceLabels, split_seed: int = 0
) -> ConceptProbes:
    """Fit a probe of each concept by logistic regression on mean activations of texts.

    The penalty is chosen by five folds of the half that latents are chosen on.
    """
    truth = np.asarray(labels.truth)
    known = np.ones(truth.shape, bool) if labels.known is None else np.asarray(labels.known)
    samples = Samples(np.arange(len(truth)), clusters=labels.documents)
    first = select_half(samples, split_seed)
    keys = np.asarray(samples.index if samples.clusters is None else samples.clusters, np.int64)
    fold = (hash_integers(keys, 1 + split_seed) % np.uint64(FOLDS)).astype(int)
    pooled = sum_texts(activations, ids) / np.array([*map(len, ids)])[:, None]
    center, scale = pooled[first].mean(axis=0), pooled[first].std(axis=0)
    inside = (pooled - center) / np.where(scale > 0, scale, 1.0)
    many, wide = truth.shape[1], pooled.shape[1]
    directions, offsets = np.full((many, wide), np.nan), np.full(many, np.nan)
    aurocs = np.full((2, many), np.nan)
    for concept in range(many):
        there, rows = truth[:, concept], first & known[:, concept]
        if min((rows & there).sum(), (rows & ~there).sum()) < FEWEST:
            continue
        weights, offset = _fit_chosen(inside[rows], there[rows], fold[rows])
        plain = weights / np.where(scale > 0, scale, 1.0)
        length = np.linalg.norm(plain)
        if not length:
            continue
        directions[concept], offsets[concept] = plain / length, -offset / length
        means = pooled[rows & there].mean(axis=0) - pooled[rows & ~there].mean(axis=0)
        tested = known[:, concept] & ~first
        for place, direction in enumerate((plain, means)):
            own = (pooled[tested] - center) @ direction
            ones = np.ones((1, tested.sum()))
            aurocs[place, concept] = compute_weighted_aurocs(own, there[tested], ones)[0]
    return ConceptProbes(directions, offsets, center, *aurocs)


def _fit_chosen(
    inside: Float[np.ndarray, "texts dimensions"], there: Labels, fold: np.ndarray
) -> tuple[np.ndarray, float]:
    losses = np.zeros(len(PENALTIES))
    for place, penalty in enumerate(PENALTIES):
        for own in range(FOLDS):
            test = fold == own
            if len(np.unique(there[~test])) == 2 and test.any():
                weights, offset = _fit(inside[~test], there[~test], penalty)
                logit = (inside[test] @ weights + offset) * np.where(there[test], -1.0, 1.0)
                losses[place] += np.logaddexp(0, logit).sum()
    return _fit(inside, there, PENALTIES[int(np.argmin(losses))])


def _fit(
    inside: Float[np.ndarray, "texts dimensions"], there: Labels, penalty: float
) -> tuple[np.ndarray, float]:
    """Return weights and offset of a logistic regression whose classes count alike."""
    sign = np.where(there, 1.0, -1.0)
    share = np.where(there, 0.5 / there.sum(), 0.5 / (~there).sum())

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        logit = sign * (inside @ values[:-1] + values[-1])
        wrong = -sign * share / (1 + np.exp(np.clip(logit, -500, 500)))
        slope = np.append(wrong @ inside + penalty * values[:-1], wrong.sum())
        total = share @ np.logaddexp(0, -logit) + penalty / 2 * values[:-1] @ values[:-1]
        return float(total), slope

    solve: Callable[..., Any] = minimize
    best = solve(loss, np.zeros(inside.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return best[:-1], float(best[-1])
