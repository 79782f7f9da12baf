"""Metrics of whether a relevance map marks the object."""

from functools import partial
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric, ratio
from theodolite.metrics.shared.map_nulls import (
    FLAT_MAP,
    IMAGE_CENTER,
    NOISE,
    RANDOM_PLACE,
    SHUFFLED_IMAGES,
)

Sign = Annotated[
    Literal["positive", "absolute"],
    Field(description="Relevance that counts: the positive part, or its size whatever the sign."),
]
map_metric = partial(
    metric,
    question="located",
    asked_as="Does the map mark the object?",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps", "objects"),
    nulls=(IMAGE_CENTER, SHUFFLED_IMAGES, FLAT_MAP),
    cite="arras2022clevr",
)


def flattened(maps: np.ndarray) -> np.ndarray:
    """Pixels in a row, also of no images."""
    return maps.reshape(len(maps), maps.shape[1] * maps.shape[2])


def select_relevance(evidence: SaliencyEvidence, sign: Sign) -> Float[np.ndarray, "samples pixels"]:
    """Return relevance for the class only, or its absolute value."""
    maps = flattened(evidence.maps).astype(np.float64)
    return np.asarray(np.abs(maps) if sign == "absolute" else np.maximum(maps, 0.0))


def get_objects(evidence: SaliencyEvidence) -> np.ndarray:
    """Return the masks of the objects."""
    return flattened(np.asarray(evidence.objects))


@map_metric(
    "relevance_mass",
    title="Relevance on the object",
    version=2,
    threshold=0.8,
    decides=False,
    card=Card(
        question="How much of the relevance lies on the object?",
        interpretation="A share of the relevance. It depends on the size of the object and on the "
        "style of the map: `relevance_top` does not, and decides.",
        limitations="A network may use the background, and a faithful map then marks it: a low "
        "share can be the network's fault. Large objects make any map look good, and a map that "
        "adds the same to every pixel, as RISE does, a poor one: its order is read by the rank. "
        "Not seen: whether the network made the map (a copy of the mask scores 1), relevance below "
        "0, and maps that were chosen because they lie on the object.",
        cost="one sum over each map",
        template="{value} of the relevance lies on the object ({low}–{high}{best}). "
        "{null}{enough}.",
    ),
)
class RelevanceMass(SampleMean):
    r"""Share of the relevance that lies on the object, mean over images.

    .. math:: \frac{\sum_{p \in O} e^+_p}{\sum_p e^+_p}

    Only what speaks for the class counts, or with ``sign="absolute"`` what speaks for or against
    it. Undefined without an object and for maps of zeros. See :cite:t:`arras2022clevr`.

    Example:
        >>> from theodolite.metrics import relevance_mass
        >>> relevance_mass([[[3.0, 1.0], [0.0, -2.0]]], [[[True, False], [False, False]]])
        0.75
    """

    @staticmethod
    def each(evidence: SaliencyEvidence, *, sign: Sign = "positive") -> PerSample:
        marked, there = select_relevance(evidence, sign), get_objects(evidence)
        inside = np.where(there, marked, 0.0).sum(axis=1)
        share = np.minimum(ratio(inside, marked.sum(axis=1)), 1.0)
        return PerSample.from_values(np.where(there.any(axis=1), share, np.nan))


@map_metric(
    "relevance_rank",
    title="Highest pixels on the object",
    version=2,
    threshold=0.8,
    decides=False,
    card=Card(
        question="Are the most relevant pixels those of the object?",
        interpretation="1 if the map ranks every pixel of the object above all others. It does not "
        "mind how large the numbers are, only their order.",
        limitations="Maps with many zeros are ranked by chance from there on, which is counted as "
        "the mean over all orders. Large objects make any map look good.",
        cost="one sort of each map",
    ),
)
class RelevanceRank(SampleMean):
    r"""Of as many most relevant pixels as the object has, the share that are its own.

    .. math:: \frac{|\mathrm{top}_{|O|}(e) \cap O|}{|O|}

    Where equal pixels straddle the line, the mean over all ways to take some of them. Undefined
    without an object and for maps of zeros. See :cite:t:`arras2022clevr`.

    Example:
        >>> from theodolite.metrics import relevance_rank
        >>> relevance_rank([[[3.0, 1.0], [0.5, 0.0]]], [[[True, False], [True, False]]])
        0.5
    """

    @staticmethod
    def each(evidence: SaliencyEvidence, *, sign: Sign = "positive") -> PerSample:
        marked, there = select_relevance(evidence, sign), get_objects(evidence)
        n = there.sum(axis=1)
        ordered = -np.sort(-marked, axis=1)
        line = np.take_along_axis(ordered, np.maximum(n - 1, 0)[:, None], axis=1)
        above, level = marked > line, marked == line
        left = n - above.sum(axis=1)  # places that are dealt out among the equal ones
        share = (level & there).sum(axis=1) / np.maximum(level.sum(axis=1), 1)
        hits = (above & there).sum(axis=1) + left * share
        return PerSample.from_values(hits / np.maximum(n, 1), (n > 0) & marked.any(axis=1))


