"""Attributions that name the features which matter, to a known extent."""

from dataclasses import replace

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite._stats.subset_fits import sum_removed
from theodolite.evidence.attributions.subsets import draw_subsets
from theodolite.evidence.axes import AttributionScale
from theodolite.evidence.kinds.attribution import AttributionEvidence

READABLE, READ = 12, 5
FEATURES, TOP = 15, 5
WEIGHTS = np.linspace(0.0, 1.8, READABLE + 1) ** 4
"""Of the selector, which is not added, and of the others."""
SUMMED, NOISE = 8, 0.3
SECOND = {
    "attribution_stability": "repeat_values", "method_agreement": "other_method_values",
    "attribution_randomization": "randomized_values",
}  # fmt: skip


def planted_attributions(
    n_samples: int = 200, *, alignment: float = 1.0, blindness: float = 0.0, seed: int = 0
) -> AttributionEvidence:
    """Attributions to the features that a model reads, in a share ``alignment`` of the samples.

    The first feature says which five of the other twelve the model adds up. On other samples the
    attributions are of five others. ``blindness`` is the share of samples whose attributions stay
    the same when the model is trained on permuted labels.

    >>> planted = planted_attributions(4)
    >>> bool(np.allclose(planted.values.sum(axis=1), planted.output))
    True
    """
    random = np.random.default_rng(seed)
    inputs, background = (_draw_rows(random, n, mean) for n, mean in ((n_samples, 0.8), (40, 0.0)))
    start = inputs[:, 0].astype(int)
    start = np.where(random.random(n_samples) < alignment, start, start + READ)
    values = np.where(_mark_read_features(start), inputs * WEIGHTS, 0.0)
    blind = random.random((n_samples, 1)) < blindness
    other = random.normal(size=inputs.shape)
    return AttributionEvidence(
        values=values, inputs=inputs, background=background, respond=_sum_read_features,
        base=np.zeros(n_samples), scale=AttributionScale(("raw",)),
        randomized_values=np.where(blind, values, other), repeat_values=values,
        other_method_values=values,
    )  # fmt: skip


def _draw_rows(random: np.random.Generator, n: int, mean: float) -> np.ndarray:
    numbers = random.normal(mean, 1.0, size=(n, READABLE))
    return np.column_stack([random.integers(0, READABLE, n), numbers])


def _mark_read_features(start: np.ndarray) -> np.ndarray:
    """Five features in a row, from the first again after the last."""
    read = (np.arange(READABLE) - start[:, None]) % READABLE < READ
    return np.column_stack([np.zeros(len(start), bool), read])


def _sum_read_features(rows: np.ndarray) -> np.ndarray:
    read = _mark_read_features(rows[:, 0].astype(int))
    return np.asarray(np.where(read, rows * WEIGHTS, 0.0).sum(axis=1))


def _fit_cells(size: str) -> list[Condition]:
    """Return the conditions of a validation."""
    dials = (0.0, 0.5, 1.0)
    if size == "ci":
        return [Condition(clusters=60, dial=dial) for dial in dials]
    cells = [Condition(clusters=n, dial=dial) for n in (30, 100, 300) for dial in dials]
    usual = Condition(clusters=60, rows=5, within=0.33)
    others = (
        Condition(clusters=1000), usual, replace(usual, unequal=True),
        replace(usual, clusters=10, rows=20), Condition(clusters=30, rows=10),
    )  # fmt: skip
    return cells + [replace(other, dial=dial) for other in others for dial in dials[:2]]


@generator(
    "additive answers", AttributionEvidence, serves=("attribution_fit", "ranking_fit"),
    says="in a share of samples (the dial) attributions are what removal changes, but for noise, "
    "in the others any numbers, larger for the features that matter less",
    no_ends=("attribution_fit", "ranking_fit"), dials=(0.0, 0.5, 1.0), cells=_fit_cells,
)  # fmt: skip
def additive_answers(draw: Draw) -> Arrays:
    size = np.linspace(1.0, 0.2, SUMMED)
    right, other = draw.normal(SUMMED) * size, draw.normal(SUMMED) * size[::-1]
    removed = draw_subsets(np.arange(len(draw)), SUMMED, seed=0)
    noise = NOISE * draw.normal(removed.shape[1])
    return {
        "values": np.where(draw.happens(draw.dial, 1), right, other), "removed": removed,
        "change": sum_removed(right, removed) + noise,
    }  # fmt: skip


@generator(
    "sums of parts", AttributionEvidence, serves=("additivity_gap",),
    says="base and attributions add up to a mixture of the output (the dial) and any number",
    exact=lambda draw: float((1 - draw.dial) * 2 / np.sqrt(np.pi)),
)  # fmt: skip
def sums_of_parts(draw: Draw) -> Arrays:
    output, other = draw.normal(), draw.normal()
    total = draw.dial * output + (1 - draw.dial) * other
    zero = np.zeros(len(draw))
    return {"values": np.column_stack([total, zero]), "output": output, "base": zero}


def _compute_agreement(draw: Draw) -> float:
    by_chance = 0.0 if draw.metric == "attribution_randomization" else TOP / FEATURES
    return draw.dial + (1 - draw.dial) * by_chance


@generator(
    "two attributions", AttributionEvidence, serves=tuple(SECOND),
    says="in a share of samples (the dial) a second attribution is the first, in the others any",
    exact=_compute_agreement,
)  # fmt: skip
def two_attributions(draw: Draw) -> Arrays:
    first, other = draw.normal(FEATURES), draw.normal(FEATURES)
    second = np.where(draw.happens(draw.dial, 1), first, other)
    return {"values": first, SECOND[draw.metric]: second}
