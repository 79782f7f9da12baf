"""From a pilot run's own variances to what a comparison would need."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from theodolite._runs.comparison.compare_runs import VerdictPair
from theodolite._runs.comparison.loaded_runs import LoadedRun
from theodolite._runs.comparison.paired_differences import Difference
from theodolite._runs.comparison.sample_sizes import (
    RecipeVariances,
    find_sample_size,
    find_seed_count,
)
from theodolite._runs.comparison.shortage import get_available_variances
from theodolite._verdicts.rules import question_text
from theodolite.questions import QUESTIONS
from theodolite.results import Interval, Score

ALPHA = 0.05
MAX_HEADLINES = len(QUESTIONS)
UNRELATED = math.sqrt(2)
"""Two versions that err on unrelated samples differ by so much more than either varies."""


@dataclass(frozen=True)
class Pilot:
    """Standard deviations that a plan is made from, in units of the score."""

    question_text: str = ""
    """The question, if it is about one."""
    sd: float | None = None
    """Of the difference of one sample or cluster."""
    over: str = "samples"
    n: int | None = None
    """How many samples or clusters the pilot has."""
    recipe: RecipeVariances | None = None
    """What the recipe varies by, with samples to spare."""
    recipe_at_hand: RecipeVariances | None = None
    """Standard error with the samples of the pilot."""
    item_sd: float | None = None
    """Of the difference of one concept, class or unit."""
    items: str = "concepts"
    why: str = ""
    """Why there is nothing to plan from."""


@dataclass(frozen=True)
class RequiredSize:
    """How much of one thing is needed, asking one question or as many as there are."""

    what: str
    sd: float
    alone: int | None
    """At .05; None where no number would do."""
    strictest: int | None
    """At .05 over six, the strictest step of six headlines."""


def compute_required_sizes(pilot: Pilot, effect: float, power: float) -> Iterator[RequiredSize]:
    """What would tell versions apart that differ by the effect."""
    levels = ALPHA, ALPHA / MAX_HEADLINES
    if pilot.sd is not None:
        needed = [find_sample_size(effect, pilot.sd, alpha, power) for alpha in levels]
        yield RequiredSize(f"{pilot.over}, for these models", pilot.sd, *needed)
    recipes = [(pilot.recipe, f"{pilot.over} to spare")]
    recipes.append((pilot.recipe_at_hand, f"{pilot.n or 0:,} {pilot.over}"))
    for varied, samples in recipes:
        if varied is not None:
            needed = [find_seed_count(effect, varied, alpha, power) for alpha in levels]
            what = f"seeds of each run, for the recipe, with {samples}"
            yield RequiredSize(what, varied.spread, *needed)
    if pilot.item_sd is not None:
        needed = [find_sample_size(effect, pilot.item_sd, alpha, power) for alpha in levels]
        yield RequiredSize(f"{pilot.items}, for others like these", pilot.item_sd, *needed)


def build_pair_pilot(pair: VerdictPair) -> Pilot:
    """Return the paired difference of two runs as a pilot."""
    delta, asks = pair.line.difference, pair.question_text
    if delta is None or delta.interval is None or not delta.interval.error:
        why = pair.line.why or "the runs do not differ, or have too few samples"
        return Pilot(asks, why=why)
    error, df = delta.interval.error, delta.interval.df or 0.0
    n = round(df + 1)
    recipe, with_samples = _get_recipe_variances(delta)
    items = delta.items
    several = items is not None and len(items.names) > 1
    return Pilot(
        asks, error * math.sqrt(n), delta.interval.over, n, recipe, with_samples,
        float(items.differences.std(ddof=1)) if items is not None and several else None,
        "concepts" if items is None else items.over,
    )  # fmt: skip


def _get_recipe_variances(
    delta: Difference,
) -> tuple[RecipeVariances | None, RecipeVariances | None]:
    variances = delta.variances
    if variances is None:
        return None, None
    pure = RecipeVariances(variances.spread_without_samples, paired=variances.paired)
    return pure, get_available_variances(variances)


def build_run_pilots(run: LoadedRun) -> list[Pilot]:
    """Return pilots from one run, as if errors of the other version were unrelated to its errors.

    Paired runs require fewer samples.
    """
    heads = [run.headline(question) for question in QUESTIONS]
    return [_build_pilot(question_text(head), head) for head in heads if head is not None]


def _build_pilot(asks: str, score: Score) -> Pilot:
    interval = next((i for i in score.intervals if i.over in ("samples", "clusters")), None)
    n = None if interval is None else _count_independent(score, interval)
    if interval is None or n is None:
        return Pilot(asks, why="it does not say over how many samples; give --against")
    error = interval.error
    if error is None:  # draws were counted
        error = (interval.high - interval.low) / 2 / float(ndtri((1 + interval.level) / 2))
    seeds = np.array([v for v in score.per_seed if not math.isnan(v)])
    recipe = RecipeVariances(float(seeds.std(ddof=1))) if len(seeds) > 1 else None
    values = np.array([]) if score.detail is None else np.asarray(score.detail.values)
    values = values[~np.isnan(values)]
    return Pilot(
        asks, UNRELATED * error * math.sqrt(n), interval.over, n, recipe, None,
        UNRELATED * float(values.std(ddof=1)) if len(values) > 1 else None,
        "concepts" if score.detail is None else score.detail.over,
    )  # fmt: skip


def _count_independent(score: Score, interval: Interval) -> int | None:
    """Return how many samples or clusters an interval is over."""
    if interval.df is not None:
        return round(interval.df + 1)
    if interval.over == "clusters":
        return score.n_clusters
    return score.n if score.n_unit == "samples" else None
