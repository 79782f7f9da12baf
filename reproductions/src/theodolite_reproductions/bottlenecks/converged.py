"""Heads trained until nothing changes any more. Importing this imports torch."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn
from torch.nn.functional import cross_entropy

STEPS, FLAT = 2_000, 1e-9
"""The most steps, and the gradient at which there is nothing left to gain."""


def fit_to_convergence(
    head: nn.Module,
    rows: Float[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
) -> None:
    """Fit a head in place to the least mean cross-entropy on all rows, by L-BFGS.

    Equal rows with equal labels are one row with a weight: concepts are few, samples are many. The
    weights of classes that a plane can part grow without end; there it stops after so many steps.
    """
    joined = np.column_stack([np.asarray(rows, np.float64), labels])
    kinds, counts = np.unique(joined, axis=0, return_counts=True)
    inputs, classes = torch.from_numpy(kinds[:, :-1]), torch.from_numpy(kinds[:, -1]).long()
    weights = torch.from_numpy(counts / counts.sum())
    head.double().train()
    optimizer = torch.optim.LBFGS(
        head.parameters(), max_iter=STEPS, history_size=20, tolerance_grad=FLAT,
        tolerance_change=1e-13, line_search_fn="strong_wolfe",
    )  # fmt: skip

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        each = cross_entropy(head(inputs), classes, reduction="none")
        total = (weights * each).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    head.float().eval()
