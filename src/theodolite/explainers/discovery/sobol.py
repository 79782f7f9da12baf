"""Total Sobol indices of concepts: the output variance each takes part in under random masks."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError

NUMBERS_AT_ONCE = 8_000_000
"""Largest number of values in memory at a time: embeddings of 64 MB."""
CONSTANT = 1e-12
"""Relative standard deviation below which an output counts as constant."""


def sobol_importance(
    codes: Float[np.ndarray, "samples concepts"],
    decode: Callable[[np.ndarray], np.ndarray],
    outputs: Callable[[np.ndarray], np.ndarray],
    *,
    n_designs: int = 32,
    seed: int,
) -> Float[np.ndarray, "classes concepts"]:
    r"""Return the total Sobol index of each concept per output, averaged over samples.

    A sample's codes are multiplied by masks with values in [0, 1], decoded, and passed to
    ``outputs``. With masks :math:`A`, and :math:`A^{(k)}` which differ from them in concept
    :math:`k` alone,

    .. math:: S_k = \frac{\frac1{2M} \sum_m \left(f(A_m) - f(A^{(k)}_m)\right)^2}
        {\mathrm{Var}\, f(A)}

    is Jansen's estimate, of at least 0: the share of the variance that is lost if concept
    :math:`k` stays as it is. Masks are :math:`M` points of a Halton sequence, scrambled by the
    seed. It is blind to the sign and the size of a concept's effect. A sample whose output does
    not vary is left out; NaN where no sample's does. Fel et al. 2023 (CRAFT).

    If the outputs can be had from codes directly, pass them with a ``decode`` that does nothing.

    Example:
        >>> codes, head = np.array([[1.0, 1.0, 0.0]]), np.array([[3.0, 1.0, 5.0]])
        >>> same = lambda values: values
        >>> sobol_importance(codes, same, lambda h: h @ head.T, n_designs=4096, seed=0).round(2)
        array([[0.9, 0.1, 0. ]])
    """
    if n_designs < 2:
        raise EvidenceError("n_designs", f"{n_designs}", "at least 2, or nothing varies")
    if not len(codes):
        raise EvidenceError("codes", "no samples", "at least one")
    values = np.asarray(codes, np.float64)
    masks = _masks(values.shape[1], n_designs, seed)
    width = max(decode(values[:1]).shape[1], values.shape[1])
    block = max(1, NUMBERS_AT_ONCE // (masks.shape[0] * masks.shape[1] * width))
    total: np.ndarray | float = 0.0
    varying: np.ndarray | int = 0
    for start in range(0, len(values), block):
        faded = values[start : start + block, None, None, :] * masks
        scores = np.asarray(outputs(decode(faded.reshape(-1, values.shape[1]))), np.float64)
        if not np.isfinite(scores).all():
            raise EvidenceError("outputs", "NaN or infinity", "finite numbers for faded codes")
        index = _jansen(scores.reshape(*faded.shape[:3], -1))
        total = total + np.nansum(index, axis=0)
        varying = varying + (~np.isnan(index)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray((total / np.asarray(varying)).T)


def _masks(n_concepts: int, n_designs: int, seed: int) -> Float[np.ndarray, "tables designs k"]:
    """Return the masks A, then for each concept those with its column replaced."""
    from scipy.stats import qmc  # noqa: PLC0415

    points = qmc.Halton(2 * n_concepts, scramble=True, seed=np.random.default_rng(seed))
    first, second = np.split(points.random(n_designs), 2, axis=1)
    tables = np.repeat(first[None], n_concepts + 1, axis=0)
    for k in range(n_concepts):
        tables[k + 1, :, k] = second[:, k]
    return tables


def _jansen(
    scores: Float[np.ndarray, "samples tables designs classes"],
) -> Float[np.ndarray, "samples concepts classes"]:
    first, changed = scores[:, :1], scores[:, 1:]
    variance = first.var(axis=2, ddof=1)
    size = np.abs(scores).max(axis=(1, 2))[:, None]
    apart = ((first - changed) ** 2).mean(axis=2) / 2
    index = np.full(apart.shape, np.nan)
    varies = np.broadcast_to(variance > (CONSTANT * size) ** 2, apart.shape)
    np.divide(apart, variance, out=index, where=varies)
    return index
