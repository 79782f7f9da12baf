"""Attributions that name the features which matter, to a known extent."""

from typing import Any

import numpy as np

from theodolite._planted.certification.conditions import Condition
from theodolite._planted.certification.generators.base import Generator
from theodolite._planted.certification.layout import PlantedRows
from theodolite.evidence.axes import Chances, Removals
from theodolite.evidence.kinds.attribution import (
    ANOTHER,
    CHANCES,
    ONE_ORDER,
    AttributionEvidence,
)

FEATURES, TOP = 15, 5
COUNTS = np.array([1, 2, 3, 5, 8])
RIGHT = np.array([0.5, 0.75, 0.9, 1.0, 1.0])
"""How much of the effect goes with the first features of the right order."""
ANY = COUNTS / FEATURES
LEAST, MOST = 0.2, 1.0
"""What removing all that matters changes, of a sample."""
IN_GENERAL = {ONE_ORDER: 0.5, ANOTHER: 0.4}
"""What orders that know the model in general know of what the attributions know."""


def named_features(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> AttributionEvidence:
    """Right orders in so many samples as the dial says; the rest, and nulls at 0, are any."""
    del metric, models
    effect, dial = LEAST + (MOST - LEAST) * layout.uniform(), condition.dial
    right = layout.happens(dial).astype(float)
    own = _goes(layout, right)
    general = [next((q for n, q in IN_GENERAL.items() if c.startswith(n)), 0.0) for c in CHANCES]
    nulls = [_goes(layout, np.full(len(layout), dial * share)) for share in general]
    output = layout.normal()

    def answers(goes: np.ndarray, stays: float = 0.0) -> np.ndarray:
        moved = goes if stays == 0 else stays - goes
        return output[:, None] - effect[:, None] * moved

    return AttributionEvidence(
        values=np.ones((len(layout), FEATURES)), output=output, counts=COUNTS,
        removed=answers(own)[:, None], only=answers(own, 1.0)[:, None],
        chance_removed=np.stack([answers(null) for null in nulls], 1)[:, :, None],
        chance_only=np.stack([answers(null, 1.0) for null in nulls], 1)[:, :, None],
        best_removed=answers(np.broadcast_to(RIGHT, own.shape))[:, None],
        removals=Removals(("background",)), chances=Chances(CHANCES),
        samples=layout.samples(condition),
    )  # fmt: skip


def _goes(layout: PlantedRows, share: np.ndarray) -> np.ndarray:
    """The part of the effect that goes: of the right order, or of any with its luck."""
    luck = 0.5 + layout.uniform(1)
    return np.asarray(share[:, None] * RIGHT + (1 - share[:, None]) * ANY * luck)


def _mean_change(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    goes = condition.dial * RIGHT.mean() + (1 - condition.dial) * ANY.mean()
    size = (LEAST + MOST) / 2
    return float(size * (1 - goes if metric == "feature_sufficiency" else goes))


def sums_of_parts(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> AttributionEvidence:
    """Attributions whose sum is the output to the extent of the dial, and else any number."""
    del metric, models
    output, other = layout.normal(), layout.normal()
    total = condition.dial * output + (1 - condition.dial) * other
    return AttributionEvidence(
        values=np.column_stack([total, np.zeros(len(layout))]), output=output,
        base=np.zeros(len(layout)), samples=layout.samples(condition),
    )  # fmt: skip


def _gap(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return float((1 - condition.dial) * 2 / np.sqrt(np.pi))


def two_attributions(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> AttributionEvidence:
    """A second attribution is the first one's in so many samples as the dial says, else any."""
    del models
    first, other = layout.normal(FEATURES), layout.normal(FEATURES)
    second = np.where(layout.happens(condition.dial, 1), first, other)
    other_array: dict[str, Any] = {SECOND[metric]: second}
    return AttributionEvidence(values=first, samples=layout.samples(condition), **other_array)


SECOND = {
    "attribution_stability": "repeat_values", "method_agreement": "other_method_values",
    "attribution_randomization": "randomized_values",
}  # fmt: skip


def _agreement(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    by_chance = 0.0 if metric == "attribution_randomization" else TOP / FEATURES
    return condition.dial + (1 - condition.dial) * by_chance


NAMED_FEATURES = Generator(
    name="named features",
    says="in a share of samples (the dial) the features that matter are named in the right order, "
    "in the others in any; nulls that know the model in general know half as much",
    serves=("feature_necessity", "feature_sufficiency"),
    make=named_features,
    exact=_mean_change,
    reference=0.5,
    no_ends=("feature_sufficiency",),
)
SUMS_OF_PARTS = Generator(
    name="sums of parts",
    says="base and attributions add up to a mixture of the output (the dial) and any number",
    serves=("additivity_gap",),
    make=sums_of_parts,
    exact=_gap,
    reference=0.5,
)
TWO_ATTRIBUTIONS = Generator(
    name="two attributions",
    says="in a share of samples (the dial) a second attribution is the first, in the others any",
    serves=tuple(SECOND),
    make=two_attributions,
    exact=_agreement,
    reference=0.5,
)
