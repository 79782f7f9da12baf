"""Metrics of saliency maps: does the output depend on the marked pixels, and the map on the
model?"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric, ratio
from theodolite.metrics.option_types import Thresholds
from theodolite.metrics.shared.map_nulls import ANOTHER_MAP, CHANCES, NOTHING_IN_COMMON

Removal = Annotated[
    Literal["first", "road", "black", "uniform", "gaussian"],
    Field(description="Which way of removing pixels is read; first: the first in the evidence."),
]
Across = Annotated[
    Literal["best", "mean"],
    Field(description="How thresholds are summed up: the best of them, or their mean."),
]
Form = Annotated[
    Literal["relative", "absolute"],
    Field(description="Change as a share of the map's size, or as it is."),
]
Noise = Annotated[
    Literal["first", "uniform", "gaussian"],
    Field(description="Which noise is read; first: the first in the evidence."),
]
THRESHOLDS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
CHANCE_CURVES = ("chance_most_first", "chance_least_first")
LOST = math.exp(-1)
"""Sufficiency where all confidence is lost at once."""
MOST = 2 * (1 - LOST) / (2 - LOST)
"""Reached where the answer is lost at once and nothing else matters."""


def make_ideal_map(evidence: SaliencyEvidence) -> SaliencyEvidence:
    """Return the map whose pixels change the output when removed and keep it when kept.

    A change counts whichever way it goes: of an answer with less than half the probability most is
    changed if it becomes certain.
    """
    clean = np.asarray(evidence.clean)[:, None, None]
    shape = np.asarray(evidence.most_first).shape
    gone = np.where(clean < 0.5, 1.0, 0.0)
    return replace(
        evidence, most_first=np.broadcast_to(gone, shape), least_first=np.broadcast_to(clean, shape)
    )


map_metric = partial(
    metric, question="faithful", asked_as="Does the output depend on what the map marks?"
)
removal_metric = partial(
    map_metric,
    better="higher",
    may_use=("removals",),
    ideal=make_ideal_map,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
)


class RemovalScore(SampleMean):
    """Reads how the answer changes while pixels are removed in the order of a map."""

    curves: ClassVar[tuple[Literal["least_first", "most_first"], ...]]
    """Orders of removal. The measures of two have a harmonic mean."""

    @classmethod
    def each(
        cls,
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """Read the curves of each image."""
        measures = [
            _best_or_mean(
                MEASURES[curve](_mean_changes(evidence, curve, thresholds, removal)), across
            )
            for curve in cls.curves
        ]
        if len(measures) == 1:
            return PerSample.from_values(measures[0])
        first, second = measures  # the first, sufficiency, is never 0
        return PerSample.from_values(2 * first * second / (first + second))


MEASURES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "least_first": lambda changes: np.exp(-changes),
    "most_first": lambda changes: 1 - np.exp(-changes),
}
"""Sufficiency: 1 if nothing changes. Necessity: 0 if nothing changes."""


def _best_or_mean(by_threshold: np.ndarray, across: Across) -> np.ndarray:
    """Return the best value over thresholds, or their mean; NaN if there is none."""
    if not by_threshold.shape[1]:
        return np.full(len(by_threshold), np.nan)
    return np.asarray(by_threshold.max(axis=1) if across == "best" else by_threshold.mean(axis=1))


def _mean_changes(
    evidence: SaliencyEvidence, curve: str, thresholds: tuple[float, ...], removal: Removal
) -> Float[np.ndarray, "samples thresholds"]:
    """Mean change of the probability over all steps below each threshold that has some.

    Steps are nested: those of a low threshold are the first ones of a higher, so one running sum
    serves them all.
    """
    way = _position(evidence.removals.names, "removal", removal)
    probabilities = np.asarray(getattr(evidence, curve))[:, way]
    moved = np.abs(np.asarray(evidence.clean)[:, None] - probabilities)
    running = np.cumsum(moved, axis=1)
    n = np.searchsorted(np.asarray(evidence.percents), np.asarray(thresholds), side="left")
    n = np.unique(n)  # thresholds with the same steps, such as those beyond the last, count once
    n = n[n > 0]
    return np.asarray(running[:, n - 1] / n)


def _position(names: Sequence[str], option: str, choice: str) -> int:
    if choice == "first":
        return 0
    if choice not in names:
        raise EvidenceError(f"{option}={choice!r}", f"{list(names)}", "it in the evidence")
    return names.index(choice)


@removal_metric(
    "removal_faithfulness",
    title="Removal faithfulness",
    version=2,
    bounds=(0.0, MOST),
    uses=("clean", "percents", "most_first", "least_first"),
    nulls_use=CHANCE_CURVES,
    threshold=0.5,
    card=Card(
        question="Does the answer change without the marked pixels, and only without them?",
        interpretation="0.77 is the most there can be; what a map without fault reaches on these "
        "images is marked. From half of that on we would rely on it; a convention.",
        limitations="Images with pixels removed are unlike any that the network knows: it may "
        "change its mind for that alone, which is why maps that know nothing stand beside it: "
        "noise, which filling in all but undoes, broad hills, and the middle of the image. "
        "Sufficiency is near 1 for any map, as a few irrelevant pixels change nothing; so the "
        "number is nearly a matter of necessity. The probabilities of these baselines are taken as "
        "they are given.",
        cost="one forward for each step, way and direction; all thresholds share them",
        template="Removing what the map marks first changes the answer by {value} more than "
        "removing it last ({low}–{high}{best}). {null}{enough}.",
    ),
)
class RemovalFaithfulness(RemovalScore):
    r"""Harmonic mean of sufficiency and necessity, mean over images.

    .. math:: F = \frac{2 S N}{S + N}, \qquad
        S = \max_t e^{-\overline{d}^{\,\mathrm{least}}_t}, \quad
        N = \max_t \bigl(1 - e^{-\overline{d}^{\,\mathrm{most}}_t}\bigr)

    :math:`\overline{d}_t` is the mean of :math:`|p(\hat y|x) - p(\hat y|x')|` over all images
    :math:`x'` with less than :math:`t` per cent of the pixels removed, the least or the most
    relevant first. Thresholds below the first step have no such image and are left out. Follows
    algorithm 1 of :cite:t:`kazmierczak2024benchmarking`, which prints the maximum over the last
    list of changes where that over thresholds is meant.

    Example:
        >>> from theodolite.metrics import removal_faithfulness
        >>> most_first, least_first = [[[0.6, 0.2]]], [[[0.9, 0.8]]]
        >>> round(removal_faithfulness([0.9], [1, 3], most_first, least_first), 4)
        0.5567
    """

    curves = ("least_first", "most_first")


@removal_metric(
    "removal_necessity",
    title="Necessity of the marked pixels",
    bounds=(0.0, 1.0 - LOST),
    uses=("clean", "percents", "most_first"),
    nulls_use=("least_first", *CHANCE_CURVES),
    decides=False,
    card=Card(
        question="Does the answer change without the pixels that are said to matter?",
        interpretation="0.63 if all confidence is lost at once, 0 if nothing changes. Compare it "
        "with the random map: large parts of any image, removed anyhow, change the answer.",
        limitations="Images with pixels removed are unlike any that the network knows, and it may "
        "change its mind for that alone.",
        cost="one forward for each step and way; all thresholds share them",
    ),
)
class RemovalNecessity(RemovalScore):
    r"""How much the answer changes without the most relevant pixels, mean over images.

    .. math:: N = \max_t \bigl(1 - \exp(-\overline{d}_t)\bigr)

    with changes :math:`\overline{d}_t` as in
    :func:`~theodolite.metrics.functions.faithful.removal_faithfulness`. See algorithm 1 of
    :cite:t:`kazmierczak2024benchmarking`.

    Example:
        >>> from theodolite.metrics import removal_necessity
        >>> round(removal_necessity([0.9], [1, 3], most_first=[[[0.6, 0.2]]]), 4)
        0.3935
    """

    curves = ("most_first",)


@removal_metric(
    "removal_sufficiency",
    title="Sufficiency of the marked pixels",
    bounds=(LOST, 1.0),
    uses=("clean", "percents", "least_first"),
    nulls_use=("most_first", *CHANCE_CURVES),
    decides=False,
    card=Card(
        question="Does the answer stay without the pixels that are said not to matter?",
        interpretation="1 if nothing changes, 0.37 if all confidence is lost at once. Compare it "
        "with the random map: the best over thresholds is near 1 for almost any map.",
        limitations="The smallest threshold decides: few irrelevant pixels hardly ever change "
        "an answer. Take across=mean to see the whole curve.",
        cost="one forward for each step and way; all thresholds share them",
    ),
)
class RemovalSufficiency(RemovalScore):
    r"""How little the answer changes without the least relevant pixels, mean over images.

    .. math:: S = \max_t \exp(-\overline{d}_t)

    with changes :math:`\overline{d}_t` as in
    :func:`~theodolite.metrics.functions.faithful.removal_faithfulness`. See algorithm 1 of
    :cite:t:`kazmierczak2024benchmarking`.

    Example:
        >>> from theodolite.metrics import removal_sufficiency
        >>> round(removal_sufficiency([0.9], [1, 3], least_first=[[[0.8, 0.7]]]), 4)
        0.8607
    """

    curves = ("least_first",)


@map_metric(
    "max_sensitivity",
    title="Max-sensitivity",
    better="lower",
    bounds=(0.0, np.inf),
    uses=("norms", "changes"),
    may_use=("noises",),
    nulls_use=("chance_changes",),
    decides=False,
    nulls=(ANOTHER_MAP,),
    cite="yeh2019infidelity",
    card=Card(
        question="Does the map stay what it is when the image gets a little noise?",
        interpretation="0 if it does not move; 1 if it moves by its own length. Above what another "
        "image's map is away, the noise decides the map more than the image.",
        limitations="It is the worst of so many draws, and rises with their number: compare "
        "methods under the same number only. A map that is always the same is perfectly stable.",
        cost="one explanation for each draw",
    ),
)
class MaxSensitivity(SampleMean):
    r"""The largest change of a map under noise, mean over images.

    .. math:: \max_r \frac{\lVert e(x) - e(x + \varepsilon_r) \rVert_2}{\lVert e(x) \rVert_2}

    over the draws :math:`r` of the noise, the class that is explained being kept. ``absolute``
    leaves the denominator out, as :cite:t:`kazmierczak2024benchmarking` print it; their numbers are
    of the relative form. A map of nothing but zeros has no relative change: NaN. See
    :cite:t:`yeh2019infidelity`.

    Example:
        >>> from theodolite.metrics import max_sensitivity
        >>> changes = [[[0.5, 1.0]]]
        >>> max_sensitivity([2.0], changes), max_sensitivity([2.0], changes, form="absolute")
        (0.5, 1.0)
    """

    @staticmethod
    def each(
        evidence: SaliencyEvidence, *, form: Form = "relative", noise: Noise = "first"
    ) -> PerSample:
        """Compute the largest change of each image's map; NaN for images that were not tried."""
        changes = np.asarray(evidence.changes)
        changes = changes[:, _position(evidence.noises.names, "noise", noise)]
        tried = ~np.isnan(changes)
        largest = np.where(tried, changes, 0.0).max(axis=1)
        norms = np.asarray(evidence.norms, float) if form == "relative" else np.ones(len(evidence))
        return PerSample.from_values(ratio(largest, norms), eligible=tried.any(axis=1))


