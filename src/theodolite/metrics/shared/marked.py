"""Relevance inside and outside of the object: what the scores of places share."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import PerSample
from theodolite.metrics.shared.map_nulls import (
    FLAT_MAP,
    IMAGE_CENTRE,
    RANDOM_PLACE,
    SHUFFLED_PICTURES,
)

Sign = Annotated[
    Literal["positive", "absolute"],
    Field(description="Relevance that counts: the positive part, or its size whatever the sign."),
]
NULLS = (IMAGE_CENTRE, SHUFFLED_PICTURES, FLAT_MAP)
NULLS_OF_PEAKS = (IMAGE_CENTRE, SHUFFLED_PICTURES, RANDOM_PLACE)
ASKED_AS = "Does the map mark the object?"


def flattened(maps: np.ndarray) -> np.ndarray:
    """Pixels in a row, also of no pictures."""
    return maps.reshape(len(maps), maps.shape[1] * maps.shape[2])


def relevance(evidence: SaliencyEvidence, sign: Sign) -> Float[np.ndarray, "samples pixels"]:
    """What speaks for the class, or for and against it."""
    maps = flattened(evidence.maps).astype(np.float64)
    return np.asarray(np.abs(maps) if sign == "absolute" else np.maximum(maps, 0.0))


def objects(evidence: SaliencyEvidence) -> np.ndarray:
    """The object's pixels."""
    return flattened(np.asarray(evidence.objects))


def shares(part: np.ndarray, defined: np.ndarray) -> PerSample:
    """A share for each picture that shows the object and whose map says anything."""
    return PerSample(
        np.where(defined, part, 0.0), defined.astype(float), np.ones(len(defined), bool)
    )
