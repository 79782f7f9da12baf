"""Does the answer depend on the pixels that a map marks, and on them alone?"""

import math
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.option_types import Thresholds
from theodolite.metrics.shared.map_nulls import CHANCES

Removal = Annotated[
    Literal["first", "road", "black", "uniform", "gaussian"],
    Field(description="Which way of removing pixels is read; first: the first in the evidence."),
]
Across = Annotated[
    Literal["best", "mean"],
    Field(description="How thresholds are summed up: the best of them, or their mean."),
]
THRESHOLDS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
CURVES = ("clean", "percents", "most_first", "least_first")
CHANCE_CURVES = ("chance_most_first", "chance_least_first")


def sufficient(
    evidence: SaliencyEvidence,
    thresholds: tuple[float, ...],
    removal: Removal,
    across: Across,
) -> Float[np.ndarray, " samples"]:
    """How little the answer changes without the least relevant pixels, 1 if not at all."""
    sufficiency = np.exp(-_mean_changes(evidence, "least_first", thresholds, removal))
    return _one_of(sufficiency, across)


def necessary(
    evidence: SaliencyEvidence,
    thresholds: tuple[float, ...],
    removal: Removal,
    across: Across,
) -> Float[np.ndarray, " samples"]:
    """How much the answer changes without the most relevant pixels, 0 if not at all."""
    necessity = 1 - np.exp(-_mean_changes(evidence, "most_first", thresholds, removal))
    return _one_of(necessity, across)


def one_each(values: Float[np.ndarray, " samples"]) -> PerSample:
    """A value for each image; NaN is undefined, and counted as that."""
    known = ~np.isnan(values)
    return PerSample(np.where(known, values, 0.0), known.astype(float), np.ones(len(values), bool))


def _one_of(by_threshold: np.ndarray, across: Across) -> np.ndarray:
    """The best over thresholds, or their mean; thresholds without a step are left out."""
    known = by_threshold[:, ~np.isnan(by_threshold).any(axis=0)]
    if not known.shape[1]:
        return np.full(len(by_threshold), np.nan)
    return np.asarray(known.max(axis=1) if across == "best" else known.mean(axis=1))


def _mean_changes(
    evidence: SaliencyEvidence, curve: str, thresholds: tuple[float, ...], removal: Removal
) -> Float[np.ndarray, "samples thresholds"]:
    """Mean change of the probability over all steps below each threshold; NaN where there is none.

    Steps are nested: those of a low threshold are the first ones of a higher, so one running sum
    serves them all.
    """
    probabilities = np.asarray(getattr(evidence, curve))[:, _way(evidence, removal)]
    moved = np.abs(np.asarray(evidence.clean)[:, None] - probabilities)
    running = np.cumsum(moved, axis=1)
    n = np.searchsorted(np.asarray(evidence.percents), np.asarray(thresholds), side="left")
    n = np.unique(n)  # thresholds with the same steps, such as those beyond the last, count once
    means = np.full((len(moved), len(n)), np.nan)
    some = n > 0
    means[:, some] = running[:, n[some] - 1] / n[some]
    return means


def _way(evidence: SaliencyEvidence, removal: Removal) -> int:
    names = evidence.removals.names
    if removal == "first":
        return 0
    if removal not in names:
        raise EvidenceError(f"removal={removal!r}", f"{list(names)}", "it in the evidence")
    return names.index(removal)


MOST = float(2 * (1 - np.exp(-1)) / (2 - np.exp(-1)))
"""Reached where the answer is lost at once and nothing else matters."""


def ideal(evidence: SaliencyEvidence) -> SaliencyEvidence:
    """A map without whose pixels the answer is another, and with them all of it.

    A change counts whichever way it goes: of an answer with less than half the probability most is
    changed if it becomes certain.
    """
    clean = np.asarray(evidence.clean)[:, None, None]
    shape = np.asarray(evidence.most_first).shape
    gone = np.where(clean < 0.5, 1.0, 0.0)
    return replace(
        evidence,
        most_first=np.broadcast_to(gone, shape),
        least_first=np.broadcast_to(clean, shape),
    )


@metric(
    "removal_faithfulness",
    title="Removal faithfulness",
    version=2,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="higher",
    bounds=(0.0, MOST),
    uses=CURVES,
    may_use=("removals",),
    nulls_use=CHANCE_CURVES,
    threshold=0.5,
    ideal=ideal,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Does the answer change without the marked pixels, and only without them?",
        interpretation="0.77 is the most there can be; what a map without fault reaches on these "
        "images is marked. From half of that on we would rely on it; a convention.",
        limitations="Images with pixels removed are unlike any that the network knows: it may "
        "change its mind for that alone, which is why maps that know nothing stand beside it: "
        "noise, which filling in all but undoes, broad hills, and the middle of the image. "
        "Sufficiency is near 1 for any map, as a few irrelevant pixels change nothing; so the "
        "number is nearly a matter of necessity.",
        cost="one forward for each step, way and direction; all thresholds share them",
        template="Removing what the map marks first changes the answer by {value} more than "
        "removing it last ({low}–{high}{best}). {null}{enough}.",
    ),
)
class RemovalFaithfulness(SampleMean):
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

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """The harmonic mean of each image."""
        sufficiency = sufficient(evidence, thresholds, removal, across)
        necessity = necessary(evidence, thresholds, removal, across)
        return one_each(
            2 * sufficiency * necessity / (sufficiency + necessity)
        )  # sufficiency is never 0


@metric(
    "removal_necessity",
    title="Necessity of the marked pixels",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="higher",
    bounds=(0.0, 1.0 - float(np.exp(-1))),
    uses=("clean", "percents", "most_first"),
    may_use=("removals",),
    nulls_use=("least_first", *CHANCE_CURVES),
    decides=False,
    ideal=ideal,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Does the answer change without the pixels that are said to matter?",
        interpretation="0.63 if all confidence is lost at once, 0 if nothing changes. Compare it "
        "with the random map: large parts of any image, removed anyhow, change the answer.",
        limitations="Images with pixels removed are unlike any that the network knows, and it may "
        "change its mind for that alone.",
        cost="one forward for each step and way; all thresholds share them",
    ),
)
class RemovalNecessity(SampleMean):
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

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """What each image loses."""
        return one_each(necessary(evidence, thresholds, removal, across))


LEAST = math.exp(-1)
"""Where all confidence is lost at once."""


@metric(
    "removal_sufficiency",
    title="Sufficiency of the marked pixels",
    version=1,
    question="faithful",
    asked_as="Does the output depend on what the map marks?",
    better="higher",
    bounds=(LEAST, 1.0),
    uses=("clean", "percents", "least_first"),
    may_use=("removals",),
    nulls_use=("most_first", *CHANCE_CURVES),
    decides=False,
    ideal=ideal,
    nulls=CHANCES,
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Does the answer stay without the pixels that are said not to matter?",
        interpretation="1 if nothing changes, 0.37 if all confidence is lost at once. Compare it "
        "with the random map: the best over thresholds is near 1 for almost any map.",
        limitations="The smallest threshold decides: few irrelevant pixels hardly ever change "
        "an answer. Take across=mean to see the whole curve.",
        cost="one forward for each step and way; all thresholds share them",
    ),
)
class RemovalSufficiency(SampleMean):
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

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        thresholds: Thresholds = THRESHOLDS,
        removal: Removal = "first",
        across: Across = "best",
    ) -> PerSample:
        """What each image keeps."""
        return one_each(sufficient(evidence, thresholds, removal, across))
