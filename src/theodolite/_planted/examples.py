"""A small example of each kind of evidence, by a seed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from theodolite._planted.attributions import planted_attributions
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.edits import planted_edits
from theodolite._planted.judgments import planted_judgments
from theodolite._planted.leakage import planted_embeddings
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite._planted.surrogates import planted_surrogates
from theodolite._planted.tokens import planted_tokens
from theodolite._planted.units import planted_units
from theodolite.evidence.base import Bundle, Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.ragged import Ragged

SAMPLES, CONCEPTS, CLASSES = 30, 3, 3
LENGTHS = {"samples": SAMPLES, "concepts": CONCEPTS, "classes": CLASSES}
OTHER_AXES = 5
"""Length of an axis that is only known by its name."""


def plant_example(kind: type[Bundle], seed: int) -> Bundle:
    """Return a small example of a kind of evidence, which `check_kind` audits.

    A kind of another package may have a class method ``planted(seed)`` of its own.

    >>> plant_example(ConceptEvidence, 0)
    <ConceptEvidence: 30 samples, 3 concepts, 3 classes; values, truth, labels, predicted, \
weights, class_truth>
    """
    example: Any
    if (own := getattr(kind, "planted", None)) is not None:
        example = own(seed)
    elif (planted := EXAMPLES.get(kind)) is not None:
        example = planted(seed=seed)
    else:
        example = plant_declared_kind(kind, seed)
    return example  # type: ignore[no-any-return]


def plant_declared_kind(kind: type[Bundle], seed: int) -> Bundle:
    """Numbers from 0 to 1 on the declared axes. A kind that checks more than that plants its own.

    >>> from theodolite.evidence.kinds.intervention import InterventionEvidence
    >>> plant_declared_kind(InterventionEvidence, 0)
    <InterventionEvidence: 30 samples, 5 policies; right_after, right_reference>
    """
    random = np.random.default_rng(seed)
    members: dict[str, Any] = {
        name: plant_example(inner, seed) for name, inner in kind.inner_kinds()
    }
    for name, layout in kind.layouts():
        shape = tuple(
            int(axis) if axis.isdigit() else LENGTHS.get(axis, OTHER_AXES) for axis in layout.axes
        )
        values = _random_array(random, layout, shape)
        depth = len(layout.ragged)
        members[name] = Ragged.from_rows(list(values), depth) if depth else values
    return kind(**members)


def _random_array(
    random: np.random.Generator, layout: Layout, shape: tuple[int, ...]
) -> np.ndarray:
    if layout.content == "real":
        return np.asarray(random.random(shape))
    if layout.content == "flag":
        return np.asarray(random.random(shape) < 0.5)
    return random.integers(0, LENGTHS.get(str(layout.points_to), OTHER_AXES), shape)


def _saliency_example(seed: int) -> SaliencyEvidence:
    planted = planted_saliency(SAMPLES, alignment=0.7, blindness=0.2, seed=seed)
    return replace(planted, predicted=np.arange(SAMPLES) % CLASSES)


def _rating_example(seed: int) -> RatingEvidence:
    planted = planted_ratings(SAMPLES, agreement=0.7, seed=seed)
    noise = np.random.default_rng(seed).normal(size=(SAMPLES, 2))
    return replace(planted, measured=np.asarray(planted.predicted)[:, None] + noise)


def _attribution_example(seed: int) -> AttributionEvidence:
    planted = planted_attributions(SAMPLES, alignment=0.7, blindness=0.2, seed=seed)
    return replace(planted, labels=(np.asarray(planted.output) > 0).astype(int))


EXAMPLES: dict[type[Evidence], Callable[..., Evidence]] = {
    ConceptEvidence: partial(planted_concepts, SAMPLES, CONCEPTS, CLASSES, alignment=0.8),
    LocationEvidence: partial(planted_locations, SAMPLES, CONCEPTS, alignment=0.8),
    EmbeddingEvidence: partial(planted_embeddings, SAMPLES, CONCEPTS, leakage=0.1),
    EditEvidence: partial(planted_edits, SAMPLES, CONCEPTS, CLASSES, carried=0.4),
    TokenEvidence: partial(planted_tokens, SAMPLES, CONCEPTS, alignment=0.7),
    JudgmentEvidence: partial(planted_judgments, 10, 3, right=0.85),
    UnitEvidence: partial(planted_units, SAMPLES, OTHER_AXES, alignment=0.8),
    SurrogateEvidence: partial(planted_surrogates, SAMPLES, CLASSES, faithfulness=0.8),
    SaliencyEvidence: _saliency_example,
    RatingEvidence: _rating_example,
    AttributionEvidence: _attribution_example,
}
