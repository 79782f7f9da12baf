"""What embeddings must be, said before any work is done; and rows of length 1."""

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError

Rows = Float[np.ndarray, "rows dimensions"]


def to_fit(embeddings: Rows, n_concepts: int, *, fewest: int, non_negative: bool = False) -> Rows:
    """The embeddings in double precision, if there are enough to find this many concepts."""
    if n_concepts < 1:
        raise EvidenceError("n_concepts", f"{n_concepts}", "at least 1")
    if len(embeddings) < fewest:
        raise EvidenceError(
            "embeddings",
            f"{len(embeddings)} samples",
            f"at least {fewest} to find {n_concepts} concepts",
            "Ask for fewer concepts, or give more samples.",
        )
    return _finite(embeddings, non_negative=non_negative)


def to_encode(
    embeddings: Rows,
    dictionary: Float[np.ndarray, "concepts _dimensions"],
    *,
    non_negative: bool = False,
) -> Rows:
    """The embeddings in double precision, if they are of the kind that was fitted."""
    if embeddings.shape[1] != dictionary.shape[1]:
        raise EvidenceError(
            "embeddings",
            f"{embeddings.shape[1]} dimensions",
            f"{dictionary.shape[1]}, as in the fit",
            "Take both from the same layer.",
        )
    return _finite(embeddings, non_negative=non_negative)


def _finite(embeddings: Rows, *, non_negative: bool) -> Rows:
    values = np.asarray(embeddings, np.float64)
    if not np.isfinite(values).all():
        wrong = int((~np.isfinite(values)).any(axis=1).sum())
        raise EvidenceError("embeddings", f"NaN or infinity in {wrong} samples", "finite numbers")
    if non_negative and values.size and values.min() < 0:
        raise EvidenceError(
            "embeddings",
            f"values down to {values.min():.3g}",
            "none below 0, because a non-negative factorisation is made of sums only",
            "Take a layer after a ReLU, or use another method.",
        )
    return values


def require_fitted(array: np.ndarray | None, method: object) -> np.ndarray:
    """What a fit has found."""
    if array is None:
        raise EvidenceError(
            type(method).__name__, "settings that were not fitted", "a fitted one",
            "Use what `fit` returns.",
        )  # fmt: skip
    return array


def unit_rows(rows: Rows) -> tuple[Rows, Float[np.ndarray, " rows"]]:
    """Rows of length 1 that nobody can change, and the lengths they had.

    >>> unit, length = unit_rows(np.array([[3.0, 4.0]]))
    >>> unit, length
    (array([[0.6, 0.8]]), array([5.]))
    """
    length = np.linalg.norm(rows, axis=1)
    if not (length > 0).all():
        raise EvidenceError(
            "embeddings",
            f"{int((length > 0).sum())} concepts that are not empty",
            f"{len(rows)}",
            "Ask for fewer concepts: these embeddings have no more.",
        )
    unit = rows / length[:, None]
    unit.flags.writeable = False
    return unit, length


def independent(strengths: Float[np.ndarray, " found"], n_concepts: int, size: int) -> None:
    """Refuse directions along which the embeddings do not vary: any others would do as well."""
    there = int((strengths > strengths[0] * size * np.finfo(np.float64).eps).sum())
    if there < n_concepts:
        raise EvidenceError(
            "embeddings",
            f"{there} independent directions",
            f"at least {n_concepts}, one for each concept",
            "Ask for fewer concepts, or give more varied samples.",
        )


def towards_the_mean(directions: Rows, embeddings: Float[np.ndarray, "samples dimensions"]) -> Rows:
    """Turn each direction so that the mean embedding is on its positive side."""
    side = np.where(directions @ embeddings.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(directions * side[:, None])
