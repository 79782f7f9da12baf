"""Say whether samples or seeds limit the power of a comparison, and how many are required."""

import math
from dataclasses import dataclass
from typing import Literal

from theodolite._runs.comparison.paired_differences import Difference
from theodolite._runs.comparison.recipe_differences import SeedVariances
from theodolite._runs.comparison.sample_sizes import (
    RecipeVariances,
    find_recipe_sample_size,
    find_sample_size,
    find_seed_count,
)
from theodolite._stats.intervals import SEEN


@dataclass(frozen=True)
class Shortage:
    """Which source of chance blocks, and how much of each would show a difference as large."""

    by: Literal["samples", "seeds"]
    samples: int | None
    """Samples or clusters in all, with the seeds that there are; None where no number would do."""
    seeds: int | None = None
    """Seeds of each run, with the samples that there are; None where no number would do."""
    least: tuple[int | None, int | None] = (None, None)
    """Samples with seeds to spare, and seeds with samples to spare: fewer of either never do."""


def find_model_shortage(delta: Difference, alpha: float) -> Shortage | None:
    """Return what a claim about these models lacks; more samples would settle it."""
    interval = delta.interval
    if interval is None or not interval.error or interval.df is None or math.isnan(alpha):
        return None
    sd = interval.error * math.sqrt(interval.df + 1)
    return Shortage("samples", find_sample_size(delta.value, sd, alpha, SEEN))


def find_recipe_shortage(delta: Difference, alpha: float) -> Shortage | None:
    """Return what a claim about the recipe lacks."""
    variances = delta.variances
    if variances is None or math.isnan(alpha):
        return None
    pure = variances.spread_without_samples
    of_seeds = pure**2 * sum(1 / n for n in variances.seeds)
    now, effect = get_available_variances(variances), delta.value
    spare = RecipeVariances(pure, paired=variances.paired)
    sample_sd = math.sqrt(variances.common * variances.clusters)
    return Shortage(
        "seeds" if of_seeds > variances.variance - of_seeds else "samples",
        find_recipe_sample_size(effect, now, (pure, min(variances.seeds)), alpha),
        find_seed_count(effect, now, alpha, SEEN),
        (
            find_sample_size(effect, sample_sd, alpha, SEEN),
            find_seed_count(effect, spare, alpha, SEEN),
        ),
    )


def get_available_variances(variances: SeedVariances) -> RecipeVariances:
    """What a recipe's difference would vary by with the samples that there are."""
    return RecipeVariances(
        variances.spread, variances.common, variances.clusters, paired=variances.paired
    )
