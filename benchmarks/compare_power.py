"""How often does `compare` see a difference that is there, and one that is not?

    python benchmarks/compare_power.py [--draws 4000] [--pipeline 300]

Two versions of a model lie 0, 2 or 5 points apart; each is trained with several seeds and scored on
the same samples. Two models disagree on a fifth of the samples (paired standard deviation .45 a
sample), and half of that noise is common to all seeds. Printed are shares of draws in which the
difference is called sure: of the recipe and of these models, at .05 and at .05/6, the strictest
step of six headlines.

First at the level of the variance formula: values of seeds are drawn as normal numbers, variances
over samples as chi-squared ones; the tests are those of the package. Then, for one cell, through
the pipeline: evidence in which each sample is right or wrong, resampled seed by seed, so that what
is common to seeds comes from real resamples.
"""

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np

from theodolite._planted.concepts import planted_concepts
from theodolite._runs.comparison.intervals import ResamplingSource, run_student_test
from theodolite._runs.comparison.paired_differences import (
    ComparisonSide,
    Difference,
    compute_difference,
    resample_rows,
)
from theodolite._runs.comparison.recipe_differences import SeedVariances, run_recipe_test
from theodolite._runs.comparison.sample_sizes import RecipeVariances, compute_recipe_power
from theodolite._scoring.request import MetricRequest, Resampling
from theodolite._stats.intervals import Estimate
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Score

PAIRED_SD = 0.45
STRICTEST = 0.05 / 6


@dataclass(frozen=True)
class Cell:
    """What is planted; differences and spreads in points."""

    n: int = 2000
    points: float = 5.0
    seed_sd: float = 1.0
    seeds: int = 3

    @property
    def common(self) -> float:
        """Variance of the difference over samples that all seeds share, in points squared."""
        return 0.5 * (100 * PAIRED_SD) ** 2 / self.n


def formula_draw(cell: Cell, random: np.random.Generator) -> tuple[float, float]:
    """P-values of the recipe and of these models, from normal numbers."""
    own = cell.common / 2  # of each run's seed; two runs make the other half of the noise
    sd = math.sqrt(cell.seed_sd**2 + own)
    sides = [random.normal(0.0, sd, cell.seeds), random.normal(cell.points, sd, cell.seeds)]
    shared = random.normal(0.0, math.sqrt(cell.common))
    value = float(sides[1].mean() - sides[0].mean() + shared)
    seen = random.chisquare(cell.n - 1, 2) / (cell.n - 1)
    variances = SeedVariances(
        (cell.seeds, cell.seeds), tuple(float(side.var(ddof=1)) for side in sides), (own, own),
        float(cell.common * seen[0]), cell.n,
    )  # fmt: skip
    source = ResamplingSource("samples", cell.n, 0.95, 100.0)
    recipe = run_recipe_test(value, variances, source)
    assert recipe is not None
    over_samples = (cell.common + 2 * own / cell.seeds) * float(seen[1])
    these = Estimate(value, over_samples, cell.n - 1, "samples", 1000)
    return recipe.p, run_student_test(these, source, "normal numbers").p


