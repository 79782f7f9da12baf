"""How far people agree, question by question, with intervals and with what chance would give."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from theodolite.ext.studies import (
    CATALOGUE,
    FEWEST_CLUSTERS,
    Estimate,
    Interval,
    IntraclassCorrelation,
    KrippendorffAlpha,
    Metric,
    PairwiseAgreement,
    RaterAgreement,
    RatingEvidence,
    Source,
    Table,
    by_group,
    fisher_interval,
    poisson_weights,
    sample_variance,
    student_interval,
    summary,
)
from theodolite_study.export_aggregates import evidence_of
from theodolite_study.export_people import FEWEST, Bands

RESAMPLES, LEVEL, SEED = 1000, 0.95, 0
SMALLEST_VARIANCE = 1e-28
NULL_PIECES, MOST_DRAWS = 2000, 20
"""A null is drawn until so many explanations were dealt out, so many times at most."""
DIGITS = 10
"""The last digits depend on the machine."""
MOST_BYTES = 1 << 26
"""Of resampled sums held at once."""
HEADLINE = "qwk_vs_mode_loo"
SCORES: Mapping[str, tuple[str, dict[str, Any]]] = {
    HEADLINE: ("rater_agreement", {"own": "left out"}),
    "qwk_vs_mode_incl": ("rater_agreement", {"own": "included"}),
    "qwk_pairwise": ("pairwise_agreement", {}),
    "krippendorff_alpha": ("krippendorff_alpha", {"level": "ordinal"}),
    "icc1": ("intraclass_correlation", {"form": "ICC1"}),
    "icc2": ("intraclass_correlation", {"form": "ICC2"}),
}
SAYS = {
    HEADLINE: "Quadratic kappa of each vote with the mode of the others' votes.",
    "qwk_vs_mode_incl": "The same with a mode that contains the vote itself, as paper 004 has it: "
    "votes at random give 0.31 with five of them. Read it beside its null only.",
    "qwk_pairwise": "Mean over pairs of people of their quadratic kappa.",
    "krippendorff_alpha": "Krippendorff's alpha, ordinal.",
    "icc1": "Intraclass correlation, each explanation rated by other people.",
    "icc2": "Intraclass correlation, everybody rated everything.",
}
GROUPED = ("age_band", "gender")
OF_GROUPS = (HEADLINE, "krippendorff_alpha")
USED = (RaterAgreement, PairwiseAgreement, KrippendorffAlpha, IntraclassCorrelation)


def agreement(votes: Table, questions: Mapping[str, Any], bands: Bands) -> dict[str, Any]:
    """Everything about agreement that can be said of the counted votes.

    Args:
        votes: The table ``votes``.
        questions: Those that were asked.
        bands: Of the people, as they are exported: what is suppressed there is not used here.
    """
    about = {
        "headline": HEADLINE, "level": LEVEL, "resamples": RESAMPLES,
        "seed": SEED, "scores": SAYS, "scale": [1, 2, 3, 4, 5],
        "resampled": "whole pictures, so that explanations of one picture stay together",
        "groups": f"only where {FEWEST} or more people of a group voted",
    }  # fmt: skip
    # one core, so that the last digit does not depend on how many there are
    with threadpool_limits(1, user_api="blas"):
        found = {name: _question(votes, name, bands) for name in questions}
    return {"about": about, "questions": found}


def _question(votes: Table, question: str, bands: Bands) -> dict[str, Any]:
    evidence = evidence_of(votes, question)
    if evidence is None:
        return {"instances": 0, "votes": 0, "raters": 0, "reason": "Nobody voted."}
    counted = summary(evidence)
    voted = counted.votes > 0
    return {
        "instances": int(voted.sum()),
        "votes": int(counted.votes.sum()),
        "raters": int((~np.isnan(evidence.ratings)).any(axis=0).sum()),
        "mode_ties": int(counted.mode_tie.sum()),
        "scores": {name: scored(evidence, name) for name in SCORES},
        "by_group": {band: dict(_groups(votes, question, bands.group(band))) for band in GROUPED},
    }


def _groups(
    votes: Table, question: str, groups: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    evidence = evidence_of(votes, question, groups) if groups else None
    if evidence is None or evidence.group is None:
        return
    for name, part in sorted(by_group(evidence).items()):
        raters = int((~np.isnan(part.ratings)).any(axis=0).sum())
        if name in groups.values() and raters >= FEWEST:
            scores = {score: scored(part, score, null=False) for score in OF_GROUPS}
            yield name, {"raters": raters, "scores": scores}


def scored(evidence: RatingEvidence, name: str, *, null: bool = True) -> dict[str, Any]:
    """One number with its interval and its null; or nothing, and why."""
    if ((~np.isnan(evidence.ratings)).sum(axis=1) < 2).all():  # alone, a vote is its own mode
        return {"value": None, "reason": "No explanation has two votes."}
    metric, options = SCORES[name]
    asked = _Asked(CATALOGUE[metric], options)
    keys = evidence.samples.clusters
    over: Source = "samples" if keys is None else "clusters"
    drawn = poisson_weights(
        np.asarray(evidence.samples.index if keys is None else keys), RESAMPLES, SEED
    )
    weights = np.concatenate([np.ones((1, len(evidence))), drawn])
    rows = asked.rows(evidence, weights)
    if np.isnan(rows[0]):
        return {"value": None, "reason": _reason(evidence, name)}
    entered, without = asked.counted(evidence)
    estimate = _estimate(rows, evidence, over)
    shape = fisher_interval if asked.entry.bounds == (-1.0, 1.0) else student_interval
    interval = None if estimate is None else shape(estimate, LEVEL)
    found: dict[str, Any] = {
        "value": _round(rows[0]), "interval": _ends(interval, asked.entry.bounds),
        "n": entered, "n_of": asked.entry.state.counts_of, "n_undefined": without,
    }  # fmt: skip
    if null:
        baseline = asked.entry.nulls[0]
        chance, between = asked.by_chance(evidence, weights)
        estimate = _estimate(rows - chance, evidence, over, between)
        away = None if estimate is None else student_interval(estimate, LEVEL)
        found["null"] = {
            "name": baseline.name, "says": baseline.says, "value": _round(chance[0]),
            "difference": _ends(away),
        }  # fmt: skip
    return found


@dataclass(frozen=True)
class _Asked:
    """A metric with its options."""

    entry: Metric
    options: Mapping[str, Any]

    def parted(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Options of the counting, and of the finish."""
        counting = self.entry.counting_options()
        return (
            {name: value for name, value in self.options.items() if name in counting},
            {name: value for name, value in self.options.items() if name not in counting},
        )

    def rows(
        self, evidence: RatingEvidence, weights: Float[np.ndarray, "rows samples"]
    ) -> Float[np.ndarray, " rows"]:
        """The value for each row of weights, few enough at a time to fit into memory."""
        counting, finish = self.parted()
        one = self.entry.state.of(evidence, weights[:1], **counting)
        size = sum(np.asarray(part).nbytes for part in vars(one).values())
        step = max(MOST_BYTES // max(size, 1), 1)
        return np.concatenate(
            [
                self.entry.state.of(evidence, weights[at : at + step], **counting).value(**finish)
                for at in range(0, len(weights), step)
            ]
        )

    def by_chance(
        self, evidence: RatingEvidence, weights: Float[np.ndarray, "rows samples"]
    ) -> tuple[Float[np.ndarray, " rows"], float]:
        """The same under the metric's null, the mean over its draws; and that mean's variance."""
        draws = min(math.ceil(NULL_PIECES / max(len(evidence), 1)), MOST_DRAWS)
        seeds = np.random.SeedSequence(SEED).generate_state(draws)
        baseline = self.entry.nulls[0]
        drawn = [self.rows(baseline.made(evidence, int(seed)), weights) for seed in seeds]
        known = ~np.isnan(drawn)
        many = known.sum(axis=0)
        summed = np.where(known, drawn, 0.0).sum(axis=0)
        first = np.array([rows[0] for rows in drawn if not np.isnan(rows[0])])
        between = float(first.var(ddof=1)) / len(first) if len(first) > 1 else 0.0
        return np.asarray(np.where(many > 0, summed / np.maximum(many, 1), np.nan)), between

    def counted(self, evidence: RatingEvidence) -> tuple[int, int]:
        """What entered, and what could not."""
        entered, without = self.entry.state.of(evidence, None, **self.parted()[0]).counted()
        return round(float(entered)), round(float(without))


def _estimate(
    rows: Float[np.ndarray, " rows"], evidence: RatingEvidence, over: Source, extra: float = 0.0
) -> Estimate | None:
    """A value with the variance of its resamples, as every other score has it."""
    keys = evidence.samples.clusters
    sizes = np.ones(len(evidence)) if keys is None else np.unique(keys, return_counts=True)[1]
    draws = float(sizes.sum() ** 2 / (sizes**2).sum())
    variance = sample_variance(rows[1:], draws) + extra
    if len(sizes) < FEWEST_CLUSTERS or not variance > SMALLEST_VARIANCE:
        return None
    return Estimate(float(rows[0]), variance, draws - 1, over, len(rows) - 1)


def _ends(
    interval: Interval | None, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> dict[str, Any] | None:
    if interval is None:
        return None
    low, high = (_round(end) for end in np.clip((interval.low, interval.high), *bounds))
    return {"low": low, "high": high, "over": interval.over, "method": interval.method}


def _round(value: float | np.floating[Any]) -> float | None:
    return None if not np.isfinite(value) else round(float(value), DIGITS)


def _reason(evidence: RatingEvidence, name: str) -> str:
    given = ~np.isnan(evidence.ratings)
    answers = np.unique(evidence.ratings[given])
    if len(answers) == 1:
        return f"Everybody gave the answer {answers[0]:g} throughout: there is nothing to agree on."
    if name == "icc2":
        full = int(given.all(axis=1).sum())
        return f"{full} explanations were rated by everybody; two or more are needed."
    return "The expected disagreement is 0: the answers do not vary where it counts."
