"""From images and a network to explanations, scores, the check of measures, and a report."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from theodolite.datasets.labeled_images import LabeledImages
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.surrogate_settings import compute_outputs
from theodolite.metrics.faithful.frame import compute_surrogate_outputs
from theodolite.metrics.faithful.surrogates import SurrogateError
from theodolite.models.features import Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.patches import Patches
from theodolite.pipelines.faithfulness.explained_layer import ClassPatches, ExplainedLayer, _head
from theodolite.pipelines.faithfulness.explanations import (
    TrainingSettings,
    explain_layer,
    make_surrogate_evidence,
)
from theodolite.pipelines.faithfulness.importances import _some_of_each
from theodolite.pipelines.faithfulness.pipeline import FaithfulnessPipeline
from theodolite.pipelines.posthoc.concept_cards import select_strongest

EPOCHS = {"sae": 2, "concept_shap": 2, "learned": 2}
TRAINING = TrainingSettings(**EPOCHS)


NO_NETWORK = LoadedModel("none", torch.nn.Identity(), Preprocessing(), "")


def planted_layer(seed: int = 0) -> ExplainedLayer:
    """Three classes, each made of two non-negative parts of its own, of different weight."""
    random = np.random.default_rng(seed)
    parts = np.zeros((3, 2, 12))
    for of in range(3):
        for k in range(2):
            parts[of, k, 4 * of + 2 * k : 4 * of + 2 * k + 2] = np.sqrt(0.5)
    head = np.einsum("k,ckd->cd", [3.0, 1.0], parts)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(n) % 3
        own = labels[:, None] == np.arange(3)
        codes = random.exponential(size=(n, 3, 2)) * np.where(own, 2.0, 0.1)[..., None]
        return np.einsum("nck,ckd->nd", codes, parts).astype(np.float32), labels

    train, train_labels = drawn(240)
    test, labels = drawn(90)
    return ExplainedLayer(
        train=train, test=test, head=head.astype(np.float32), bias=np.array([0.1, 0.0, -0.2], np.float32),
        train_labels=train_labels, labels=labels, classes=Classes(("a", "b", "c")),
        samples=Samples.numbered(90), patches={},
    )  # fmt: skip


@pytest.mark.parametrize("method", ["nmf", "svd", "pca", "kmeans"])
def test_methods_that_find_the_parts_explain_the_layer(method: str) -> None:
    layer = planted_layer()
    result = explain_layer(layer, method, 2, 0, TRAINING)
    evidence = make_surrogate_evidence(result, layer, 0, TRAINING, full=True)
    assert result.without == ()
    error = float(SurrogateError.of(evidence).value())
    average = float(
        np.abs(compute_outputs(evidence) - compute_outputs(evidence).mean(axis=0)).mean()
    )
    assert error < 0.35 * average, (error, average)
    assert evidence.concepts.names[:3] == ("a: 1", "a: 2", "b: 1")


def test_random_directions_do_not() -> None:
    layer = planted_layer()
    random, result = (
        float(
            SurrogateError.of(make_surrogate_evidence(one, layer, 0, TRAINING, full=True)).value()
        )
        for one in (explain_layer(layer, method, 2, 0, TRAINING) for method in ("random", "nmf"))
    )
    assert random > 2 * result


def test_what_is_rebuilt_is_what_head_and_vectors_give() -> None:
    layer = planted_layer()
    evidence = make_surrogate_evidence(
        explain_layer(layer, "nmf", 2, 0, TRAINING), layer, 0, TRAINING, full=True
    )
    stored = compute_surrogate_outputs(evidence, "rebuilt")
    assert (
        np.abs(compute_surrogate_outputs(replace(evidence, rebuilt=None), "rebuilt") - stored).max()
        < 1e-4
    )


def test_a_class_that_is_never_predicted_gets_no_concepts() -> None:
    layer = planted_layer()
    layer = replace(layer, bias=np.array([0.0, 0.0, -100.0], np.float32))
    result = explain_layer(layer, "nmf", 2, 0, TRAINING)
    evidence = make_surrogate_evidence(result, layer, 0, replace(TRAINING, learned=0), full=False)
    assert result.without == (
        "class 'c': got 0 samples; needed 2 or more that are predicted as it.",
    )
    assert np.isnan(evidence.importances[:, 2]).all()
    np.testing.assert_allclose(compute_surrogate_outputs(evidence)[:, 2], -100.0)
    assert evidence.learned is None and evidence.embeddings is None


def test_craft_finds_parts_in_patches_and_weighs_them_by_sobol_indices() -> None:
    layer = planted_layer()
    patches = {
        of: ClassPatches(
            Patches(layer.train[layer.train_labels == of], np.arange(80), np.zeros((80, 4), int)),
            np.arange(80),
        )
        for of in range(3)
    }
    result = explain_layer(replace(layer, patches=patches), "craft", 2, 0, TRAINING)
    table = result.gathered("importances", 0)
    own = [np.sort(table[~np.isnan(table[:, of]), of]) for of in range(3)]
    for small, large in own:  # weights 1 and 3: shares of the variance near 1/10 and 9/10
        assert 0 <= small < 0.35 and 0.6 < large <= 1.2


def test_a_class_that_is_too_small_for_a_method_does_not_end_the_run() -> None:
    layer = planted_layer()
    few = np.r_[np.flatnonzero(layer.train_labels == 2)[:3], np.flatnonzero(layer.train_labels < 2)]
    small = replace(layer, train=layer.train[few], train_labels=layer.train_labels[few])
    assert (small.predicted == 2).sum() == 3
    result = explain_layer(small, "pca", 3, 0, TRAINING)  # needs one more sample than components
    assert len(result.without) == 1 and "samples" in result.without[0]


def test_deletion_is_left_out_where_more_is_rebuilt_than_directions() -> None:
    layer = planted_layer()
    for method, there in (("pca", False), ("svd", True), ("nmf", True)):
        result = explain_layer(layer, method, 2, 0, TRAINING)
        assert (
            make_surrogate_evidence(result, layer, 0, TRAINING, full=False).has("vectors") is there
        )


def test_samples_of_every_class_are_drawn() -> None:
    labels = np.array([0] * 50 + [1] * 2 + [2] * 30)
    rows = _some_of_each(labels, 9, seed=0)
    assert np.bincount(labels[rows]).tolist() == [4, 2, 3] or np.bincount(
        labels[rows]
    ).tolist() == [3, 2, 4]
    assert len(np.unique(rows)) == 9


def test_a_fitted_layer_has_a_row_for_each_of_two_classes() -> None:
    layer = planted_layer()
    data = LabeledImages(
        name="two", classes=("a", "b"), ids=tuple(f"{i}" for i in range(160)),
        labels=layer.train_labels[layer.train_labels < 2], is_test=np.zeros(160, bool),
        at_hand=np.ones(160, bool), row_in_table=np.arange(160), read=lambda name: None, files=(),
    )  # fmt: skip
    embeddings = layer.train[layer.train_labels < 2]
    head, bias = _head(embeddings, data, "probe", NO_NETWORK)
    assert head.shape == (2, 12) and bias.shape == (2,)
    assert ((embeddings @ head.T + bias).argmax(axis=1) == data.labels).mean() > 0.9
    with pytest.raises(EvidenceError, match="no training images of 'c'"):
        _head(embeddings, replace(data, classes=("a", "b", "c")), "probe", NO_NETWORK)


def test_no_class_with_samples_is_said() -> None:
    layer = planted_layer()
    with pytest.raises(EvidenceError, match="or more training samples predicted as a class"):
        explain_layer(layer, "nmf", 500, 0, TRAINING)
    with pytest.raises(EvidenceError, match="one of"):
        explain_layer(layer, "ice", 2, 0, TRAINING)


def test_wrong_settings_are_said() -> None:
    with pytest.raises(EvidenceError, match="some of"):
        FaithfulnessPipeline(backbone="x", methods=["ice"])._check()
    with pytest.raises(EvidenceError, match="epochs"):
        FaithfulnessPipeline(backbone="x", epochs={"svm": 3})._check()


def test_strongest_patches_are_of_different_images() -> None:
    strength = np.array([1.0, 9.0, 8.0, 0.0, 2.0, -1.0])
    image = np.array([0, 1, 1, 2, 3, 4])
    assert select_strongest(strength, image).tolist() == [1, 4, 0]
