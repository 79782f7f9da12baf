"""Write each sample as a sparse sum of others, for sparse subspace clustering (:mod:`.mcd`)."""

import numpy as np
from jaxtyping import Float


def self_representation(
    rows: Float[np.ndarray, "n dimensions"], most: int, tolerance: float = 1e-6
) -> Float[np.ndarray, "n n"]:
    r"""Return coefficients :math:`C` with a zero diagonal and :math:`x_i \approx \sum_j C_{ij}
    x_j`.

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


PENALTY = 1 / 20
"""Lasso penalty relative to the smallest one that gives only zeros."""
STEPS = 2000


def lasso_representation(
    rows: Float[np.ndarray, "n dimensions"], penalty: float = PENALTY
) -> Float[np.ndarray, "n n"]:
    r"""Return the lasso coefficients :math:`C` of each sample on the others.

    .. math:: \min_c \tfrac12 \lVert x_i - \textstyle\sum_{j \ne i} c_j x_j \rVert^2
        + \lambda_i \lVert c \rVert_1, \qquad
        \lambda_i = \mathrm{penalty} \cdot \max_{j \ne i} |x_i \cdot x_j|

    Elhamifar and Vidal 2013. Rows have length 1.

    Example:
        >>> rows = np.array([[1.0, 0], [1.0, 0], [0, 1.0], [0, -1.0]])
        >>> lasso_representation(rows).round(2) + 0.0
        array([[ 0.  ,  0.95,  0.  ,  0.  ],
               [ 0.95,  0.  ,  0.  ,  0.  ],
               [ 0.  ,  0.  ,  0.  , -0.95],
               [ 0.  ,  0.  , -0.95,  0.  ]])
    """
    from sklearn.linear_model import Lasso  # noqa: PLC0415

    gram = rows @ rows.T
    coefficients = np.zeros_like(gram)
    for i in range(len(rows)):
        others = np.delete(np.arange(len(rows)), i)
        most = float(np.abs(gram[i, others]).max(initial=0.0))
        if most < 1e-12:
            continue
        # scikit-learn divides the squared error by the number of equations, here dimensions
        lasso = Lasso(
            alpha=penalty * most / rows.shape[1], fit_intercept=False, max_iter=STEPS, tol=1e-3
        )
        coefficients[i, others] = lasso.fit(rows[others].T, rows[i]).coef_
    return np.asarray(coefficients)
