"""Each sample as a sum of few others: the samples it picks lie in its own subspace."""

import numpy as np
from jaxtyping import Float


def self_representation(
    rows: Float[np.ndarray, "n dimensions"], most: int, tolerance: float = 1e-6
) -> Float[np.ndarray, "n n"]:
    r"""Coefficients :math:`C` with a zero diagonal and :math:`x_i \approx \sum_j C_{ij} x_j`.

    Orthogonal matching pursuit, a sample at a time: take the other sample that fits the rest best,
    fit all that were taken again, and stop after ``most`` of them (You et al. 2016). Where the
    rest is shorter than ``tolerance`` before that, begin again with the samples not yet taken, so
    that a subspace hangs together however few of its samples are enough to span it. Rows have
    length 1.

    Example:
        >>> rows = np.array([[1.0, 0], [1.0, 0], [1.0, 0], [0, 1.0], [0, -1.0]])
        >>> self_representation(rows, most=2)
        array([[ 0.,  1.,  1.,  0.,  0.],
               [ 1.,  0.,  1.,  0.,  0.],
               [ 1.,  1.,  0.,  0.,  0.],
               [ 0.,  0.,  0.,  0., -1.],
               [ 0.,  0.,  0., -1.,  0.]])
    """
    gram = rows @ rows.T
    coefficients = np.zeros_like(gram)
    for i, like in enumerate(gram):
        barred = [i]
        taken: list[int] = []
        rest = like.copy()
        while len(barred) <= min(most, len(rows) - 1):
            rest[barred] = 0.0
            best = int(np.abs(rest).argmax())
            if abs(rest[best]) < tolerance:
                break
            taken.append(best)
            barred.append(best)
            fit = np.linalg.lstsq(gram[np.ix_(taken, taken)], like[taken], rcond=None)[0]
            coefficients[i, taken] = fit
            if like[i] - fit @ like[taken] < tolerance**2:
                taken, rest = [], like.copy()
            else:
                rest = like - fit @ gram[taken]
    return np.asarray(coefficients)
