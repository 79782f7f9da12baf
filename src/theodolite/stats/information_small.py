"""The compiled loops again in numpy, for few samples: a first score must not wait for a compiler.

Compiling takes about ten seconds, once after the installation; a tree of neighbours for each of
a few hundred pairs takes a tenth of a second. Both give the same bits.
"""

import os
import sys
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

MOST_TERMS = 200_000
"""Pairs times samples: about a quarter of a second."""
KERNELS = "information_kernels"


def few(kernel: str, terms: int) -> bool:
    """Whether numpy is there sooner than the compiled loop: few terms, and not compiled yet."""
    return terms <= MOST_TERMS and not compiled(KERNELS, kernel)


def compiled(module: str, kernel: str) -> bool:
    """Whether a module's loop is at hand, in this process or from an earlier one."""
    if f"{__package__}.{module}" in sys.modules:
        return True
    pattern = f"{module}.{kernel}-*.py{sys.version_info.major}{sys.version_info.minor}.nbi"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return any(Path(chosen).glob(f"*/{pattern}"))
    return any((Path(__file__).parent / "__pycache__").glob(pattern))


def ksg_pair_terms(
    values: Float[np.ndarray, "columns samples"],
    pairs: Int[np.ndarray, "pairs 2"],
    k: int,
    psi: Float[np.ndarray, " m"],
) -> Float[np.ndarray, "pairs samples"]:
    """psi(n) + psi(k) - psi(n_x) - psi(n_y) of every sample for each pair of columns."""
    out = np.empty((len(pairs), values.shape[1]))
    for terms, (a, b) in zip(out, pairs.tolist(), strict=True):
        x, y = values[a], values[b]
        reach = _reach(np.stack([x, y], axis=1), k)
        terms[:] = psi[len(x)] + psi[k] - psi[_within(x, reach)] - psi[_within(y, reach)]
    return out


def ross_column_terms(
    values: Float[np.ndarray, "columns samples"],
    labels: Int[np.ndarray, " samples"],
    counts: Int[np.ndarray, " labels"],
    k: int,
    psi: Float[np.ndarray, " m"],
) -> Float[np.ndarray, "columns samples"]:
    """psi(k_i) - psi(N_y) - psi(m_i) of every sample for each column; every label has two."""
    groups = [np.flatnonzero(labels == label) for label in range(len(counts))]
    out = np.empty(values.shape)
    for terms, column in zip(out, values, strict=True):
        reach = np.empty(len(column))
        for own in groups:
            reach[own] = _reach(column[own, None], min(k, len(own) - 1))
        near = np.minimum(k, counts[labels] - 1)
        terms[:] = psi[near] - psi[counts[labels]] - psi[_within(column, reach)]
    return out


def _reach(
    points: Float[np.ndarray, "samples dimensions"], k: int
) -> Float[np.ndarray, " samples"]:
    """Just short of the distance to the k-th nearest other, by largest difference."""
    from scipy.spatial import KDTree  # noqa: PLC0415  only when needed

    away, _ = KDTree(points, leafsize=8).query(points, [k + 1], p=np.inf)
    return np.asarray(np.nextafter(away[:, 0], 0.0))


def _within(
    values: Float[np.ndarray, " samples"], reach: Float[np.ndarray, " samples"]
) -> Int[np.ndarray, " samples"]:
    """How many values lie within reach of each, itself included.

    What counts is the difference compared with the reach, never ``value ± reach``, which rounds
    differently: that only says where to look.
    """
    ordered = np.sort(values)
    last = np.searchsorted(ordered, values + reach, "right") - 1
    first = np.searchsorted(ordered, values - reach, "left")
    padded = np.concatenate([[-np.inf], ordered, [np.inf]])
    while (over := padded[last + 2] - values <= reach).any():
        last += over
    while (over := padded[last + 1] - values > reach).any():
        last -= over
    while (over := values - padded[first] <= reach).any():
        first -= over
    while (over := values - padded[first + 1] > reach).any():
        first += over
    return np.asarray(last - first + 1)
