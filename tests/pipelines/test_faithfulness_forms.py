"""Forms of the methods that papers leave open, and outputs that are no classes."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("torch")

from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.surrogate_settings import compute_outputs
from theodolite.explainers.discovery._self_representation import lasso_representation
from theodolite.explainers.discovery.concept_shap import ConceptShap
from theodolite.metrics.faithful.frame import compute_surrogate_outputs
from theodolite.models.patches import Patches
from theodolite.pipelines.faithfulness.explained_layer import ClassPatches, ExplainedLayer
from theodolite.pipelines.faithfulness.explanations import (
    Explanation,
    TrainingSettings,
    explain_layer,
    make_surrogate_evidence,
)
from theodolite.pipelines.faithfulness.image_segments import isolate_segments, number_segments
from theodolite.pipelines.faithfulness.importances import contrast_importance
from theodolite.pipelines.faithfulness.method_forms import RECIPES
from theodolite_reproductions.claims.answers.surrogates import BENCHMARK

TRAINING = TrainingSettings(sae=2, concept_shap=2, learned=0)
DIMENSIONS = 64


def layer_of_parts(seed: int = 0) -> ExplainedLayer:
    """Two classes with a mean direction each, and maps of four places whose means are pooled."""
    random = np.random.default_rng(seed)
    means = random.uniform(1, 2, (2, DIMENSIONS)) * np.repeat(np.eye(2), DIMENSIONS // 2, axis=1)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(n) % 2
        maps = means[labels][:, :, None, None] + random.uniform(0, 0.4, (n, DIMENSIONS, 2, 2))
        return maps.astype(np.float32), labels

    (train, own), (test, labels) = drawn(120), drawn(30)
    pooled = train.mean(axis=(2, 3))
    crops = {
        of: ClassPatches(Patches(pooled[own == of], np.arange(60), np.zeros((60, 4), int)), own)
        for of in range(2)
    }
    segments = {cut: {of: pooled[own == of] for of in range(2)} for cut in ("grid", "slic")}
    return ExplainedLayer(
        train=pooled, test=test.mean(axis=(2, 3)), head=(means - means.mean(axis=0)).astype("f4"),
        bias=np.zeros(2, np.float32), train_labels=own, labels=labels, classes=Classes(("a", "b")),
        samples=Samples.numbered(30), patches=crops, segments=segments, places=(train, test),
    )  # fmt: skip


def explained(layer: ExplainedLayer, method: str, n: int = 5) -> Explanation:
    if RECIPES[method].method == "sae" and not find_spec("overcomplete"):
        pytest.skip("needs overcomplete")
    return explain_layer(layer, method, n, 0, TRAINING)


@pytest.mark.parametrize("method", BENCHMARK.values())
def test_methods_of_the_benchmark_give_five_concepts_a_class(method: str) -> None:
    layer = layer_of_parts()
    parts = explained(layer, method).parts
    if RECIPES[method].method == "mcd":  # concepts are subspaces
        assert [len(set(part.fitted.subspace)) for part in parts] == [5, 5]
    elif method == "sae_places":
        assert len(parts[0].names) == 10 and (parts[0].codes > 0).sum(axis=1).min() >= 5
    else:
        table = np.concatenate([part.importances for part in parts])
        assert (~np.isnan(table)).sum(axis=0).tolist() == [5, 5]


def test_centered_subspaces_lose_the_mean_of_a_class() -> None:
    layer = layer_of_parts()
    own, errors = layer.labels == 0, {}
    for name in ("mcd_lasso", "mcd_lasso_uncentered"):
        evidence = make_surrogate_evidence(explained(layer, name, 1), layer, 0, TRAINING, full=True)
        gap = compute_surrogate_outputs(evidence)[own, 0] - compute_outputs(evidence)[own, 0]
        errors[name] = float(np.abs(gap).mean())
    assert errors["mcd_lasso_uncentered"] < 0.1 * errors["mcd_lasso"]


def test_the_lasso_meets_its_conditions() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(12, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    table = lasso_representation(rows, penalty=0.1)
    assert np.diag(table).max() == 0
    for i, row in enumerate(table):
        others = np.delete(np.arange(12), i)
        limit = 0.1 * np.abs(rows[others] @ rows[i]).max()
        slope = rows[others] @ (rows[i] - row @ rows)
        assert np.abs(slope).max() <= limit * 1.05
        active = row[others] != 0
        assert np.allclose(slope[active], np.sign(row[others][active]) * limit, atol=0.05 * limit)


def test_cdisco_weighs_by_how_much_more_a_direction_matters_to_the_class() -> None:
    layer = replace(
        layer_of_parts(), train=np.array([[1.0, 0], [3, 0], [0, 2], [0, 4]]), head=np.eye(2),
        train_labels=np.array([0, 0, 1, 1]),
    )  # fmt: skip
    outputs = layer.train
    p = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    slopes = np.maximum(p - np.eye(2)[[0, 0, 1, 1]], 0) * layer.train
    # a slope above 0 is there for the other class alone, where the embedding is 0
    assert (slopes == 0).all()
    assert contrast_importance(layer, np.eye(2), 0).tolist() == [0, 0]
    layer = replace(layer, train=layer.train + 1.0)
    outputs = layer.train
    p = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    slopes = np.maximum(p - np.eye(2)[[0, 0, 1, 1]], 0) * layer.train
    wanted = (slopes[:2].mean(axis=0) - slopes[2:].mean(axis=0)) / np.where(
        slopes[2:].std(axis=0) > 0, slopes[2:].std(axis=0), np.inf
    )
    np.testing.assert_allclose(contrast_importance(layer, np.eye(2), 0), wanted, atol=1e-12)


def test_codes_of_places_add_up_to_those_of_the_pooled_image() -> None:
    layer = layer_of_parts()
    part = explained(layer, "sae_places").parts[0]
    maps = np.moveaxis(layer.places[1][3], 0, -1).reshape(-1, DIMENSIONS)
    np.testing.assert_allclose(part.codes[3], part.fitted.encode(maps).mean(axis=0))
    with pytest.raises(EvidenceError, match="places"):
        explained(replace(layer, places=None), "sae_places")


def test_a_decoder_learned_anew_tells_more_from_what_is_left() -> None:
    layer = layer_of_parts()
    shap = ConceptShap(layer.head, layer.bias, layer.train_labels, n_concepts=4, epochs=2)
    fitted = shap.fit(layer.train, seed=0)
    codes = fitted.encode(layer.train) * np.array([1, 0, 0, 0])
    same = fitted.relearned(codes, epochs=0, seed=0)
    np.testing.assert_allclose(same.decode(codes), fitted.decode(codes), rtol=1e-4, atol=1e-5)
    own = fitted.relearned(codes, epochs=20, seed=0)

    def loss(outputs: np.ndarray) -> float:
        shares = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        return float(-np.log(shares[np.arange(len(codes)), layer.train_labels]).mean())

    assert loss(layer.compute_logits(own.decode(codes))) < 0.8 * loss(
        layer.compute_logits(fitted.decode(codes))
    )


def test_segments_cover_the_image_once() -> None:
    pixels = np.zeros((30, 32, 3), np.uint8)
    pixels[:, 16:] = 255
    cuts = ["grid"] + (["slic"] if find_spec("skimage") else [])
    for cut in cuts:
        numbers = number_segments(pixels, cut)
        parts = [np.asarray(part) for part in isolate_segments(Image.fromarray(pixels), cut)]
        assert len(parts) == len(np.unique(numbers)) > 1
        visible = sum((part != 128).all(axis=2).astype(int) for part in parts)
        assert (visible == 1).all()
    assert len(np.unique(number_segments(pixels, "grid"))) == 9
