"""Handwritten digits and their strokes: a built-in concept bottleneck for the demo."""

from typing import Any

import numpy as np

STROKES = {
    "loop": (0, 6, 8, 9),
    "two loops": (8,),
    "straight line": (1, 4, 7, 9),
    "flat top": (5, 7),
    "round top": (0, 2, 3, 8, 9),
    "bar below": (2,),
    "round below": (0, 3, 5, 6, 8),
    "crossing": (4, 8),
    "open to the left": (2, 3, 5, 7, 9),
    "open to the right": (4, 5, 6),
}
"""Digits that have each stroke."""


def digit_strokes(*, hard: bool = False) -> dict[str, Any]:
    """Return arrays of a concept bottleneck that reads digits by strokes.

    Args:
        hard: Whether strokes are passed on as yes or no; else as how sure each detector is.

    >>> arrays = digit_strokes()
    >>> arrays["values"].shape, arrays["weights"].shape
    ((898, 10), (10, 10))
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415  only when needed
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    images, labels = load_digits(return_X_y=True)
    belongs = np.array([[digit in digits for digit in range(10)] for digits in STROKES.values()])
    truth = belongs[:, labels].T
    train, test = np.arange(len(labels)) % 2 == 0, np.arange(len(labels)) % 2 == 1
    detectors = [
        LogisticRegression(C=0.01, max_iter=1000).fit(images[train], stroke[train])
        for stroke in truth.T
    ]
    values = np.stack([detector.predict_proba(images)[:, 1] for detector in detectors], axis=1)
    values = np.round(values) if hard else values
    head = LogisticRegression(C=100, fit_intercept=False, max_iter=5000)
    head.fit(values[train], labels[train])
    return {
        "values": values[test],
        "truth": truth[test],
        "labels": labels[test],
        "predicted": head.predict(values[test]),
        "weights": head.coef_.T,
        "class_truth": belongs.astype(float),
        "concepts": list(STROKES),
    }


def digit_images() -> Any:
    """Return the images of the digits of ``digit_strokes``, from 0 (black) to 16 (white).

    >>> digit_images().shape
    (898, 8, 8)
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415  only when needed

    return 16.0 - load_digits().images[1::2]
