"""Sparse codes of any size, made piece by piece: some values follow concepts, the rest nothing."""

# ruff: noqa: NPY002, TID251  what numba has
# mypy: disable-error-code="no-untyped-def"

import numba
import numpy as np

from theodolite.language.sae.activation_shard import SparseActivationShard

LENGTH = 256
RUN = 8


@numba.njit(cache=True)
def _draw(  # noqa: PLR0913
    seed, n_positions, units, concepts, active, cumulative, tied
):
    """Runs of positions carry one label set; half of the values belong to units of its labels."""
    np.random.seed(seed)
    unit = np.empty((n_positions, active), np.uint32)
    n_runs = n_positions // RUN
    label_start = np.zeros(n_runs + 1, np.uint32)
    label = np.empty(n_runs * 6, np.uint32)
    used = 0
    families = units // concepts
    row = np.empty(2 * active, np.int64)
    for run in range(n_runs):
        first = used
        for _ in range(1 + np.random.poisson(2.5)):
            c = np.searchsorted(cumulative, np.random.random())
            known = False
            for k in range(first, used):
                known |= label[k] == c
            if not known and used < first + 6:
                label[used] = c
                used += 1
        label[first:used] = np.sort(label[first:used])
        label_start[run + 1] = used
        for p in range(run * RUN, (run + 1) * RUN):
            n = 0
            while n < active:
                if n < tied and families:
                    c = label[first + np.random.randint(used - first)]
                    u = c + concepts * np.random.randint(families)
                else:
                    u = np.random.randint(units)
                known = False
                for k in range(n):
                    known |= row[k] == u
                if not known:
                    row[n] = u
                    n += 1
            unit[p] = np.sort(row[:active])
    return unit, label_start, label[:used]


def code_piece(
    number: int, positions: int, units: int, concepts: int, active: int = 32
) -> SparseActivationShard:
    """Documents of 256 positions; concepts as frequent as Zipf says; values in half precision."""
    positions = max(positions // LENGTH, 2) * LENGTH
    share = 1 / np.arange(2, concepts + 2)
    cumulative = np.cumsum(share / share.sum())
    cumulative[-1] = 1
    active = min(active, max(units // 4, 1))
    unit, run_start, run_label = _draw(
        number, positions, units, concepts, active, cumulative, active // 2
    )
    start = np.arange(0, positions * active + 1, active, dtype=np.uint32)
    value = np.random.default_rng(number).integers(0x2C00, 0x4800, unit.size, np.uint16)
    return SparseActivationShard(
        unit.ravel(), start, np.arange(0, positions + 1, LENGTH, dtype=np.uint32),
        np.repeat(np.arange(positions // RUN, dtype=np.uint32), RUN), run_start, run_label,
        value.view(np.float16),
    )  # fmt: skip
