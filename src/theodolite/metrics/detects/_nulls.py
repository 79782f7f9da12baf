"""Null baselines of the detection scores."""

from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import NullModel


def _by_chance(evidence: UnitEvidence, seed: int) -> UnitEvidence:
    del seed
    return replace(
        evidence,
        unit_pixels=np.asarray(evidence.chance_unit_pixels),
        formula_pixels=np.asarray(evidence.chance_formula_pixels),
        shared_pixels=np.asarray(evidence.chance_shared_pixels),
        annotated=evidence.chance_annotated,
    )


BY_CHANCE = NullModel(
    "by chance",
    "the best formula for what stands for nothing: the unit's masks dealt out over other pictures "
    "or sequences; or, if the evidence was made so, units of a random dictionary",
    _by_chance,
    random=False,
    per_item=True,
)
CHANCE_ARRAYS = ("chance_unit_pixels", "chance_formula_pixels", "chance_shared_pixels")


def _other_units_accuracy(state: Any, seed: int) -> Any:
    order = np.random.default_rng(seed).permutation(state.right.shape[-1])
    return replace(state, right=state.right[..., order], asked=state.asked[..., order])


SHUFFLED_UNITS = NullModel(
    "shuffled units",
    "each unit with the accuracy that belongs to another",
    _other_units_accuracy,
    on="state",
)
