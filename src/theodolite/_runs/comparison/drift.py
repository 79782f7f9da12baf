"""Test whether a new version of a model uses its features as the old one, from attributions."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from theodolite._runs.comparison.aligned_samples import NotComparableError, align_samples
from theodolite._runs.comparison.attribution_shares import (
    Magnitudes,
    ShareDrift,
    compute_share_drift,
    compute_shares,
    compute_total_variation,
    list_features,
)
from theodolite._runs.comparison.loaded_runs import Kinds
from theodolite._scoring.request import Resampling
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.attributions.subsets import compute_strengths
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.results import Answer

MIN_RETRAININGS = 3
"""Beside the old version: six pairs. An unchanged recipe is then stopped about once in ten times,
with five once in 20, with eight once in 50 (benchmarks/drift_floors.py)."""
LISTED = 3
Over = Literal["features", "groups"]
WITHOUT_FLOOR = (
    "how much training it again would change is not known: give three or more retrainings of the "
    "old version (floor), or say what is enough (at_most)"
)


@dataclass(frozen=True)
class RetrainingFloor:
    """What retraining alone changes: the drift of every two trainings of the old version."""

    trainings: int
    """How many, the old version itself among them."""
    pairs: tuple[float, ...]

    @property
    def largest(self) -> float:
        """The pair that is farthest apart."""
        return max(self.pairs)

    @property
    def suffices(self) -> bool:
        """Whether there are enough to tell what retraining changes."""
        return self.trainings > MIN_RETRAININGS


@dataclass(frozen=True, eq=False, repr=False)
class AttributionDrift:
    """How much of the attribution moved to other features between two versions of a model.

    ``answer`` says whether that is within what retraining changes (or ``at_most``): *yes* where the
    whole interval is, *no* where the whole interval is beyond, else *partly*.
    """

    features: ShareDrift
    groups: ShareDrift | None
    """Drift over groups of features, if there are any: a swap inside a group is hidden."""
    over: Over
    """Which of both the answer is of."""
    n: int
    floor: RetrainingFloor | None = None
    at_most: float | None = None

    @property
    def drift(self) -> ShareDrift:
        """That which the answer is of."""
        return self.groups if self.over == "groups" and self.groups is not None else self.features

    @property
    def value(self) -> float:
        """The part of all attribution that moved."""
        return self.drift.value

    @property
    def line(self) -> float | None:
        """What is accepted: the larger of both, as nothing can vary less than by retraining."""
        lines = [] if self.at_most is None else [self.at_most]
        if self.floor is not None and (lines or self.floor.suffices):
            lines.append(self.floor.largest)
        return max(lines, default=None)

    @property
    def answer(self) -> Answer:
        """Whether the new version uses its features as the old one did."""
        interval, line = self.drift.interval, self.line
        if interval is None or line is None:
            return "inconclusive"
        if interval.high <= line:
            return "yes"
        return "no" if interval.low > line else "partly"

    @property
    def summary(self) -> str:
        """The answer's reason, in a sentence without its stop."""
        text = f"{_format_percent(self.value)} of the attribution moved to other {self.drift.over}"
        if self.drift.interval is None:
            return f"{text}, without an interval"
        ends = _format_range(self.drift.interval.low, self.drift.interval.high)
        return f"{text} ({ends}); {self._limit()}{self._foremost()}"

    def to_records(self) -> list[dict[str, str | float]]:
        """A row for each feature or group, the largest difference first."""
        return self.drift.to_records()

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; undefined numbers are null."""
        floor = self.floor and {"trainings": self.floor.trainings, "pairs": list(self.floor.pairs)}
        return {
            "answer": self.answer, "summary": self.summary, "over": self.over, "n": self.n,
            "at_most": self.at_most, "floor": floor, "line": self.line,
            "features": _build_json(self.features),
            "groups": self.groups and _build_json(self.groups),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"AttributionDrift({printable(f'{self.answer}: {self.summary}', 280)})"

    def _limit(self) -> str:
        floor = self.floor
        if floor is None or (self.at_most is None and not floor.suffices):
            return WITHOUT_FLOOR if self.at_most is None else _format_accepted(self.at_most)
        pairs = f"{len(floor.pairs)} pairs of {floor.trainings} trainings"
        text = f"retraining alone moves up to {_format_percent(floor.largest)} ({pairs})"
        return text if self.at_most is None else f"{text}, and {_format_accepted(self.at_most)}"

    def _foremost(self) -> str:
        rows = [row for row in self.to_records() if float(row["p"]) <= 0.05][:LISTED]
        if self.answer == "yes" or not rows:
            return ""
        names = [
            f"{printable(str(row['name']), 60)} {_format_percent(float(row['before']))} → "
            f"{_format_percent(float(row['after']))}"
            for row in rows
        ]
        return f"; most: {', '.join(names)}"


def compute_version_drift(
    versions: Sequence[Sequence[Kinds]],
    *,
    at_most: float | None = None,
    over: Over = "features",
    resampling: Resampling | None = None,
    same_data: bool = False,
) -> AttributionDrift:
    """The drift between two versions, in view of retrainings of the first.

    Args:
        versions: The old one, the new one, then retrainings of the old: of each training the
            bundles by kind. Further trainings of the old one are retrainings of it.
        at_most: What is accepted in any case.
        over: What the answer is of where features have groups.
        resampling: How chance is drawn.
        same_data: Whether it is known that all are about the same samples.
    """
    if at_most is not None and not 0 <= at_most <= 1:
        raise EvidenceError("at_most", f"{at_most:g}", "a share from 0 to 1", "It is not percent.")
    placed = align_samples(_select_one_kind(versions), same_data=same_data)
    if any(placed.dropped):
        raise NotComparableError(f"other samples: only {placed.n:,} are in all of them")
    bundles: Any = placed.bundles
    samples, draws = bundles[0][0].samples, resampling or Resampling()
    by_feature = [
        [_compute_feature_magnitudes(bundle) for bundle in version] for version in bundles
    ]
    plural = "concepts" if isinstance(bundles[0][0], ConceptEvidence) else "features"
    features = compute_share_drift(by_feature[0], by_feature[1], samples, draws, plural)
    by_group = _compute_group_magnitudes(bundles)
    groups = None
    if by_group is not None:
        groups = compute_share_drift(by_group[0], by_group[1], samples, draws, "groups")
    elif over == "groups":
        raise NotComparableError("features without groups")
    old, _, *retrained = by_group if by_group is not None and over == "groups" else by_feature
    trainings = [*old, *(training for version in retrained for training in version)]
    return AttributionDrift(features, groups, over, placed.n, _compute_floor(trainings), at_most)


def _select_one_kind(versions: Sequence[Sequence[Kinds]]) -> list[list[Evidence]]:
    """Attributions of every version; or else concepts of every version."""
    for kind in (AttributionEvidence, ConceptEvidence):
        bundles = [[seed[kind] for seed in version if kind in seed] for version in versions]
        if all(bundles):
            _check_scales(bundle for version in bundles for bundle in version)
            return bundles
    raise NotComparableError("no attributions, and no concepts, that all versions have")


def _check_scales(bundles: Iterable[Evidence]) -> None:
    """Shares of probabilities and of log-odds differ although the model is the same."""
    scales = {bundle.scale.names for bundle in bundles if isinstance(bundle, AttributionEvidence)}
    if len(scales - {()}) > 1:
        names = " and ".join(sorted(name for scale in scales for name in scale))
        raise NotComparableError(f"attributions of outputs on different scales: {names}")


def _compute_feature_magnitudes(bundle: Any) -> Magnitudes:
    """Sizes of attributions; of concepts what they contribute to the chosen class."""
    if isinstance(bundle, AttributionEvidence):
        return Magnitudes(bundle.features.names, np.abs(np.asarray(bundle.values, float)))
    if bundle.weights is None or bundle.predicted is None:
        raise NotComparableError("concepts without `weights` and `predicted`")
    contributions = bundle.values * np.asarray(bundle.weights)[:, bundle.predicted].T
    return Magnitudes(bundle.concepts.names, np.abs(contributions))


def _compute_group_magnitudes(versions: Sequence[Sequence[Any]]) -> list[list[Magnitudes]] | None:
    """Sizes of the sum of attributions inside each group: one-hot columns are one feature."""
    bundles = [bundle for version in versions for bundle in version]
    if any(getattr(bundle, "groups", None) is None for bundle in bundles):
        return None
    return [
        [Magnitudes(bundle.feature_groups.names, compute_strengths(bundle)) for bundle in version]
        for version in versions
    ]


def _compute_floor(trainings: Sequence[Magnitudes]) -> RetrainingFloor | None:
    """The drift of every two trainings of the old version."""
    if len(trainings) < 2:
        return None
    names = list_features(trainings)
    parts = [compute_shares(training.on(names).sum(axis=0)) for training in trainings]
    pairs = [float(compute_total_variation(a, b)) for a, b in itertools.combinations(parts, 2)]
    if np.isnan(pairs).any():
        raise NotComparableError("a retraining without any attribution")
    return RetrainingFloor(len(trainings), tuple(pairs))


def _build_json(drift: ShareDrift) -> dict[str, Any]:
    ends = None if drift.interval is None else [drift.interval.low, drift.interval.high]
    rows = [
        {key: None if isinstance(v, float) and np.isnan(v) else v for key, v in row.items()}
        for row in drift.to_records()
    ]
    value = None if np.isnan(drift.value) else drift.value
    return {"drift": value, "interval": ends, "shares": rows}


def _format_percent(share: float) -> str:
    return "an undefined part" if np.isnan(share) else f"{100 * share:.1f} %"


def _format_accepted(share: float) -> str:
    return f"{_format_percent(share)} is accepted"


def _format_range(low: float, high: float) -> str:
    return f"{100 * low:.1f}–{100 * high:.1f}"