@map_metric(
    "randomization_similarity",
    title="Likeness to a random network's map",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("randomized_similarity",),
    may_use=("randomized",),
    decides=False,
    tolerance=0.3,
    nulls=(NOTHING_IN_COMMON,),
    cite="adebayo2018sanity",
    card=Card(
        question="Does the map look the same when the network's weights are random?",
        interpretation="0 if the map becomes another one altogether, 1 if it stays: then it shows "
        "the image or nothing, but not what the network learned. Up to 0.3 is accepted; a "
        "convention.",
        limitations="Maps of the same image share its edges, and all maps of a method its habits, "
        "such as the middle: some likeness is no proof of blindness, much of it is.",
        cost="one explanation of a network with random weights",
    ),
)
class RandomizationSimilarity(SampleMean):
    r"""Rank correlation of maps before and after the weights are drawn anew, mean over images.

    .. math:: \frac{1}{N} \sum_i \rho\bigl(|e_i|, |e_i^{\mathrm{random}}|\bigr)

    A map that stays as it was cannot tell what the network learned. Undefined where a map is the
    same everywhere. See :cite:t:`adebayo2018sanity`.

    Example:
        >>> from theodolite.metrics import randomization_similarity
        >>> randomization_similarity([0.1, 0.5])
        0.3
    """

    @staticmethod
    def each(evidence: SaliencyEvidence) -> PerSample:
        return PerSample.from_values(
            np.asarray(evidence.randomized_similarity, float), eligible=evidence.randomized
        )
