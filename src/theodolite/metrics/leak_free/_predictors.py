"""Small networks that predict concepts from concepts: scikit-learn's, seeded."""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Size:
    """How large a network is and how long it is trained."""

    hidden: tuple[int, ...]
    epochs: int
    batch: int
    stops_early: bool = False


def split(n: int, seed: int) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
    """A random fifth to test on."""
    order = np.random.default_rng(seed).permutation(n)
    n_test = max(n // 5, 1)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def fitted(
    inputs: Float[np.ndarray, "samples inputs"],
    targets: Bool[np.ndarray, "samples concepts"],
    *,
    size: "Size",
    seed: int,
) -> "Predictor":
    """A network that predicts all targets at once from the inputs.

    Targets with one value only cannot be learnt; for these it says what it saw.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

    both = np.asarray(targets.any(axis=0) & ~targets.all(axis=0))
    if not both.any():
        return Predictor(None, both, targets[:1])
    network = MLPClassifier(
        size.hidden,
        alpha=1e-4 if size.stops_early else 0.0,
        batch_size=min(size.batch, len(inputs)),
        max_iter=size.epochs,
        random_state=seed,
        tol=1e-4 if size.stops_early else 0.0,
        n_iter_no_change=10 if size.stops_early else size.epochs + 1,
    )
    # one target is a plain classification, two or more are given as columns
    learnable_targets = targets[:, both] if both.sum() > 1 else targets[:, both][:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as many epochs as the definition says
        network.fit(inputs, learnable_targets.astype(int))
    return Predictor(network, both, targets[:1])


class Predictor:
    """Probabilities of all targets, with those that were constant in training kept apart."""

    def __init__(self, network: object, learnt: np.ndarray, seen: np.ndarray) -> None:
        self._network, self._learnt, self._seen = network, learnt, seen

    def __call__(
        self, inputs: Float[np.ndarray, "samples inputs"]
    ) -> Float[np.ndarray, "samples concepts"]:
        probabilities = np.repeat(self._seen.astype(float), len(inputs), axis=0)
        if self._network is not None:
            predicted = self._network.predict_proba(inputs)  # type: ignore[attr-defined]
            probabilities[:, self._learnt] = (
                predicted if self._learnt.sum() > 1 else predicted[:, 1:]
            )
        return probabilities
