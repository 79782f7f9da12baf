"""Attributions that name the features which matter, to a known extent."""

import numpy as np

from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.axes import AttributionScale, Chances, Removals
from theodolite.evidence.kinds.attribution import (
    ANOTHER,
    CHANCES,
    ONE_ORDER,
    AttributionEvidence,
)

READABLE, READ = 12, 5
FEATURES, TOP = 15, 5
COUNTS = np.array([1, 2, 3, 5, 8])
RIGHT = np.array([0.5, 0.75, 0.9, 1.0, 1.0])
"""How much of the effect goes with the first features of the right order."""
ANY = COUNTS / FEATURES
LEAST, MOST = 0.2, 1.0
"""What removing all that matters changes, of a sample."""
IN_GENERAL = {ONE_ORDER: 0.5, ANOTHER: 0.4}
"""What orders that know the model in general know of what the attributions know."""
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
    inputs, background = (_draw_rows(random, n) for n in (n_samples, 40))
    start = inputs[:, 0].astype(int)
    start = np.where(random.random(n_samples) < alignment, start, start + READ)
    values = np.where(_mark_read_features(start), inputs, 0.0)
    blind = random.random((n_samples, 1)) < blindness
    other = random.normal(size=inputs.shape)
    return AttributionEvidence(
        values=values, inputs=inputs, background=background, respond=_sum_read_features,
        base=np.zeros(n_samples), scale=AttributionScale(("raw",)),
        randomized_values=np.where(blind, values, other), repeat_values=values,
        other_method_values=values,
    )  # fmt: skip


def _draw_rows(random: np.random.Generator, n: int) -> np.ndarray:
    numbers = random.normal(size=(n, READABLE))
    return np.column_stack([random.integers(0, READABLE, n), numbers])


def _mark_read_features(start: np.ndarray) -> np.ndarray:
    """Five features in a row, from the first again after the last."""
    read = (np.arange(READABLE) - start[:, None]) % READABLE < READ
    return np.column_stack([np.zeros(len(start), bool), read])


def _sum_read_features(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(_mark_read_features(rows[:, 0].astype(int)), rows, 0.0).sum(axis=1))


def _compute_mean_change(draw: Draw) -> float:
    goes = draw.dial * RIGHT.mean() + (1 - draw.dial) * ANY.mean()
    size = (LEAST + MOST) / 2
    return float(size * (1 - goes if draw.metric == "feature_sufficiency" else goes))


@generator(
    "named features", AttributionEvidence, serves=("feature_necessity", "feature_sufficiency"),
    says="in a share of samples (the dial) the features that matter are named in the right order, "
    "in the others in any; nulls that know the model in general know half as much",
    exact=_compute_mean_change, no_ends=("feature_sufficiency",),
)  # fmt: skip
def named_features(draw: Draw) -> Arrays:
    effect = LEAST + (MOST - LEAST) * draw.uniform()
    own = _compute_removed_effect(draw, draw.happens(draw.dial).astype(float))
    general = [next((q for n, q in IN_GENERAL.items() if c.startswith(n)), 0.0) for c in CHANCES]
    nulls = [
        _compute_removed_effect(draw, np.full(len(draw), draw.dial * share)) for share in general
    ]
    output = draw.normal()

    def answers(goes: np.ndarray, stays: float = 0.0) -> np.ndarray:
        moved = goes if stays == 0 else stays - goes
        return output[:, None] - effect[:, None] * moved

    return {
        "values": np.ones((len(draw), FEATURES)), "output": output, "counts": COUNTS,
        "removed": answers(own)[:, None], "only": answers(own, 1.0)[:, None],
        "chance_removed": np.stack([answers(null) for null in nulls], 1)[:, :, None],
        "chance_only": np.stack([answers(null, 1.0) for null in nulls], 1)[:, :, None],
        "best_removed": answers(np.broadcast_to(RIGHT, own.shape))[:, None],
        "removals": Removals(("background",)), "chances": Chances(CHANCES),
    }  # fmt: skip


def _compute_removed_effect(draw: Draw, share: np.ndarray) -> np.ndarray:
    """The part of the effect that goes: of the right order, or of any order at random."""
    portion, factor = share[:, None], 0.5 + draw.uniform(1)
    return np.asarray(portion * RIGHT + (1 - portion) * ANY * factor)


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
