"""Check embeddings before a method is fitted or applied, and normalize rows."""

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError

Rows = Float[np.ndarray, "rows dimensions"]


def check_fit_input(
    embeddings: Rows, n_concepts: int, *, fewest: int, non_negative: bool = False
) -> Rows:
    """Return the embeddings in double precision; raise if there are too few."""
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


def check_encode_input(
    embeddings: Rows,
    dictionary: Float[np.ndarray, "concepts _dimensions"],
    *,
    non_negative: bool = False,
) -> Rows:
    """Return the embeddings in double precision; raise if they do not match the fit."""
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
    """Return an array of a fit; raise if ``fit`` was not called."""
    if array is None:
        raise EvidenceError(
            type(method).__name__, "settings that were not fitted", "a fitted one",
            "Use what `fit` returns.",
        )  # fmt: skip
    return array


def normalize_rows(rows: Rows) -> tuple[Rows, Float[np.ndarray, " rows"]]:
    """Return read-only rows of length 1, and their former lengths.

    >>> unit, length = normalize_rows(np.array([[3.0, 4.0]]))
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


def check_independent(strengths: Float[np.ndarray, " found"], n_concepts: int, size: int) -> None:
    """Raise for directions along which embeddings do not vary, since they are arbitrary."""
    there = int((strengths > strengths[0] * size * np.finfo(np.float64).eps).sum())
    if there < n_concepts:
        raise EvidenceError(
            "embeddings",
            f"{there} independent directions",
            f"at least {n_concepts}, one for each concept",
            "Ask for fewer concepts, or give more varied samples.",
        )


def orient_towards_mean(
    directions: Rows, embeddings: Float[np.ndarray, "samples dimensions"]
) -> Rows:
    """Flip each direction so that the mean embedding has a positive projection."""
    side = np.where(directions @ embeddings.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(directions * side[:, None])
