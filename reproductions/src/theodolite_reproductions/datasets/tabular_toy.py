"""TabularToy: seven numbers made from three hidden ones whose signs are the concepts."""

import math
from typing import Literal

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData

CONCEPTS = ("z1 > 0", "z2 > 0", "z3 > 0")
PUBLISHED_SPLIT = 42


def tabular_toy(
    delta: float = 0.25,
    *,
    n: int = 10_000,
    seed: int = 0,
    task: Literal["linear", "nonlinear", "parity", "two_concepts"] = "linear",
    concepts: Literal["all", "incomplete"] = "all",
) -> BottleneckData:
    """Draw TabularToy(delta), the tabular data of the leakage paper.

    Args:
        delta: The correlation of each pair of hidden numbers, from -1/2 (below, no such numbers
            exist) to 1.
        n: How many samples: 70 % for training, 20 % for validation, 10 % for the test.
        seed: Of the samples. The split is the published one whatever the seed.
        task: The label is ``linear``: c1 + c2 + c3 >= 2; ``nonlinear``: c1 + c2 + c3 - c1 c2 >= 2,
            which a linear head solves all the same; ``parity``: c1 + c2 + c3 is odd, which none
            does; ``two_concepts``: c1 + c2 >= 1, and the third concept is not annotated.
        concepts: ``incomplete`` leaves out the third concept, which the label needs.
    """
    if n < 10:
        raise EvidenceError("n", f"{n}", "at least 10, so that each split has a sample")
    if task == "two_concepts" and concepts == "incomplete":
        raise EvidenceError("concepts='incomplete'", "task='two_concepts'", "a task with three")
    hidden = _hidden(_checked(delta), n, seed)
    truth = hidden > 0
    c1, c2, c3 = truth.T.astype(np.int64)
    labels = {
        "linear": c1 + c2 + c3 >= 2,
        "nonlinear": c1 + c2 + c3 - c1 * c2 >= 2,
        "parity": (c1 + c2 + c3) % 2 == 1,
        "two_concepts": c1 + c2 >= 1,
    }[task]
    train, validation, test = _split(n)
    data = BottleneckData(
        name=f"TabularToy({delta:g})" + ("" if task == "linear" else f", {task}"),
        inputs=tabular_toy_inputs(hidden).astype(np.float32),
        truth=truth,
        labels=labels.astype(np.int64),
        train=train,
        validation=validation,
        test=test,
        concepts=Concepts(CONCEPTS),
        classes=Classes(("no", "yes")),
    )
    left_out = CONCEPTS[2:] if task == "two_concepts" or concepts == "incomplete" else ()
    return data.without(left_out) if left_out else data


def tabular_toy_inputs(hidden: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 7"]:
    """What a model sees of the hidden numbers: sin z + z and cos z + z of each, and their sum of
    squares.

    >>> tabular_toy_inputs(np.array([[0.3, -1.2, 2.0]])).round(6).tolist()
    [[0.59552, 1.255336, -2.132039, -0.837642, 2.909297, 1.583853, 5.53]]
    """
    waves = np.stack([np.sin(hidden) + hidden, np.cos(hidden) + hidden], axis=-1)
    return np.column_stack([waves.reshape(-1, 6), (hidden**2).sum(axis=1)])


def normalized_information(delta: float) -> tuple[float, float]:
    """The true I / H of two concepts, and of a concept and the label of the linear task.

    Two concepts agree with probability p = 1/2 + asin(delta) / pi, a concept and the label with
    3/4 + asin(delta) / (2 pi). All are fair coins, so I / H = 1 - h(p), where
    h(p) = -p log2 p - (1 - p) log2 (1 - p).

    >>> [tuple(round(x, 6) for x in normalized_information(d)) for d in (0.0, 0.25, 0.75)]
    [(0.0, 0.188722), (0.018747, 0.258929), (0.221896, 0.485106)]
    """
    turn = math.asin(_checked(delta)) / math.pi
    return 1 - _coin_entropy(0.5 + turn), 1 - _coin_entropy(0.75 + turn / 2)


def _coin_entropy(p: float) -> float:
    """In bits; a coin that always falls the same way has none."""
    return -sum(q * math.log2(q) for q in (p, 1 - p) if q > 0)


def _checked(delta: float) -> float:
    if not -0.5 <= delta <= 1:
        do = "Three numbers cannot all oppose each other more than that."
        raise EvidenceError("delta", f"{delta}", "a correlation from -0.5 to 1", do)
    return delta


def _hidden(delta: float, n: int, seed: int) -> Float[np.ndarray, "n 3"]:
    """Normal numbers of variance 1 and correlation delta: the mean of three independent ones is
    stretched, what is left is shrunk.
    """
    normals = np.random.default_rng(seed).standard_normal((n, 3))
    mean = normals.mean(axis=1, keepdims=True)
    return np.asarray(math.sqrt(1 + 2 * delta) * mean + math.sqrt(1 - delta) * (normals - mean))


def _split(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """70 / 20 / 10 as published: 30 % are taken off, then a third of that."""
    from sklearn.model_selection import train_test_split  # noqa: PLC0415  a second that few need

    train, rest = train_test_split(np.arange(n), test_size=0.3, random_state=PUBLISHED_SPLIT)
    validation, test = train_test_split(rest, test_size=1 / 3, random_state=PUBLISHED_SPLIT)
    return train, validation, test
