"""The last linear layer of a network and its input embeddings, which concepts are found in.
Built by the faithfulness pipeline and passed to the discovery methods."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._storage.arrays import read_npy, write_npy
from theodolite._storage.paths import sha256_of
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.patches import (
    Patches,
    compute_embeddings,
    compute_patch_embeddings,
    get_head,
)
from theodolite.pipelines.feature_pass import check_pooled

HeadFrom = Literal["network", "probe"]
FoundOn = Literal["predicted", "positive", "all"]
SHARE, PER_SIDE = 5 / 13, 3
"""Patch side as a fraction of the image's, and patches per row and column."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedLayer:
    """Embeddings of training and test samples, and the linear layer that follows."""

    train: Float[np.ndarray, "train dimensions"]
    test: Float[np.ndarray, "test dimensions"]
    head: Float[np.ndarray, "classes dimensions"]
    bias: Float[np.ndarray, " classes"]
    train_labels: Int[np.ndarray, " train"]
    labels: Int[np.ndarray, " test"]
    classes: Classes
    samples: Samples
    patches: dict[int, "ClassPatches"]
    """Embeddings of patches of training images, by their predicted class."""
    segments: Mapping[str, Mapping[int, Float[np.ndarray, "segments dimensions"]]] = field(
        default_factory=dict
    )
    """Embeddings of segments, by segmentation method and class."""
    places: tuple[np.ndarray, np.ndarray] | None = None
    """Maps of training and test images (images, dimensions, rows, columns), before pooling."""
    found_on: FoundOn = "predicted"
    """Training samples in which an output's concepts are found: predicted as the class, with a
    positive output, or all.
    """

    def select_training_rows(self, of: int) -> Bool[np.ndarray, " train"]:
        """Return the training samples in which a class's concepts are found."""
        if self.found_on == "all":
            return np.ones(len(self.train), bool)
        if self.found_on == "positive":
            return np.asarray(self.compute_logits(self.train)[:, of] > 0)
        return np.asarray(self.predicted == of)

    def get_part_embeddings(self, cut: str, of: int) -> Float[np.ndarray, "parts dimensions"]:
        """Return embeddings of a class's patches or segments; empty without images."""
        if cut == "patches" and of in self.patches:
            return self.patches[of].patches.embeddings
        return self.segments.get(cut, {}).get(of, self.train[:0])

    def compute_logits(
        self, embeddings: Float[np.ndarray, "n dimensions"]
    ) -> Float[np.ndarray, "n classes"]:
        """Return the layer's outputs for embeddings."""
        return np.asarray(embeddings @ self.head.T + self.bias)

    @cached_property
    def predicted(self) -> Int[np.ndarray, " train"]:
        """Predicted classes of the training samples."""
        return np.asarray(self.compute_logits(self.train).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class ClassPatches:
    """Patches of the images of one class."""

    patches: Patches
    rows: Int[np.ndarray, " images"]
    """Rows of the images in the data set."""


def make_layer_from_pooled(
    data: LabeledImages, pooled: Path, head: HeadFrom, backbone: LoadedModel
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return embeddings from a file and the layer: the network's own, or a fitted one."""
    n_rows = int(data.row_in_table.max()) + 1  # more rows are those of classes left out
    table = read_npy(pooled)
    features = check_pooled(table[:n_rows] if table.ndim else table, n_rows, pooled.name)
    embeddings = features[data.row_in_table]
    return embeddings, _head(embeddings, data, head, backbone)


def make_layer_from_images(
    data: LabeledImages, head: HeadFrom, backbone: LoadedModel
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return embeddings computed by the network, and the layer."""
    if not data.at_hand.all():
        missing = int((~data.at_hand).sum())
        raise EvidenceError(
            f"data set {data.name!r}", f"{missing} images that are not there", "all of them",
            "Or give their features in a file, as `pooled`.",
        )  # fmt: skip
    embeddings = compute_embeddings(backbone, (data.image(row) for row in range(len(data))))
    return embeddings, _head(embeddings, data, head, backbone)


def _head(
    embeddings: Float[np.ndarray, "images dimensions"],
    data: LabeledImages,
    head: HeadFrom,
    backbone: LoadedModel,
) -> tuple[Float[np.ndarray, "classes dimensions"], Float[np.ndarray, " classes"]]:
    if head == "network":
        weights, bias = get_head(backbone.network, backbone.preprocessing.size)
        if weights.shape != (len(data.classes), embeddings.shape[1]):
            raise EvidenceError(
                f"last layer of {backbone.name!r}", f"{weights.shape}",
                f"{(len(data.classes), embeddings.shape[1])}, as in the data",
                "Fit a layer to the classes: head: probe.",
            )  # fmt: skip
        return weights, bias
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    train = ~data.is_test
    lacking = sorted(set(range(len(data.classes))) - set(data.labels[train].tolist()))
    if lacking:
        raise EvidenceError(
            "head: probe", f"no training images of {data.classes[lacking[0]]!r}",
            "some of every class",
        )  # fmt: skip
    probe = LogisticRegression(max_iter=1000).fit(embeddings[train], data.labels[train])
    weights, bias = probe.coef_, probe.intercept_
    if len(data.classes) == 2:  # one row for both: half of it for, half of it against
        weights, bias = (np.concatenate([-part, part]) / 2 for part in (weights, bias))
    return weights.astype(np.float32), bias.astype(np.float32)


def embed_class_patches(
    data: LabeledImages,
    predicted: Int[np.ndarray, " images"],
    backbone: LoadedModel,
    most: int,
    digest: str,
    context: WorkContext,
) -> dict[int, ClassPatches]:
    """Embed patches of up to ``most`` training images per predicted class, cached."""
    patches = {}
    for number in range(len(data.classes)):
        context.progress("patches", number, len(data.classes))
        usable = (predicted == number) & ~data.is_test & data.at_hand
        rows = np.flatnonzero(usable)[:most]
        if not len(rows):
            continue
        key = hashlib.sha256(json.dumps([digest, SHARE, PER_SIDE]).encode())
        for row in rows:
            key.update(np.asarray(data.image(int(row))).tobytes())
        stem = context.cache / "patches" / key.hexdigest()
        patches[number] = ClassPatches(_load_or_embed(data, backbone, rows, stem), rows)
    context.progress("patches", len(data.classes), len(data.classes))
    return patches


def _load_or_embed(
    data: LabeledImages, backbone: LoadedModel, rows: Int[np.ndarray, " n"], stem: Path
) -> Patches:
    files = [stem.with_suffix(f".{part}.npy") for part in ("embeddings", "image", "boxes")]
    if all(file.is_file() for file in files):
        return Patches(*(read_npy(file) for file in files))
    images = (data.image(int(row)) for row in rows)
    patches = compute_patch_embeddings(backbone, images, share=SHARE, per_side=PER_SIDE)
    for file, values in zip(files, (patches.embeddings, patches.image, patches.boxes), strict=True):
        write_npy(file, values)
    return patches


def compute_backbone_digest(weights: Path | None, backbone: str) -> str:
    """Return a digest of the network that embeds patches."""
    return json.dumps([backbone, None if weights is None else sha256_of(weights)])
