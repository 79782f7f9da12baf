"""Layers whose outputs are no classes: attributes that are there or not, and one number."""

import hashlib
import json
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._storage.arrays import read_npy, write_npy
from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.masks.mask_data import MaskData
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.patches import compute_embeddings
from theodolite.pipelines.faithfulness.explained_layer import ExplainedLayer
from theodolite.pipelines.feature_pass import check_pooled

PENALTIES = (1.0, 10.0, 100.0, 1000.0)
TRAIN_SHARE = 2 / 3
SPLIT_SEED = 0


def attribute_layer(
    data: ConceptData, pooled: Path | None, n_outputs: int, n_images: int
) -> tuple[ExplainedLayer, dict[str, float]]:
    """A linear layer for attributes, fitted to 1 where one is present and -1 where not.

    It is fitted on all training images. Concepts are found in ``n_images`` of them, two thirds,
    and held against test images, one third; both drawn at random (0: all). ``n_outputs`` of the
    attributes are explained, at equal distances (0: all).
    """
    if pooled is None:
        raise EvidenceError("pooled", "none", "a file with features of all images")
    features = check_pooled(read_npy(pooled), len(data), pooled.name)
    targets = np.where(data.presence, 1.0, -1.0)
    train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
    head, bias = _fitted(features[train], targets[train])
    agree = (features[test] @ head.T + bias > 0) == data.presence[test]
    often = data.presence[train].mean(axis=0) > 0.5
    facts = {
        "labels that the layer has right": float(agree.mean()),
        "labels that the more frequent answer has right": float(
            (often == data.presence[test]).mean()
        ),
    }
    chosen = np.arange(len(data.concepts))
    if n_outputs:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, n_outputs).round().astype(int))
    train, test = _some(train, test, n_images)
    return ExplainedLayer(
        train=features[train], test=features[test], head=head[chosen], bias=bias[chosen],
        train_labels=data.labels[train], labels=data.labels[test],
        classes=Classes(tuple(data.concepts.names[c] for c in chosen)),
        samples=_samples(test, [data.images[row] for row in test], data.labels[test]),
        patches={}, found_on="positive",
    ), facts  # fmt: skip


def area_layer(
    data: MaskData, target: str, backbone: LoadedModel, digest: str, context: WorkContext
) -> tuple[ExplainedLayer, dict[str, float]]:
    """A linear layer for one number: the logarithm of how much of an image a concept covers.

    In standard deviations over the training images, two thirds of all. Images without the
    concept are left out.
    """
    if target not in data.concepts:
        raise EvidenceError("target", f"{target!r}", f"a concept of {data.name}")
    number = data.concepts.index(target) + 1
    area = np.array([_share(data, row, number) for row in range(len(data))])
    rows = data.at_hand(np.flatnonzero(area > 0))
    features = _embedded(data, rows, backbone, digest, context)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(rows))
    train, test = np.split(order, [round(TRAIN_SHARE * len(rows))])
    value = np.log(area[rows])
    value = (value - value[train].mean()) / value[train].std()
    head, bias = _fitted(features[train], value[train, None])
    error = value[test] - (features[test] @ head.T + bias)[:, 0]
    facts = {"share of the variance that the layer explains": 1 - error.var() / value[test].var()}
    labels = np.zeros(len(rows), int) if data.labels is None else data.labels[rows]
    return ExplainedLayer(
        train=features[train], test=features[test], head=head, bias=bias,
        train_labels=np.zeros(len(train), int), labels=labels[test],
        classes=Classes((f"log area of {target}",)),
        samples=_samples(rows[test], [data.images[row] for row in rows[test]], labels[test]),
        patches={}, found_on="all",
    ), {name: float(fact) for name, fact in facts.items()}  # fmt: skip


def _fitted(
    features: Float[np.ndarray, "n dimensions"], targets: Float[np.ndarray, "n outputs"]
) -> tuple[Float[np.ndarray, "outputs dimensions"], Float[np.ndarray, " outputs"]]:
    """Ridge regression; its penalty by leaving out one sample at a time."""
    from sklearn.linear_model import RidgeCV  # noqa: PLC0415

    ridge = RidgeCV(alphas=PENALTIES).fit(features.astype(np.float64), targets)
    head = np.atleast_2d(ridge.coef_).astype(np.float32)
    return head, np.atleast_1d(ridge.intercept_).astype(np.float32)


def _some(
    train: Int[np.ndarray, " train"], test: Int[np.ndarray, " test"], n: int
) -> tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]:
    if not n:
        return train, test
    random = np.random.default_rng(SPLIT_SEED)
    sizes = round(TRAIN_SHARE * n), n - round(TRAIN_SHARE * n)
    parts = [
        np.sort(random.permutation(rows)[:size])
        for rows, size in zip((train, test), sizes, strict=True)
    ]
    return parts[0], parts[1]


def _samples(rows: np.ndarray, ids: list[str], labels: np.ndarray) -> Samples:
    """Images of a class belong together."""
    return Samples(index=rows, ids=np.array(ids), clusters=labels)


def _share(data: MaskData, row: int, number: int) -> float:
    covered: Bool[np.ndarray, "rows columns"] = (data.layers(row) == number).any(axis=0)
    return float(covered.mean())


def _embedded(
    data: MaskData, rows: Int[np.ndarray, " n"], backbone: LoadedModel, digest: str,
    context: WorkContext,
) -> Float[np.ndarray, "n dimensions"]:  # fmt: skip
    """Embedded once and kept."""
    key = hashlib.sha256(json.dumps([digest, data.name]).encode())
    for row in rows:
        key.update(data.path(int(row)).read_bytes())
    file = context.cache / "embeddings" / f"{key.hexdigest()}.npy"
    if not file.is_file():
        context.progress("embeddings", 0, 1)
        write_npy(file, compute_embeddings(backbone, (data.image(int(row)) for row in rows)))
    return np.asarray(read_npy(file))
