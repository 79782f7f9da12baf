"""Concepts in the middle of a network, followed through the rest of it by its slope."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.datasets.labeled_images import LabeledImages
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts, Samples
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.explainers.discovery.methods import METHODS
from theodolite.explainers.discovery.protocol import Discovery
from theodolite.models.loaded_model import LoadedModel
from theodolite_reproductions.surrogates.rest_of_network import RestOfNetwork

MOST_PLACES = 2000
"""Places that the concepts of a class are found in."""
SLOPES = 40
"""Images a class over which the slope is averaged."""


@dataclass(frozen=True, eq=False)
class MiddleImages:
    """Images as the network takes them."""

    train: Float[np.ndarray, "train 3 rows columns"]
    test: Float[np.ndarray, "test 3 rows columns"]
    labels: Int[np.ndarray, " test"]
    classes: Classes
    samples: Samples


def middle_images(data: LabeledImages, backbone: LoadedModel, n_test: int) -> MiddleImages:
    """Some images of each class: as many as the slopes need, and ``n_test`` to be explained."""
    train, test = (
        _even(data.labels, part & data.at_hand, n)
        for part, n in ((~data.is_test, 2 * SLOPES * len(data.classes)), (data.is_test, n_test))
    )
    arrays = [
        np.stack([backbone.preprocessing(data.image(int(row))) for row in rows])
        for rows in (train, test)
    ]
    ids = np.array([data.ids[row] for row in test])
    return MiddleImages(
        arrays[0],
        arrays[1],
        data.labels[test],
        Classes(data.classes),
        Samples(index=test, ids=ids),
    )


def _even(labels: np.ndarray, usable: np.ndarray, n: int) -> np.ndarray:
    """Rows in the data set's order, as many of each class."""
    per_class = max(n // (int(labels.max()) + 1), 1)
    rows = [
        np.flatnonzero(usable & (labels == of))[:per_class] for of in range(int(labels.max()) + 1)
    ]
    return np.sort(np.concatenate(rows))


def middle_evidence(
    images: MiddleImages, rest: RestOfNetwork, method: str, n_concepts: int, seed: int
) -> SurrogateEvidence:
    """Explain every class by concepts of its own at the layer.

    A concept is a direction among the layer's channels; how much of it is in an image is the sum
    over places. Its importance is the mean slope of the class's output along it, and the bias what
    that leaves of the mean output: both over training images predicted as the class.
    """
    n_classes = len(images.classes)
    train, test = rest.activations(images.train), rest.activations(images.test)
    if train.ndim != 4:
        needed, hint = "(images, channels, rows, columns)", "Name a layer before the pooling."
        raise EvidenceError("layer", f"shape {train.shape}", needed, hint)
    train_outputs, test_outputs = rest.outputs(images.train), rest.outputs(images.test)
    table = np.full((n_classes, n_concepts, n_classes), np.nan)
    codes = np.zeros((len(test), n_classes, n_concepts), np.float32)
    # a class without concepts is explained by its bias alone, here as at the last layer
    bias = train_outputs.mean(axis=0)
    rebuilt, linearized = (np.tile(bias, (len(test_outputs), 1)) for _ in range(2))
    for of in range(n_classes):
        rows = np.flatnonzero(train_outputs.argmax(axis=1) == of)
        fitted = _fit_concepts(_rows(train[rows]), method, n_concepts, [seed, of])
        if fitted is None:
            continue
        maps = _encode(fitted, test)
        codes[:, of] = maps.sum(axis=(2, 3))
        built = _decode(fitted, maps)
        rebuilt[:, of] = rest.outputs(images.test, built)[:, of]
        linearized[:, of] = rest.linearized(images.test, built)[:, of]
        some = rows[:SLOPES]
        there = _encode(fitted, train[some])
        adds = rest.contributions(images.train[some], fitted.dictionary(), there)[:, of]
        amount = there.sum(axis=(0, 2, 3))
        # a concept that is in none of these images has no slope: it explains nothing
        slopes = table[of, :, of]
        np.divide(adds.sum(axis=0), amount, out=slopes, where=np.abs(amount) > 1e-6)
        bias[of] = (train_outputs[some, of] - adds.sum(axis=1)).mean()
    names = tuple(f"{name}: {k + 1}" for name in images.classes.names for k in range(n_concepts))
    return SurrogateEvidence(
        importances=table.reshape(-1, n_classes),
        outputs=test_outputs,
        bias=bias,
        projections=codes.reshape(len(test), -1),
        rebuilt=rebuilt,
        linearized=linearized,
        labels=images.labels,
        classes=images.classes,
        concepts=Concepts(names),
        samples=images.samples,
    )


def _fit_concepts(
    places: Float[np.ndarray, "rows channels"], method: str, n_concepts: int, seed: list[int]
) -> Discovery | None:
    """Concepts of some of the places; none if there are fewer places than concepts."""
    if len(places) < n_concepts:
        return None
    random = np.random.default_rng(seed)
    chosen = random.permutation(len(places))[:MOST_PLACES]
    class_seed = int(random.integers(2**32))
    return METHODS[method](n_concepts=n_concepts).fit(places[np.sort(chosen)], seed=class_seed)


def _rows(maps: Float[np.ndarray, "n channels *places"]) -> Float[np.ndarray, "rows channels"]:
    """Every place of every image."""
    return np.moveaxis(maps, 1, -1).reshape(-1, maps.shape[1])


def _encode(
    fitted: Discovery, maps: Float[np.ndarray, "n channels rows columns"]
) -> Float[np.ndarray, "n concepts rows columns"]:
    n, _, rows, columns = maps.shape
    codes = fitted.encode(_rows(maps).astype(np.float64))
    return np.moveaxis(codes.reshape(n, rows, columns, -1), -1, 1).astype(np.float32)


def _decode(
    fitted: Discovery, codes: Float[np.ndarray, "n concepts rows columns"]
) -> Float[np.ndarray, "n channels rows columns"]:
    n, _, rows, columns = codes.shape
    maps = fitted.decode(_rows(codes).astype(np.float64))
    return np.moveaxis(maps.reshape(n, rows, columns, -1), -1, 1).astype(np.float32)
