"""Steps that all audit functions share: progress, images, and scoring of evidence."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from theodolite._runs.auditing.result import AuditResult, answer_source
from theodolite._runs.auditing.sources import EvidenceSource, with_claim
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.selection import MetricChoice, select_metrics
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import from_arrays
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.questions import Question

ProgressChoice = Progress | Literal["auto"] | None
"""A function, ``"auto"`` (a line on stderr if that is a terminal), or None."""
PlainArray = ArrayLike | Samples | NamedAxis | None
"""An array by its name, or names of an axis, or which samples are which."""
EVERY_SECONDS = 0.2


def choose_progress(progress: object) -> Progress:
    """Return the progress function to call."""
    if progress is None or (progress == "auto" and not sys.stderr.isatty()):
        return silent
    if progress == "auto":
        return _write_line()
    if not callable(progress):
        raise EvidenceError("progress", repr(progress)[:80], '"auto", None or a function')
    return progress


def _write_line() -> Progress:
    latest = [0.0]

    def progress(what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done >= total or now - latest[0] >= EVERY_SECONDS:
            latest[0] = now
            end = "\r\033[K" if done >= total else ""
            sys.stderr.write(f"\r\033[K{what}: {done:,} of {total:,}{end}")
            sys.stderr.flush()

    return progress


def with_images(source: EvidenceSource, images: Any, *, store: bool, seed: int) -> EvidenceSource:
    """Return the source with thumbnails of a few samples, drawn by the seed."""
    if images is None or not store:
        return source
    if not source.first or source.run is not None:
        raise EvidenceError(
            "images", f"images for {source.name!r}", "images for arrays in memory",
            "A run keeps its own images; stored evidence has none.",
        )  # fmt: skip
    from theodolite._runs.thumbnails import MAX_THUMBNAILS, draw_rows, make_thumbnails  # noqa: PLC0415

    bundle = source.first[0]
    predicted, labels = (getattr(bundle, name, None) for name in ("predicted", "labels"))
    correct = None if predicted is None or labels is None else np.asarray(predicted == labels)
    rows = draw_rows(len(bundle), seed, correct)[:MAX_THUMBNAILS].tolist()
    return replace(source, thumbnails=make_thumbnails(images, rows, len(bundle)))


def audit_bundles(  # noqa: PLR0913  as the public functions have them
    bundles: Sequence[Evidence],
    *,
    images: Any = None,
    store_images: bool = True,
    questions: Sequence[Question] | None = None,
    metrics: Sequence[MetricChoice] | None = None,
    claim: str | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: ProgressChoice = "auto",
    **known: Any,
) -> AuditResult:
    """Score bundles of evidence as the public functions do.

    Args:
        bundles: One of each kind.
        images: One image per sample, for the report.
        store_images: Whether thumbnails may be kept.
        questions: Questions to ask.
        metrics: Metrics to compute.
        claim: Title of the report.
        seed: Seed of intervals and baselines.
        resamples: Resamples for intervals.
        progress: Progress function.
        **known: Other fields of ``EvidenceSource``, such as ``subject`` and ``notes``.
    """
    source = EvidenceSource(**{"name": "arrays", "evidence": [list(bundles)], **known})
    source = with_images(with_claim(source, claim), images, store=store_images, seed=seed)
    resampling = Resampling(resamples=resamples, seed=seed)
    selection = select_metrics(metrics, questions)
    return answer_source(source, resampling, choose_progress(progress), selection)


def build_evidence(what: str, **arrays: Any) -> Evidence:
    """Build evidence from the arrays that are not None."""
    given_arrays: Mapping[str, Any] = {k: v for k, v in arrays.items() if v is not None}
    return from_arrays(given_arrays, what)