@map_metric(
    "relevance_peak",
    title="Peak on the object (pointing game)",
    version=2,
    threshold=0.9,
    decides=False,
    nulls=(IMAGE_CENTER, SHUFFLED_IMAGES, RANDOM_PLACE),
    cite="zhang2018excitation",
    card=Card(
        question="Does the map peak on the object?",
        interpretation="A share of the images; one pixel of each map decides. The middle of the "
        "image is often the object: it must be beaten first.",
        limitations="Maps that mark everything pass as well, if they mark the object a little "
        "more.",
        cost="one maximum per map",
    ),
)
class RelevancePeak(SampleMean):
    r"""Share of images whose map is highest on the object: the pointing game.

    .. math:: \frac{\#\{i : \arg\max_p e_i(p) \in O_i\}}{\#\{i\}}

    Where several pixels are highest, the share of them that are on the object. Undefined without
    an object and for maps in which all pixels are alike. See :cite:t:`zhang2018excitation`.

    Example:
        >>> from theodolite.metrics import relevance_peak
        >>> relevance_peak([[[3.0, 1.0]]], [[[True, False]]])
        1.0
    """

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        maps, there = flattened(evidence.maps), get_objects(evidence)
        highest = maps == maps.max(axis=1, keepdims=True)
        hits = (highest & there).sum(axis=1) / np.maximum(highest.sum(axis=1), 1)
        return PerSample.from_values(hits, there.any(axis=1) & ~highest.all(axis=1))


Form = Annotated[
    Literal["defined", "reference"],
    Field(description="As defined, or with 1e-7 added to every pixel, as published code does."),
]


@map_metric(
    "sparseness",
    title="Sparseness",
    uses=("maps",),
    decides=False,
    nulls=(NOISE,),
    cite="chalasani2020concise",
    card=Card(
        question="Does the map point at few pixels?",
        interpretation="0 if all pixels matter alike, near 1 if a single one does; noise has a "
        "third.",
        limitations="Few is not right: a map of one wrong pixel is as sparse as can be. It depends "
        "on the number of pixels and on whether negative relevance was cut off.",
        cost="one sort of each map",
    ),
)
class Sparseness(SampleMean):
    r"""Gini index of the relevance, signs left out, mean over images.

    .. math:: G = \frac{\sum_i (2i - n - 1)\, a_{(i)}}{n \sum_i a_{(i)}}, \qquad a = |e|

    with the :math:`n` pixels in rising order. It is 0 where all pixels are alike and
    :math:`1 - 1/n` where one alone matters. A map of nothing but zeros is undefined; ``reference``
    adds 1e-7 to every pixel, as published code does, and gives 0. See
    :cite:t:`chalasani2020concise`.

    Example:
        >>> from theodolite.metrics import sparseness
        >>> sparseness([[[1.0, 2.0], [3.0, 4.0]]])
        0.25
    """

    @staticmethod
    def each(evidence: SaliencyEvidence, *, form: Form = "defined") -> PerSample:
        size = np.abs(flattened(evidence.maps).astype(np.float64))
        if form == "reference":
            size += 1e-7
        size.sort(axis=1)
        n = size.shape[1]
        weights = 2.0 * np.arange(1, n + 1) - n - 1
        index = ratio(size @ weights, n * size.sum(axis=1))
        # rounding may leave what is 0 a little below
        return PerSample.from_values(np.maximum(index, 0.0))
