"""Two versions of a model: whether attributions drifted from one to the other."""

from collections.abc import Sequence
from pathlib import Path

from theodolite._runs.auditing.result import AuditResult
from theodolite._runs.comparison.aligned_samples import NotComparableError
from theodolite._runs.comparison.comparison_rows import has_same_data
from theodolite._runs.comparison.drift import AttributionDrift, Over, compute_version_drift
from theodolite._runs.comparison.loaded_runs import Kinds, LoadedRun, load_run
from theodolite._runs.finished_run import Run
from theodolite._scoring.request import Resampling
from theodolite._verdicts.answers import by_kind
from theodolite._verdicts.gates.file import Thresholds
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence

Version = Evidence | Sequence[Evidence] | AuditResult | Run | Path | str
"""A version of a model: its attributions (several where it was trained several times), an audit of
them, or a run folder."""


def attribution_drift(
    before: Version,
    after: Version,
    *,
    floor: Sequence[Version] = (),
    at_most: float | None = None,
    over: Over = "features",
    resampling: Resampling | None = None,
) -> AttributionDrift:
    """Does a new version of a model use its features as the old one did?

    Shares of features in all attribution, mean \\|attribution\\| over its sum, are compared on the
    same samples; the drift is half the sum of their differences (total variation). Concepts of a
    linear bottleneck are compared by what they contribute to the chosen class.

    Args:
        before: The old version: attributions, or concepts with `weights` and `predicted`; a list of
            them where it was trained several times; an audit of them, or a run folder.
        after: The new version, on the same samples.
        floor: Retrainings of the old version, three or more: with other seeds, or on resampled
            data, which vary more.
        at_most: What is accepted in any case, from 0 to 1.
        over: What the answer is of where features have groups.
        resampling: How chance is drawn.

    Example:
        >>> import numpy as np
        >>> import theodolite
        >>> random = np.random.default_rng(0)
        >>> old, new = random.normal(size=(2, 200, 3)) * np.array([[[5, 3, 2]], [[2, 3, 5]]])
        >>> rows = random.normal(size=(200, 3))
        >>> versions = [theodolite.AttributionEvidence(values=v, inputs=rows) for v in (old, new)]
        >>> theodolite.attribution_drift(*versions, at_most=0.1).answer
        'no'
    """
    old, new, *retrained = [_read_version(version) for version in (before, after, *floor)]
    folders = [v.folder.resolve() for v in (old, *retrained) if isinstance(v, LoadedRun)]
    if len(set(folders)) < len(folders):
        raise EvidenceError("floor", "a run folder twice", "retrainings and the old version")
    versions = [old, new, *retrained]
    try:
        return compute_version_drift(
            [_list_trainings(version) for version in versions],
            at_most=at_most, over=over, resampling=resampling, same_data=_has_same_data(versions),
        )  # fmt: skip
    except NotComparableError as reason:
        raise EvidenceError("versions", str(reason), "attributions of the same samples") from reason


def check_drift_threshold(
    run: Version,
    thresholds: Thresholds,
    against: Version | None,
    floor: Sequence[Version] = (),
) -> AttributionDrift | str | None:
    """Return the required answer; or why it is inconclusive; or nothing if not required."""
    criterion = thresholds.drift
    if criterion is None:
        if against is not None or floor:
            raise EvidenceError("against", "a version", "thresholds with `drift`")
        return None
    if against is None:
        return "no version to compare with"
    try:
        return attribution_drift(
            against, run, floor=[*criterion.floor, *floor], at_most=criterion.at_most,
            over=criterion.over,
        )  # fmt: skip
    except EvidenceError as reason:
        if isinstance(reason.__cause__, NotComparableError):
            return str(reason.__cause__)
        raise


def _read_version(version: Version) -> Evidence | Sequence[Evidence] | AuditResult | LoadedRun:
    """Read a run folder once, and check its checksums."""
    if isinstance(version, Run | Path | str):
        return load_run(version.folder if isinstance(version, Run) else Path(version))
    return version


def _list_trainings(
    version: Evidence | Sequence[Evidence] | AuditResult | LoadedRun,
) -> Sequence[Kinds]:
    """Bundles by kind, of each training."""
    if isinstance(version, Evidence):
        return [{type(version): version}]
    if isinstance(version, AuditResult):
        return [by_kind(seed) for seed in version.source.evidence]
    if isinstance(version, LoadedRun):
        return version.evidence
    return [{type(bundle): bundle} for bundle in version]


def _has_same_data(versions: Sequence[object]) -> bool:
    """Return whether all are runs that read the same data."""
    runs = [version for version in versions if isinstance(version, LoadedRun)]
    return len(runs) == len(versions) and all(has_same_data(runs[0], run) for run in runs[1:])
