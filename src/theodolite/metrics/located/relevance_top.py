"""Metric of whether the strongest pixels of a relevance map lie on the object."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._stats.sampling import POOLED, draw_other_rows
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.shared.map_nulls import (
    FLAT_MAP,
    pool_maps,
    use_center,
    use_saturation,
)

TOP = 0.1
"""Of the object's pixels, how many of the strongest pixels are looked at."""
OTHER_MAPS = 3
_OTHER_SEED = 0x6F746865


def score_top_pixels(
    maps: Float[np.ndarray, "samples height width"], objects: np.ndarray
) -> Float[np.ndarray, " samples"]:
    """Return the share of the strongest pixels that is on the object; NaN without an object.

    Pixels that are not above 0 count as misses. Among equal pixels the mean over all choices
    counts.
    """
    size = len(maps), maps.shape[1] * maps.shape[2]
    strength = np.maximum(np.asarray(maps, float).reshape(size), 0.0)
    inside = objects.reshape(size)
    n_object = inside.sum(axis=1)
    n_top = np.maximum(np.rint(TOP * n_object), 1.0)
    ordered = -np.sort(-strength, axis=1)
    line = np.take_along_axis(ordered, n_top.astype(int)[:, None] - 1, axis=1)
    above = strength > line
    level = (strength == line) & (line > 0)
    left = np.where(line[:, 0] > 0, n_top - above.sum(axis=1), 0.0)
    on_level = (level & inside).sum(axis=1) / np.maximum(level.sum(axis=1), 1)
    hits = ((above & inside).sum(axis=1) + left * on_level) / n_top
    return np.where(n_object > 0, hits, np.nan)


def _score_of(maps: np.ndarray | None, evidence: SaliencyEvidence) -> PerSample:
    """Score other maps of these images; undefined without them."""
    objects = np.asarray(evidence.objects)
    if maps is None:
        return PerSample.from_values(np.full(len(objects), np.nan))
    return PerSample.from_values(score_top_pixels(maps, objects))


def _score_others(
    evidence: SaliencyEvidence, sums: Mapping[str, np.ndarray], **options: Any
) -> PerSample:
    del options
    samples, objects = evidence.samples, np.asarray(evidence.objects)
    rows = draw_other_rows(
        sums, np.asarray(samples.index), (OTHER_MAPS,), _OTHER_SEED, samples.clusters
    )
    if not objects.size or (rows < 0).any():
        return PerSample.from_values(np.full(len(objects), np.nan))
    maps = sums[POOLED + "maps"]
    scores = [score_top_pixels(maps[rows[:, i]], objects) for i in range(OTHER_MAPS)]
    return PerSample.from_values(np.mean(scores, axis=0))


def _mark_object(evidence: SaliencyEvidence) -> SaliencyEvidence:
    return replace(evidence, maps=np.asarray(evidence.objects, float))


@metric(
    "relevance_top",
    title="Strongest pixels on the object",
    question="located",
    asked_as="Do the strongest pixels lie on the object?",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("maps", "objects"),
    may_use=("saturation",),
    ideal=_mark_object,
    threshold=0.8,
    threshold_from="null",
    share_from=("another_image", "center", "uniform_map", "saturation"),
    nulls=(
        NullModel(
            "another_image", "the maps of three other images, mean",
            expected=_score_others, sums=pool_maps, random=False, label="another image's map",
        ),
        NullModel(
            "center", "one hill in the middle of every image", random=False,
            expected=lambda evidence, **options: _score_of(use_center(evidence), evidence),
            label="center baseline",
        ),
        FLAT_MAP,
        NullModel(
            "saturation", "the color saturation of the image; undefined without images",
            expected=lambda evidence, **options: _score_of(use_saturation(evidence), evidence),
            random=False, label="color saturation",
        ),
    ),
    cite="arras2022clevr",
    card=Card(
        question="Do the strongest pixels of the map lie on the object?",
        interpretation="1 if the strongest pixels, a tenth as many as the object has, are all on "
        "it. It depends neither on the size of the object nor on how far a map spreads. The "
        "strongest baseline is taken off: of the way from it to 1, 80 % is enough; a convention. A "
        "map that is right in half of the images is half of the way.",
        limitations="A network may use the background, and a faithful map then marks it. Not seen: "
        "whether the network made the map (a copy of the mask scores 1), relevance below 0, "
        "whether maps were chosen because they lie on the object, and whether the whole object is "
        "marked. Where objects are always in the middle, or more "
        "colorful than the rest, maps cannot be judged. Color saturation needs the images.",
        cost="one sort of each map",
        template="{value} of the strongest pixels lie on the object ({low}–{high}{best}). "
        "{null}{enough}.",
    ),
)  # fmt: skip
class RelevanceTop(SampleMean):
    r"""Share of the strongest pixels that is on the object, mean over images.

    .. math:: \frac1N \sum_i \frac{|\mathrm{top}_{k_i}(e^+_i) \cap O_i|}{k_i}, \qquad
        k_i = \max(1, \mathrm{round}(|O_i| / 10))

    Of equal pixels at the line, the mean over all ways to take some of them. Where fewer than
    :math:`k_i` pixels are above 0, the missing ones count as misses. Undefined without an object.
    Close to the relevance rank accuracy of :cite:t:`arras2022clevr`, which takes as many pixels as
    the object has.

    Example:
        >>> from theodolite.metrics import relevance_top
        >>> relevance_top([[[3.0, 1.0], [0.0, 0.0]]], [[[True, False], [True, False]]])
        1.0
    """

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        """Score the map of each image."""
        return _score_of(evidence.maps, evidence)
