"""Planted attributions of a table: to the features that a model reads, or to others."""

import numpy as np

from theodolite.evidence.axes import AttributionScale
from theodolite.evidence.kinds.attribution import AttributionEvidence

FEATURES, READ = 12, 5


def planted_attributions(
    n_samples: int = 200, *, alignment: float = 1.0, blindness: float = 0.0, seed: int = 0
) -> AttributionEvidence:
    """Attributions to the features that a model reads, in a share ``alignment`` of the samples.

    The first feature says which five of the other twelve the model adds up. On other samples the
    attributions are of five others. ``blindness`` is the share of samples whose attributions stay
    the same when the model is trained on permuted labels.

    >>> planted = planted_attributions(4)
    >>> bool(np.allclose(planted.values.sum(axis=1), planted.output))
    True
    """
    random = np.random.default_rng(seed)
    inputs, background = (_rows(random, n) for n in (n_samples, 40))
    start = inputs[:, 0].astype(int)
    start = np.where(random.random(n_samples) < alignment, start, start + READ)
    values = np.where(_are_read(start), inputs, 0.0)
    blind = random.random((n_samples, 1)) < blindness
    other = random.normal(size=inputs.shape)
    return AttributionEvidence(
        values=values, inputs=inputs, background=background, respond=_sum_of_read,
        base=np.zeros(n_samples), scale=AttributionScale(("raw",)),
        randomized_values=np.where(blind, values, other), repeat_values=values,
        other_method_values=values,
    )  # fmt: skip


def _rows(random: np.random.Generator, n: int) -> np.ndarray:
    numbers = random.normal(size=(n, FEATURES))
    return np.column_stack([random.integers(0, FEATURES, n), numbers])


def _are_read(start: np.ndarray) -> np.ndarray:
    """Five features in a row, from the first again after the last."""
    read = (np.arange(FEATURES) - start[:, None]) % FEATURES < READ
    return np.column_stack([np.zeros(len(start), bool), read])


def _sum_of_read(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(_are_read(rows[:, 0].astype(int)), rows, 0.0).sum(axis=1))
