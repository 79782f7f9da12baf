"""Compute rater agreement per question, with intervals and permutation baselines, for an export."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int
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
    Vote,
    by_group,
    draw_poisson_weights,
    explanations_from,
    fisher_interval,
    sample_variance,
    student_interval,
)
from theodolite_study.export.snapshot import MIN_GROUP_PEOPLE
from theodolite_study.export.vote_counts import VoteCounts

RESAMPLES, LEVEL, SEED = 1000, 0.95, 0
MIN_VARIANCE = 1e-28
MIN_PERMUTED_EXPLANATIONS, MAX_DRAWS = 2000, 20
"""A baseline is drawn until this many explanations were permuted, at most this many times."""
DIGITS = 10
"""Number of exported decimals; further ones depend on the machine."""
MAX_BYTES = 1 << 24
"""Maximum size of the resampled sums in memory."""
HEADLINE = "qwk_vs_mode_loo"
SCORES: Mapping[str, tuple[str, dict[str, Any]]] = {
    HEADLINE: ("rater_agreement", {"own": "left out"}),
    "qwk_vs_mode_incl": ("rater_agreement", {"own": "included"}),
    "qwk_pairwise": ("pairwise_agreement", {}),
    "krippendorff_alpha": ("krippendorff_alpha", {"level": "ordinal"}),
    "icc1": ("intraclass_correlation", {"form": "ICC1"}),
    "icc2": ("intraclass_correlation", {"form": "ICC2"}),
}
DESCRIPTIONS = {
    HEADLINE: "Quadratic kappa of each vote with the mode of the others' votes.",
    "qwk_vs_mode_incl": "The same with a mode that contains the vote itself, as published: "
    "random ratings give 0.31 with five of them. Read it beside its null only.",
    "qwk_pairwise": "Mean over pairs of people of their quadratic kappa.",
    "krippendorff_alpha": "Krippendorff's alpha, ordinal.",
    "icc1": "Intraclass correlation, each explanation rated by other people.",
    "icc2": "Intraclass correlation, everybody rated everything.",
}
MAX_TABLE_VOTES, MAX_TABLE_RATERS = 50_000, 200
"""Maximum numbers of votes and raters of a table with raters as columns; above, only answer counts
are used."""
TABLE_SCORES = ("qwk_pairwise", "icc2")
CLUSTER_BATCH = 512
GROUP_SCORES = (HEADLINE, "krippendorff_alpha")
USED_METRICS = (RaterAgreement, PairwiseAgreement, KrippendorffAlpha, IntraclassCorrelation)


@dataclass(frozen=True)
class RatedVotes:
    """Votes on one question as rows, with resampling weights and the permutation baseline."""

    evidence: RatingEvidence
    weights: Float[np.ndarray, "rows samples"]
    """Weight of each row in each resample; the first row is the study itself."""
    images: Int[np.ndarray, " images"]
    """Number of explanations of each image."""
    null: Callable[[int], tuple[RatingEvidence, Float[np.ndarray, "rows samples"]]]


def compute_agreement(
    counts: VoteCounts, images: Int[np.ndarray, " instances"], groups: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """Compute all agreement scores of the counted votes.

    Args:
        counts: Of the votes.
        images: The number of each explanation's image.
        groups: What people told about themselves, as it is exported, each for all people in their
            order: what is suppressed there is not used here.
    """
    description = {
        "headline": HEADLINE, "level": LEVEL, "resamples": RESAMPLES, "seed": SEED,
        "scores": DESCRIPTIONS, "points": dict(counts.questions),
        "resampled": "whole images, so that explanations of one image stay together",
        "groups": f"only where {MIN_GROUP_PEOPLE} or more people of a group voted",
    }  # fmt: skip
    # one core, so that the last digit does not depend on how many there are
    with threadpool_limits(1, user_api="blas"):
        every = {name: _question(counts, name, images, groups) for name in counts.questions}
    return {"about": description, "questions": every}


def _question(
    counts: VoteCounts, question: str, images: np.ndarray, groups: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    table = counts.histogram(question)
    if not table.any():
        return {"instances": 0, "votes": 0, "raters": 0, "reason": "Nobody voted."}
    votes, most = table.sum(axis=1), table.max(axis=1, keepdims=True)
    answers = counts.column(2 + list(counts.questions).index(question))
    rated = select_votes(counts, question, images, None)
    return {
        "instances": int((votes > 0).sum()),
        "votes": int(votes.sum()),
        "raters": len(np.unique(counts.column(1)[answers > 0])),
        "mode_ties": int((((table == most) & (most > 0)).sum(axis=1) > 1).sum()),
        "scores": {name: compute_score(rated, name) for name in SCORES},
        "by_group": {trait: dict(_groups(counts, question, images, values))
                     for trait, values in groups.items()},
    }  # fmt: skip


def _groups(
    counts: VoteCounts, question: str, images: np.ndarray, values: Sequence[Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    own = np.array([None if value is None else str(value) for value in values], object)
    answers = counts.column(2 + list(counts.questions).index(question))
    for name in sorted(set(own) - {None}):
        people = own == name
        raters = len(np.unique(counts.column(1)[people[counts.column(1)] & (answers > 0)]))
        if raters >= MIN_GROUP_PEOPLE:
            rated = select_votes(counts, question, images, people)
            scores = {score: compute_score(rated, score, null=False) for score in GROUP_SCORES}
            yield name, {"raters": raters, "scores": scores}


def select_votes(
    counts: VoteCounts, question: str, images: np.ndarray, people: np.ndarray | None
) -> RatedVotes:
    """Return the votes on a question, of all or some raters: by rater if they are few."""
    if counts.counted > MAX_TABLE_VOTES or (counts.of_people() > 0).sum() > MAX_TABLE_RATERS:
        return tabulate_by_pattern(counts.histogram(question, people), images)
    at = 2 + list(counts.questions).index(question)
    answers = zip(*(counts.column(n).tolist() for n in (0, 1, at)), strict=True)
    data = explanations_from(
        (Vote(str(item), str(who), question, float(answer or "nan"), image=str(images[item]),
              group="" if people is None else str(people[who]))
         for item, who, answer in answers),
        name="study", scale=[float(n + 1) for n in range(counts.questions[question])],
    )  # fmt: skip
    evidence = data.questions[question]
    return tabulate_by_rater(evidence if people is None else by_group(evidence)["True"])


def tabulate_by_rater(evidence: RatingEvidence) -> RatedVotes:
    """Return votes as a table of explanations by raters."""
    keys = evidence.samples.clusters
    keys = np.asarray(evidence.samples.index if keys is None else keys)
    weights = np.concatenate(
        [np.ones((1, len(evidence))), draw_poisson_weights(keys, RESAMPLES, SEED)]
    )
    sizes = np.unique(keys, return_counts=True)[1]
    dealt_out = CATALOGUE["rater_agreement"].nulls[0]
    return RatedVotes(
        evidence, weights, sizes, lambda seed: (dealt_out.made(evidence, seed), weights)
    )


def tabulate_by_pattern(
    counts: Int[np.ndarray, "instances points"], images: np.ndarray
) -> RatedVotes:
    """Return votes as one row per pattern of answers, however many explanations have it."""
    voted = counts.any(axis=1)
    counts, keys = counts[voted], np.unique(images[voted], return_inverse=True)[1]
    sizes = np.bincount(keys)

    @cache
    def null(seed: int) -> tuple[RatingEvidence, np.ndarray]:
        random, share = np.random.default_rng(seed), counts.sum(axis=0) / counts.sum()
        return _patterns(random.multinomial(counts.sum(axis=1), share), keys)

    return RatedVotes(*_patterns(counts, keys), sizes, null)


def _patterns(counts: np.ndarray, keys: np.ndarray) -> tuple[RatingEvidence, np.ndarray]:
    patterns, which = np.unique(counts, axis=0, return_inverse=True)
    ratings = np.full((len(patterns), int(patterns.sum(axis=1).max())), np.nan)
    for row, pattern in enumerate(patterns):
        answers = np.repeat(np.arange(1.0, len(pattern) + 1), pattern)
        ratings[row, : len(answers)] = answers
    weights = np.zeros((RESAMPLES + 1, len(patterns)))
    weights[0] = np.bincount(which, minlength=len(patterns))
    order = np.argsort(keys, kind="stable")
    for first in range(0, int(keys.max()) + 1, CLUSTER_BATCH):
        own = order[np.searchsorted(keys[order], first) : np.searchsorted(
            keys[order], first + CLUSTER_BATCH)]  # fmt: skip
        members = np.zeros((CLUSTER_BATCH, len(patterns)))
        np.add.at(members, (keys[own] - first, which[own]), 1.0)
        resampled = draw_poisson_weights(np.arange(first, first + CLUSTER_BATCH), RESAMPLES, SEED)
        weights[1:] += resampled @ members
    scale = np.arange(1.0, counts.shape[1] + 1)
    return RatingEvidence(ratings=ratings, scale=scale), weights


def compute_score(rated: RatedVotes, name: str, *, null: bool = True) -> dict[str, Any]:
    """Compute one score with interval and baseline, or say why it is undefined."""
    evidence, weights = rated.evidence, rated.weights
    if ((~np.isnan(evidence.ratings)).sum(axis=1) < 2).all():  # alone, a vote is its own mode
        return {"value": None, "reason": "No explanation has two votes."}
    if name in TABLE_SCORES and evidence.samples.ids is None:
        return {"value": None, "reason": f"More than {MAX_TABLE_VOTES:,} votes or "
                f"{MAX_TABLE_RATERS} people: they are not compared one by one."}  # fmt: skip
    metric, options = SCORES[name]
    scoring = _Scoring(CATALOGUE[metric], options)
    rows = scoring.rows(evidence, weights)
    if np.isnan(rows[0]):
        return {"value": None, "reason": _explain_undefined(evidence, name)}
    entered, without = scoring.counted(evidence, weights[:1])
    estimate = _estimate(rows, rated.images)
    shape = fisher_interval if scoring.entry.bounds == (-1.0, 1.0) else student_interval
    interval = None if estimate is None else shape(estimate, LEVEL)
    result: dict[str, Any] = {
        "value": _round(rows[0]), "interval": _format_interval(interval, scoring.entry.bounds),
        "n": entered, "n_unit": scoring.entry.state.counts_of, "n_undefined": without,
    }  # fmt: skip
    if null:
        baseline = scoring.entry.nulls[0]
        chance, between = scoring.by_chance(rated)
        estimate = _estimate(rows - chance, rated.images, between)
        away = None if estimate is None else student_interval(estimate, LEVEL)
        result["null"] = {
            "name": baseline.name, "says": baseline.description, "value": _round(chance[0]),
            "difference": _format_interval(away),
        }  # fmt: skip
    return result


@dataclass(frozen=True)
class _Scoring:
    """Metric with its options."""

    entry: Metric
    options: Mapping[str, Any]

    def parted(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split the options into those of counting and of finishing."""
        counting = self.entry.counting_options()
        return (
            {name: value for name, value in self.options.items() if name in counting},
            {name: value for name, value in self.options.items() if name not in counting},
        )

    def rows(
        self, evidence: RatingEvidence, weights: Float[np.ndarray, "rows samples"]
    ) -> Float[np.ndarray, " rows"]:
        """Compute the value for each row of weights, in batches that fit into memory."""
        counting, finish = self.parted()
        first = self.entry.state.of(evidence, weights[:1], **counting)
        size = sum(np.asarray(part).nbytes for part in vars(first).values())
        step = max(MAX_BYTES // max(size, 1), 1)
        return np.concatenate(
            [
                self.entry.state.of(evidence, weights[at : at + step], **counting).value(**finish)
                for at in range(0, len(weights), step)
            ]
        )

    def by_chance(self, rated: RatedVotes) -> tuple[Float[np.ndarray, " rows"], float]:
        """Compute the mean value under the metric's null baseline, and the variance of that
        mean."""
        draws = min(math.ceil(MIN_PERMUTED_EXPLANATIONS / int(rated.weights[0].sum())), MAX_DRAWS)
        seeds = np.random.SeedSequence(SEED).generate_state(draws)
        null_rows = [self.rows(*rated.null(int(seed))) for seed in seeds]
        known = ~np.isnan(null_rows)
        many = known.sum(axis=0)
        summed = np.where(known, null_rows, 0.0).sum(axis=0)
        first = np.array([rows[0] for rows in null_rows if not np.isnan(rows[0])])
        between = float(first.var(ddof=1)) / len(first) if len(first) > 1 else 0.0
        return np.asarray(np.where(many > 0, summed / np.maximum(many, 1), np.nan)), between

    def counted(
        self, evidence: RatingEvidence, weights: Float[np.ndarray, "1 samples"]
    ) -> tuple[int, int]:
        """Count the explanations that entered, and those that could not."""
        entered, without = self.entry.state.of(evidence, weights, **self.parted()[0]).counted()
        return round(float(entered[0])), round(float(without[0]))


def _estimate(
    rows: Float[np.ndarray, " rows"], sizes: np.ndarray, extra: float = 0.0
) -> Estimate | None:
    """Build an estimate from resampled values, as for every other score."""
    draws = float(sizes.sum() ** 2 / (sizes**2).sum())
    variance = sample_variance(rows[1:], draws) + extra
    if len(sizes) < FEWEST_CLUSTERS or not variance > MIN_VARIANCE:
        return None
    return Estimate(float(rows[0]), variance, draws - 1, "clusters", len(rows) - 1)


def _format_interval(
    interval: Interval | None, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> dict[str, Any] | None:
    if interval is None:
        return None
    low, high = (_round(end) for end in np.clip((interval.low, interval.high), *bounds))
    return {"low": low, "high": high, "over": interval.over, "method": interval.method}


def _round(value: float | np.floating[Any]) -> float | None:
    return None if not np.isfinite(value) else round(float(value), DIGITS)


def _explain_undefined(evidence: RatingEvidence, name: str) -> str:
    rated = ~np.isnan(evidence.ratings)
    answers = np.unique(evidence.ratings[rated])
    if len(answers) == 1:
        return f"Everybody gave the answer {answers[0]:g} throughout: there is nothing to agree on."
    if name == "icc2":
        full = int(rated.all(axis=1).sum())
        return f"{full} explanations were rated by everybody; two or more are needed."
    return "The expected disagreement is 0: the answers do not vary where it counts."
