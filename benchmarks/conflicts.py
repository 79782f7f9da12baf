"""How often conflicts are stated of unrelated questions, and of questions that do conflict.

    python benchmarks/conflicts.py [--draws 400] [--clusters 5 8 10 20 30] [--shuffles 9999]

Clusters of ten rows, and of very unequal size (Pareto 1.2, from ten rows on). Each question says
good or bad of a cluster; a row says what its cluster does ("alike"), or does so in half of the
cases and else tosses a coin ("half alike"). "Large alike": rows of the largest quarter of clusters
are alike, others toss; "growing": the larger, the more alike. In a strong conflict nine of ten
clusters that are good for the first question are bad for the second, and the other way round.

Per line: stated at .05 (without the rule of six clusters), the same by that rule, what is left
where clusters of all sizes are dealt out among each other, and intervals that miss the truth.
"""

import argparse
from collections.abc import Sequence
from unittest import mock

import numpy as np

from theodolite._verdicts.conflicts import excess
from theodolite._verdicts.conflicts.excess import excess_interval, shuffle_test

UNRELATED = ("alike", "half alike", "tossed", "large alike", "growing")
CONFLICTS = ("alike", "half alike")
TRUTH = {"alike": 0.2, "half alike": 0.05}
"""Excess of a strong conflict: .9 / 2 - 1 / 4, and a quarter of it."""


def sizes_of(n: int, random: np.random.Generator, *, equal: bool) -> np.ndarray:
    if equal:
        return np.full(n, 10)
    return np.minimum(np.ceil(10 * (1 + random.pareto(1.2, n))), 5000).astype(int)


def alike_of(kind: str, sizes: np.ndarray) -> np.ndarray:
    """How often a row says what its cluster does."""
    if kind == "large alike":
        return np.asarray(sizes > np.quantile(sizes, 0.75), float)
    if kind == "growing":
        return np.asarray(np.clip(np.log(sizes / 10) / np.log(50), 0, 1))
    return np.full(len(sizes), {"alike": 1.0, "half alike": 0.5, "tossed": 0.0}[kind])


def planted(
    sizes: np.ndarray, kind: str, random: np.random.Generator, *, conflict: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    good, bad = random.random((2, len(sizes))) < 0.5
    if conflict:
        bad = good ^ (random.random(len(sizes)) >= 0.9)
    alike = alike_of(kind, sizes)[clusters]
    rows = [
        np.where(random.random(len(alike)) < alike, of[clusters], random.random(len(alike)) < 0.5)
        for of in (good, bad)
    ]
    return rows[0], rows[1], clusters


def rates(n: int, kind: str, draws: int, *, equal: bool, conflict: bool) -> np.ndarray:
    random = np.random.default_rng([n, equal, conflict, (*UNRELATED,).index(kind)])
    truth = TRUTH[kind] if conflict else 0.0
    lines = []
    for seed in range(draws):
        sizes = sizes_of(n, random, equal=equal)
        good, bad, clusters = planted(sizes, kind, random, conflict=conflict)
        test = shuffle_test(good, bad, clusters, seed)
        mixed = test.p if equal else _among_all(good, bad, clusters, seed)
        interval = excess_interval(good, bad, clusters, 0.95, "clusters")
        missed = interval is not None and not interval.low <= truth <= interval.high
        lines.append((test.p <= 0.05, test.p <= 0.05 and test.tells, mixed <= 0.05, missed))
    return np.asarray(np.mean(lines, axis=0))


def _among_all(good: np.ndarray, bad: np.ndarray, clusters: np.ndarray, seed: int) -> float:
    with mock.patch.object(excess, "group_by_size", np.zeros_like):
        return shuffle_test(good, bad, clusters, seed).p


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--clusters", type=int, nargs="+", default=[5, 8, 10, 20, 30])
    parser.add_argument("--sizes", nargs="+", default=["equal", "Pareto"])
    parser.add_argument("--shuffles", type=int, default=excess.SHUFFLES)
    chosen = parser.parse_args(arguments)
    excess.SHUFFLES = chosen.shuffles
    print("clusters sizes   rows         conflict  p<=.05  stated  all sizes  interval misses")
    for equal in (sizes == "equal" for sizes in chosen.sizes):
        for conflict, kinds in ((False, UNRELATED), (True, CONFLICTS)):
            for kind in kinds[:3] if equal else kinds:
                for n in chosen.clusters:
                    row = rates(n, kind, chosen.draws, equal=equal, conflict=conflict)
                    print(
                        f"{n:8} {'equal' if equal else 'Pareto':7} {kind:12} "
                        f"{'strong' if conflict else 'none':8} "
                        "  {:.3f}   {:.3f}      {:.3f}            {:.3f}".format(*row),
                        flush=True,
                    )


if __name__ == "__main__":
    main()
