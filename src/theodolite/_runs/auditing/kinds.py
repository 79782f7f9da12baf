"""Audits of concept scores, of token arrays and of ratings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theodolite._runs.auditing.common import (
    PlainArray,
    ProgressChoice,
    audit_bundles,
    build_evidence,
)
from theodolite._runs.auditing.result import AuditResult
from theodolite._verdicts.selection import MetricChoice
from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import to_labeled_array
from theodolite.questions import Question


def audit_concepts(  # noqa: PLR0913  every argument is documented where it is used
    values: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    outputs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    images: Any = None,
    store_images: bool = True,
    questions: Sequence[Question] | None = None,
    metrics: Sequence[MetricChoice] | None = None,
    names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    claim: str | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: ProgressChoice = "auto",
) -> AuditResult:
    """Audit the concept scores of a model against annotations.

    Args:
        values: Score of each concept in each sample (samples, concepts).
        truth: Whether each concept is present (samples, concepts).
        labels: True class of each sample; required for *leak_free*.
        outputs: Outputs of the model before any softmax (samples, classes).
        weights: Weight of each concept for each class (concepts, classes): concepts are ranked by
            contribution, and with ``outputs`` *faithful* is evaluated.
        images: One image per sample, for the report: an array or a list of arrays, PIL images or
            paths. At most 12 thumbnails of at most 256 pixels are stored.
        store_images: Whether thumbnails may be stored with the run.
        questions: Questions to ask. Default: all that the arrays allow.
        metrics: Metrics to compute. Default: all that the arrays allow.
        names: Names of the concepts.
        ids: Names of the samples.
        clusters: Groups of dependent samples, such as patients.
        claim: What the explanation says; the title of the report.
        seed: Seed of intervals, baselines and shown samples.
        resamples: Resamples for intervals.
        progress: Progress function; ``"auto"`` writes to stderr if it is a terminal.

    Returns:
        Scores and verdicts. ``print`` it, or write ``result.report("report.html")``.

    Example:
        >>> import numpy as np, theodolite
        >>> truth = np.random.default_rng(0).random((200, 6)) < 0.4
        >>> result = theodolite.audit_concepts(truth + 0.0, truth, questions=["exists"])
        >>> result.verdicts["exists"].answer
        'yes'
    """
    predicted = None if outputs is None else _predicted(outputs)
    rows = {"ids": ids, "clusters": clusters}
    bundles = [
        build_evidence(
            "audit_concepts", values=values, truth=truth, labels=labels, predicted=predicted,
            weights=weights, concepts=names, **rows,
        )
    ]  # fmt: skip
    if weights is not None and outputs is not None:
        bundles.append(
            build_evidence(
                "audit_concepts", importances=weights, projections=values, outputs=outputs,
                labels=labels, concepts=names, **rows,
            )
        )  # fmt: skip
    return audit_bundles(
        bundles, images=images, store_images=store_images, questions=questions, metrics=metrics,
        claim=claim, seed=seed, resamples=resamples, progress=progress,
    )  # fmt: skip


def _predicted(outputs: ArrayLike) -> np.ndarray:
    values = to_labeled_array(outputs, "outputs").values
    if values.ndim != 2 or values.shape[1] < 2:
        raise EvidenceError(
            "outputs", f"shape {values.shape}", "(samples, classes), two classes or more"
        )
    return np.asarray(values.argmax(axis=1))


def audit_tokens(  # noqa: PLR0913  every argument is documented where it is used
    tokens: PlainArray,
    *,
    images: Any = None,
    store_images: bool = True,
    questions: Sequence[Question] | None = None,
    metrics: Sequence[MetricChoice] | None = None,
    names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    claim: str | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: ProgressChoice = "auto",
    **arrays: PlainArray,
) -> AuditResult:
    """Audit the latents of a language model at every token of texts.

    Args:
        tokens: Ids of the tokens of each sequence, without start tokens and padding.
        images: One image per sequence, for the report.
        store_images: Whether thumbnails may be stored with the run.
        questions: Questions to ask. Default: all that the arrays allow.
        metrics: Metrics to compute. Default: all that the arrays allow.
        names: Names of the concepts in ``truth``.
        ids: Names of the sequences.
        clusters: Documents that the sequences were cut from.
        claim: What the explanation says; the title of the report.
        seed: Seed of intervals and baselines.
        resamples: Resamples for intervals.
        progress: Progress function; ``"auto"`` writes to stderr if it is a terminal.
        **arrays: Arrays of ``theodolite evidence token``, such as ``latent``, ``value``, ``holds``.

    Returns:
        Scores and verdicts.
    """
    evidence = build_evidence(
        "audit_tokens", tokens=tokens, concepts=names, ids=ids, clusters=clusters, **arrays
    )
    return audit_bundles(
        [evidence], images=images, store_images=store_images, questions=questions, metrics=metrics,
        claim=claim, seed=seed, resamples=resamples, progress=progress,
    )  # fmt: skip


def audit_ratings(  # noqa: PLR0913  every argument is documented where it is used
    ratings: ArrayLike,
    scale: ArrayLike,
    *,
    images: Any = None,
    store_images: bool = True,
    questions: Sequence[Question] | None = None,
    metrics: Sequence[MetricChoice] | None = None,
    names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    claim: str | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: ProgressChoice = "auto",
) -> AuditResult:
    """Audit ratings of explanations.

    Args:
        ratings: Rating of each explanation by each rater (explanations, raters); NaN if not rated.
        scale: All answers that raters could choose, such as ``[1, 2, 3, 4, 5]``.
        images: One image per explanation, for the report.
        store_images: Whether thumbnails may be stored with the run.
        questions: Questions to ask. Default: all that the arrays allow.
        metrics: Metrics to compute. Default: all that the arrays allow.
        names: Names of the raters.
        ids: Names of the explanations.
        clusters: Groups of explanations that are rated alike, such as those of one image.
        claim: What the explanations say; the title of the report.
        seed: Seed of intervals and baselines.
        resamples: Resamples for intervals.
        progress: Progress function; ``"auto"`` writes to stderr if it is a terminal.

    Returns:
        Scores and verdicts.

    Example:
        >>> import numpy as np, theodolite
        >>> ratings = np.random.default_rng(0).choice([4, 5], (60, 5))
        >>> theodolite.audit_ratings(ratings, [1, 2, 3, 4, 5]).verdicts["accepted"].answer
        'yes'
    """
    evidence = build_evidence(
        "audit_ratings", ratings=ratings, scale=scale, raters=names, ids=ids, clusters=clusters
    )
    return audit_bundles(
        [evidence], images=images, store_images=store_images, questions=questions, metrics=metrics,
        claim=claim, seed=seed, resamples=resamples, progress=progress,
    )  # fmt: skip
