"""Resampling by random groups against resampling by samples and the delta method.

    python benchmarks/resampling.py [--largest 10000000] [--repeats 1000]

Three ratios of sums: a hit rate where something is present (30 %), one with lognormal weights, and
the hit rate of something rare (3 in 10,000). Samples are made piece by piece and their making is
not counted. Printed: width of 95 % intervals by groups over that of the delta method, CPU
nanoseconds a sample for all six sums, the growth exponent of CPU, how many of ``--repeats``
intervals at 100,000 samples hold the truth. The last line is CPU of a state by groups over one by
Poisson weights, with their drawing and without. Ends with 1 where a limit is not kept.
"""

import argparse
import itertools
import json
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from theodolite._stats.groups import (
    GROUPS,
    SampleGroups,
    assign_groups,
    draw_group_weights,
    sum_resampled_groups,
)
from theodolite._stats.intervals import quantile
from theodolite._stats.resampling import draw_poisson_weights
from theodolite.evidence.shards import SHARD_SAMPLES
from theodolite.metrics.base import total

PRESENT, RARE = 0.3, 3e-4
TRUTH = np.array([0.7, np.exp(0.5) / np.exp(0.125), 0.5])
RESAMPLES = 4_000
BLOCK = 1 << 16
NAMES = ("hit rate", "lognormal", "rare")


def samples(n: int, seed: int) -> np.ndarray:
    """Parts and wholes of three ratios: six numbers a sample."""
    random = np.random.default_rng(seed)
    present, rare = random.random(n) < PRESENT, random.random(n) < RARE
    weight = np.exp(0.5 * random.standard_normal(n))
    hit = random.random(n)
    part = [present & (hit < TRUTH[0]), weight**2, rare & (hit < TRUTH[2])]
    return np.stack([*part, present, weight, rare], axis=1).astype(np.float64)


def ratios(sums: np.ndarray) -> np.ndarray:
    """The three ratios."""
    return np.asarray(sums[..., :3] / sums[..., 3:])


def by_groups(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Ratios, errors by groups and by the delta method, and CPU seconds of the sums."""
    sums, squares, cpu = np.zeros((GROUPS, 6)), np.zeros((6, 6)), 0.0
    for number, at in enumerate(range(0, n, BLOCK)):
        block = samples(min(BLOCK, n - at), seed * 1_000_003 + number)
        squares += block.T @ block
        begin = time.process_time()
        for start in range(0, len(block), SHARD_SAMPLES):
            piece = block[start : start + SHARD_SAMPLES]
            groups = assign_groups(np.arange(at + start, at + start + len(piece)), seed)
            sums += total(piece, SampleGroups.from_block(groups, slice(0, GROUPS)))
        cpu += time.process_time() - begin
    values = ratios(sums.sum(axis=0))
    spread = ratios(sum_resampled_groups(draw_group_weights(RESAMPLES, 0)[1:], sums)).std(axis=0)
    return values, spread, delta_errors(sums.sum(axis=0), squares), cpu


def delta_errors(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Standard errors of the ratios from second moments of parts and wholes."""
    errors = []
    for j in range(3):
        value, whole = sums[j] / sums[j + 3], sums[j + 3]
        residual = squares[j, j] - 2 * value * squares[j, j + 3] + value**2 * squares[j + 3, j + 3]
        errors.append(np.sqrt(residual) / whole)
    return np.array(errors)


def poisson_cpu(resamples: int = 1_000, pieces: int = 6) -> tuple[float, float]:
    """CPU seconds a sample of drawing the weights, and of the product."""
    drawing = product = 0.0
    for number in range(pieces):
        each, keys = (
            samples(SHARD_SAMPLES, number),
            np.arange(number * SHARD_SAMPLES, (number + 1) * SHARD_SAMPLES),
        )
        begin = time.process_time()
        weights = draw_poisson_weights(keys, resamples, 0)
        between = time.process_time()
        total(each, weights)
        drawing, product = drawing + between - begin, product + time.process_time() - between
    return drawing / (pieces * SHARD_SAMPLES), product / (pieces * SHARD_SAMPLES)


def coverage(repeats: int, n: int = 100_000) -> np.ndarray:
    """The share of intervals that hold the truth."""
    t, holds = quantile(GROUPS - 1, 0.95), np.zeros(3)
    for seed in range(1, repeats + 1):
        values, spread, _, _ = by_groups(n, seed)
        holds += np.abs(values - TRUTH) <= t * spread
    return holds / repeats


def main() -> int:
    """All of it, limits last."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=1_000)
    options = parser.parse_args()
    by_groups(SHARD_SAMPLES, 0)  # compiles
    sizes = [n for n in (10**5, 10**6, 10**7) if n <= options.largest]
    cpu, kept = {}, []
    for n in sizes:
        values, spread, delta, cpu[n] = by_groups(n, 0)
        widths = spread / delta
        kept.append(bool((np.abs(widths - 1) <= 0.1).all()))
        by_name = {name: [round(float(v), 5), round(float(w), 3)]
                 for name, v, w in zip(NAMES, values, widths, strict=True)}  # fmt: skip
        print(json.dumps({"n": n, "ns a sample": round(cpu[n] / n * 1e9, 1), "ratio, width over "
                          "delta": by_name}))  # fmt: skip
    exponents = [
        float(np.log(cpu[b] / cpu[a]) / np.log(b / a)) for a, b in itertools.pairwise(sizes)
    ]
    print(json.dumps({"growth exponents of CPU": [round(e, 3) for e in exponents]}))
    kept += [0.95 <= e <= 1.05 for e in exponents[-1:]]
    if options.repeats:
        shares = coverage(options.repeats)
        luck = 3 * np.sqrt(0.05 * 0.95 / options.repeats)
        lowest = np.array([0.93, 0.93, 0.91]) - (luck if options.repeats < 1_000 else 0.0)
        kept.append(bool((shares >= lowest).all() and (shares <= 0.97 + luck).all()))
        print(json.dumps({"coverage": dict(zip(NAMES, shares.tolist(), strict=True)),
                          "repeats": options.repeats}))  # fmt: skip
    drawing, product = poisson_cpu()
    own = cpu[sizes[-1]] / sizes[-1]
    kept += [own / (drawing + product) <= 0.02, own / product <= 0.1]
    print(json.dumps({"limits kept": kept}))
    print(json.dumps({"groups over Poisson": round(own / (drawing + product), 5),
                      "groups over its product alone": round(own / product, 4)}))  # fmt: skip
    return 0 if all(kept) else 1


if __name__ == "__main__":
    with threadpool_limits(1, user_api="blas"):
        sys.exit(main())
