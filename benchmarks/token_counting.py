"""How long counting takes that formulas of latents are made of, and in how much memory.

Latents that fire with frequencies of rank^-0.7, a piece of tokens after the other; an update is one
active latent with one predicate that holds there. CPU nanoseconds an update, with sorting, on one
thread; documents are counted too. The peak is taken after a quarter of the tokens and after all.

    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 taskset -c 0 python benchmarks/token_counting.py
"""

import argparse
import json
import os
import resource

import numpy as np

from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.counting import UnitCounts, count_piece

PIECE = 1 << 19
LENGTH = 128


def piece_of(
    seed: int, latents: int, active: int, predicates: int, holding: int
) -> SparseActivationShard:
    """Sequences of 128 tokens; in each token distinct latents and distinct predicates."""
    random = np.random.default_rng(seed)
    often = np.cumsum(np.arange(1, latents + 1) ** -0.7)
    unit = np.searchsorted(often, random.random((PIECE, active)) * often[-1]).astype(np.uint32)
    unit.sort(axis=1)
    # latents that came twice are left out
    first = np.ones(unit.shape, bool)
    first[:, 1:] = unit[:, 1:] > unit[:, :-1]
    start = np.concatenate([[0], np.cumsum(first.sum(axis=1))])
    step = predicates // holding
    label = np.arange(holding) * step + random.integers(0, step, (PIECE, holding))
    labels = np.arange(0, PIECE * holding + 1, holding), label.ravel()
    return SparseActivationShard.from_csr(
        start, unit[first], documents=np.full(PIECE // LENGTH, LENGTH), labels=labels
    )


def by_bincount(piece: SparseActivationShard, predicates: int, latents: int, holding: int) -> float:
    """Nanoseconds an update of np.bincount on keys that were made before, in the same minute."""
    some = piece.part(0, 256)
    label = some.set_label.reshape(-1, holding)[some.atom].astype(np.int64)
    owner = np.repeat(np.arange(len(some)), np.diff(some.start))
    keys = (some.unit.astype(np.int64)[:, None] * predicates + label[owner]).ravel()
    table = latents * predicates
    before = sum(os.times()[:2])
    np.bincount(keys, minlength=table)
    return 1e9 * (sum(os.times()[:2]) - before) / len(keys)


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=float, default=1e7)
    parser.add_argument("--latents", type=int, default=16_384)
    parser.add_argument("--active", type=int, default=32)
    parser.add_argument("--predicates", type=int, default=2_000)
    parser.add_argument("--holding", type=int, default=8)
    options = parser.parse_args()
    size = (options.latents, options.active, options.predicates, options.holding)
    chosen, counts = np.arange(options.latents), UnitCounts.zeros(options.latents, size[2])
    count_piece(piece_of(0, *size), chosen, UnitCounts.zeros(options.latents, size[2]))
    updates, seconds, peaks = 0, 0.0, []
    n = max(round(options.tokens / PIECE), 1)
    for number in range(n):
        piece = piece_of(1 + number % 4, *size)
        _ = piece.document
        before = sum(os.times()[:2])
        count_piece(piece, chosen, counts)
        seconds += sum(os.times()[:2]) - before
        updates += len(piece.unit) * options.holding
        if number in (n // 4, n - 1):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    plain = by_bincount(piece, size[2], size[0], size[3])
    facts = {
        "tokens": n * PIECE, "updates": updates, "cpu_s": round(seconds, 1),
        "ns_an_update": round(1e9 * seconds / updates, 2), "peak_gb": [round(p, 3) for p in peaks],
        "ns_by_bincount": round(plain, 2),
    }  # fmt: skip
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