class PlantedVersions:
    """Evidence of two versions in which samples are right or wrong as planned."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.whole = planted_concepts(cell.n, 8, 4, seed=3)
        self.samples = Samples(ids=np.array([f"image {i}" for i in range(cell.n)]))

    def draw(self, random: np.random.Generator) -> list[list[ConceptEvidence]]:
        """Of each version one bundle a seed."""
        return [
            [self._evidence(right) for right in version]
            for version in right_samples(self.cell, random)
        ]

    def _evidence(self, right: np.ndarray) -> ConceptEvidence:
        sign = np.where(right, 1.0, -1.0)[:, None]
        return replace(self.whole, values=self.whole.values * sign, samples=self.samples)


def right_samples(cell: Cell, random: np.random.Generator) -> np.ndarray:
    """Whether each sample is right: versions, seeds, samples.

    A sample suits a version or not, which all seeds share; each seed is wrong about that now and
    then. Both make half of the noise of a difference.
    """
    slips = (1 - math.sqrt(1 - PAIRED_SD**2)) / 2
    differ = 0.5 * PAIRED_SD**2 / (1 - 2 * slips) ** 2
    shift = cell.points / 100 / (1 - 2 * slips)
    both, gain = 0.7, (differ + shift) / 2
    u = random.random(cell.n)
    suits = np.stack([u < both + differ - gain, (u < both) | (u >= 1 - gain)])
    seed = random.normal(0.0, cell.seed_sd / 100, (2, cell.seeds, 1))
    chance = np.where(suits, 1 - slips, slips)[:, None, :] + seed
    return np.asarray(random.random((2, cell.seeds, cell.n)) < chance)


def pipeline_draw(
    versions: PlantedVersions, random: np.random.Generator, resamples: int = 200
) -> Difference:
    """The difference as `compare` makes it, from evidence and real resamples."""
    request = MetricRequest(catalogue()["concept_existence"], {"top": (1,)})
    resampling = Resampling(resamples, seed=int(random.integers(2**31)))
    score = Score(
        "concept_existence", request.metric.version, "exists", 0.7, "higher", (0.0, 1.0), 1.0,
        versions.cell.n, 0, "samples",
    )  # fmt: skip
    seeds = tuple(range(versions.cell.seeds))
    first, second = (
        ComparisonSide(resample_rows(request, bundles, resampling), (0,), score, seeds)
        for bundles in versions.draw(random)
    )
    return compute_difference(first, second)


def shares(p: np.ndarray) -> str:
    """How often a difference was called sure."""
    return "  ".join(f"{(p <= alpha).mean():5.3f}" for alpha in (0.05, STRICTEST))


def table(draws: int) -> None:
    """All cells, at the level of the formula."""
    print(f"{draws} draws a cell; shares at .05 and at .05/6; planned power at .05/6")
    print("    N  sd  S  points   the recipe      these models    planned")
    random = np.random.default_rng(20)
    for n in (500, 2000):
        for seed_sd in (0.5, 1.0, 2.0):
            for seeds in (3, 5):
                for points in (0.0, 2.0, 5.0):
                    cell = Cell(n, points, seed_sd, seeds)
                    p = np.array([formula_draw(cell, random) for _ in range(draws)])
                    spread = math.sqrt(seed_sd**2 + cell.common / 2)
                    varied = RecipeVariances(spread, cell.common, n)
                    planned = compute_recipe_power(points, varied, seeds, STRICTEST)
                    print(
                        f"{n:5d} {seed_sd:3.1f} {seeds:2d} {points:4.0f}     {shares(p[:, 0])}"
                        f"    {shares(p[:, 1])}    {planned:5.3f}",
                        flush=True,
                    )


def pipeline(draws: int) -> None:
    """One cell with real resamples, no difference and five points."""
    print(f"\n{draws} draws through the pipeline, 200 resamples, N = 2000, seed sd 1, 3 seeds")
    for points in (0.0, 5.0):
        cell, random = Cell(points=points), np.random.default_rng(21)
        versions = PlantedVersions(cell)
        deltas = [pipeline_draw(versions, random) for _ in range(draws)]
        recipe = np.array([delta.recipe.p for delta in deltas if delta.recipe is not None])
        common = np.array([delta.variances.common for delta in deltas if delta.variances])
        inside = np.mean(
            [
                delta.recipe.interval.low <= points / 100 <= delta.recipe.interval.high
                for delta in deltas
                if delta.recipe is not None
            ]
        )
        spread = np.std([delta.value for delta in deltas])
        print(
            f"{points:.0f} points: recipe {shares(recipe)}, these models "
            f"{shares(np.array([delta.p for delta in deltas]))}; covers {inside:.3f}; common "
            f"variance {1e4 * common.mean():.3f} ± {1e4 * common.std():.3f} points² (planted "
            f"{cell.common:.3f}), spread of the difference {100 * spread:.2f} points"
        )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--pipeline", type=int, default=300)
    arguments = parser.parse_args()
    if arguments.draws:
        table(arguments.draws)
    if arguments.pipeline:
        pipeline(arguments.pipeline)


if __name__ == "__main__":
    main()
