"""From images and a network to explanations, scores, the check of measures, and a report."""

import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import yaml

pytest.importorskip("torch")

import torch

from theodolite._runs.folder.seal import seal
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.inputs import Places
from theodolite._runs.recompute import recompute
from theodolite._runs.run import run
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.files import load
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import outputs_of
from theodolite.metrics.faithful.frame import surrogate_outputs
from theodolite.metrics.faithful.surrogates import SurrogateError
from theodolite.models.backbones import Backbone
from theodolite.models.features import Preprocessing
from theodolite.models.patches import Patches
from theodolite.models.rest_of_network import RestOfNetwork
from theodolite.pipelines.faithfulness import middle_layers
from theodolite.pipelines.faithfulness.explained_layer import ClassPatches, ExplainedLayer, _head
from theodolite.pipelines.faithfulness.explanations import (
    TrainingSettings,
    evidence_of,
    explain_layer,
)
from theodolite.pipelines.faithfulness.importances import _some_of_each
from theodolite.pipelines.faithfulness.middle_layers import MiddleImages, middle_evidence
from theodolite.pipelines.faithfulness.pipeline import FaithfulnessPipeline
from theodolite.pipelines.faithfulness.recipes import FORMS
from theodolite.pipelines.posthoc.concept_cards import strongest
from theodolite.report.html import write_report
from theodolite_reproductions.protocols import PROTOCOLS

EPOCHS = {"sae": 2, "concept_shap": 2, "learned": 2}
TRAINING = TrainingSettings(**EPOCHS)


NO_NETWORK = Backbone("none", torch.nn.Identity(), Preprocessing(), "")


def short(name: str, seeds: list[int], dataset: dict[str, Any], **changes: Any) -> RunSpec:
    """A protocol with few epochs, images and resamples."""
    content = yaml.safe_load((PROTOCOLS / name).read_text())
    content["dataset"] |= dataset
    content["pipeline"] |= {"epochs": EPOCHS, "numbers": [1, 2], **changes}
    content["seeds"] = seeds
    content["resampling"]["resamples"] = 20
    kept = ("surrogate_distance", "surrogate_error", "linearization_error", "concept_deletion")
    content["compared_metrics"] = [m for m in content["compared_metrics"] if m["name"] in kept]
    without = {"svd", "kmeans", *FORMS} | (set() if find_spec("overcomplete") else {"sae"})
    methods = [m for m in content["pipeline"]["methods"] if m not in without]
    content["pipeline"] |= {"methods": methods}
    return RunSpec.model_validate(content)


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
    found = explain_layer(layer, method, 2, 0, TRAINING)
    evidence = evidence_of(found, layer, 0, TRAINING, full=True)
    assert found.without == ()
    error = float(SurrogateError.of(evidence).value())
    average = float(np.abs(outputs_of(evidence) - outputs_of(evidence).mean(axis=0)).mean())
    assert error < 0.35 * average, (error, average)
    assert evidence.concepts.names[:3] == ("a: 1", "a: 2", "b: 1")


def test_random_directions_do_not() -> None:
    layer = planted_layer()
    random, found = (
        float(SurrogateError.of(evidence_of(one, layer, 0, TRAINING, full=True)).value())
        for one in (explain_layer(layer, method, 2, 0, TRAINING) for method in ("random", "nmf"))
    )
    assert random > 2 * found


def test_what_is_rebuilt_is_what_head_and_vectors_give() -> None:
    layer = planted_layer()
    evidence = evidence_of(
        explain_layer(layer, "nmf", 2, 0, TRAINING), layer, 0, TRAINING, full=True
    )
    stored = surrogate_outputs(evidence, "rebuilt")
    assert (
        np.abs(surrogate_outputs(replace(evidence, rebuilt=None), "rebuilt") - stored).max() < 1e-4
    )


def test_a_class_that_is_never_predicted_gets_no_concepts() -> None:
    layer = planted_layer()
    layer = replace(layer, bias=np.array([0.0, 0.0, -100.0], np.float32))
    found = explain_layer(layer, "nmf", 2, 0, TRAINING)
    evidence = evidence_of(found, layer, 0, replace(TRAINING, learned=0), full=False)
    assert found.without == (
        "class 'c': got 0 samples; needed 2 or more that are predicted as it.",
    )
    assert np.isnan(evidence.importances[:, 2]).all()
    np.testing.assert_allclose(surrogate_outputs(evidence)[:, 2], -100.0)
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
    found = explain_layer(replace(layer, patches=patches), "craft", 2, 0, TRAINING)
    table = found.gathered("importances", 0)
    own = [np.sort(table[~np.isnan(table[:, of]), of]) for of in range(3)]
    for small, large in own:  # weights 1 and 3: shares of the variance near 1/10 and 9/10
        assert 0 <= small < 0.35 and 0.6 < large <= 1.2


def test_a_class_that_is_too_small_for_a_method_does_not_end_the_run() -> None:
    layer = planted_layer()
    few = np.r_[np.flatnonzero(layer.train_labels == 2)[:3], np.flatnonzero(layer.train_labels < 2)]
    small = replace(layer, train=layer.train[few], train_labels=layer.train_labels[few])
    assert (small.predicted == 2).sum() == 3
    found = explain_layer(small, "pca", 3, 0, TRAINING)  # needs one more sample than components
    assert len(found.without) == 1 and "samples" in found.without[0]


def test_deletion_is_left_out_where_more_is_rebuilt_than_directions() -> None:
    layer = planted_layer()
    for method, there in (("pca", False), ("svd", True), ("nmf", True)):
        found = explain_layer(layer, method, 2, 0, TRAINING)
        assert evidence_of(found, layer, 0, TRAINING, full=False).has("vectors") is there


def test_samples_of_every_class_are_drawn() -> None:
    labels = np.array([0] * 50 + [1] * 2 + [2] * 30)
    rows = _some_of_each(labels, 9, seed=0)
    assert np.bincount(labels[rows]).tolist() == [4, 2, 3] or np.bincount(
        labels[rows]
    ).tolist() == [3, 2, 4]
    assert len(np.unique(rows)) == 9


def test_layers_in_the_middle_take_methods_that_fit() -> None:
    with pytest.raises(EvidenceError, match="layer_methods"):
        FaithfulnessPipeline(backbone="x", layers=["layer1"], layer_methods=["mcd"])._check()


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


class TestMiddle:
    """A class that no training image is predicted as."""

    def test_is_explained_by_its_bias_alone(self) -> None:
        network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(), torch.nn.Linear(4, 3),
        )  # fmt: skip
        with torch.no_grad():
            network[4].bias[2] = -100.0
        random = np.random.default_rng(0)
        images = MiddleImages(
            random.normal(size=(30, 3, 4, 4)).astype(np.float32),
            random.normal(size=(8, 3, 4, 4)).astype(np.float32), np.zeros(8, int),
            Classes(("a", "b", "c")), Samples.numbered(8),
        )  # fmt: skip
        rest = RestOfNetwork(network, "1")
        found = middle_evidence(images, rest, "pca", 2, 0)
        mean = rest.outputs(images.train)[:, 2].mean()
        for surrogate in ("linear", "rebuilt", "linearized"):
            np.testing.assert_allclose(surrogate_outputs(found, surrogate)[:, 2], mean, rtol=1e-5)
        with pytest.raises(EvidenceError, match="before the pooling"):
            middle_evidence(images, RestOfNetwork(network, "3"), "pca", 2, 0)


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
    assert strongest(strength, image).tolist() == [1, 4, 0]


def some_of_cifar(shared_data: Path, root: Path, each: int) -> Path:
    """The weights, and the first images of every class."""
    whole, some = shared_data / "cifar10_resnet20", root / "cifar10_resnet20"
    some.mkdir(parents=True)
    shutil.copy(whole / "resnet20_cifar10.safetensors", some)
    name = "cifar10_test_4000_jpeg.zip"
    with ZipFile(whole / name) as given, ZipFile(some / name, "w") as kept:
        for member in given.namelist():
            if int(Path(member).stem) < each:
                kept.writestr(member, given.read(member))
    return root


def test_cifar(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middle_layers, "SLOPES", 4)
    spec = short(
        "faithfulness_cifar.yaml", [0, 1], {}, layers=["layer2", "layer3"], layer_images=4,
        layer_methods=["nmf"], methods=["nmf", "pca", "random"], patch_images=1, card_classes=1,
        curve_methods=["nmf", "pca"], repeats=2,
    )  # fmt: skip
    out = tmp_path / "out"
    data = some_of_cifar(shared_data, tmp_path / "data", 60)
    found = run(spec, Places(data, out, tmp_path / "cache"))
    by = {s.metric: s for s in found.scores if s.options.get("surrogate", "linear") == "linear"}
    assert 0 < by["surrogate_distance"].value < 1
    assert by["surrogate_distance"].interval is not None
    models = {m["name"]: m for m in json.loads((out / "compared.json").read_text())["models"]}
    assert {"nmf-5", "nmf-1", "pca-2", "layer2-nmf", "setting-perfect"} <= set(models)
    # the rest of the network after layer3 is linear but for the pooling: the slope is exact
    missed = {
        name: score(models[name], "linearization_error") for name in models if "layer" in name
    }
    assert missed["layer3-nmf"] < 1e-3 < missed["layer2-nmf"]
    studies = {s["kind"]: s for s in json.loads((out / "findings.json").read_text())["findings"]}
    passing = {
        (r["metric"], r["surrogate"]) for r in studies["sanity"]["rows"] if r["outcome"] == "passes"
    }
    assert ("surrogate_error", "linear") in passing
    assert not any(surrogate == "rebuilt" for _, surrogate in passing)
    assert {row["layer"]: row["usable"] for row in studies["layers"]["rows"]}["layer3"]
    assert {line["method"] for line in studies["curve"]["lines"]} == {"nmf", "pca"}
    cards = json.loads((out / "produced.json").read_text())["concept_cards"]
    assert len(cards) == 5
    assert all((out / file).stat().st_size > 100 for card in cards for file in card["files"])
    page = write_report(out)
    assert "ResNet-20" in page.read_text()
    seal(out)
    assert recompute(out, share=0.2) > 10


def score(model: dict[str, Any], metric: str) -> float:
    return next(float(s["value"]) for s in model["scores"] if s["metric"] == metric)


def test_cub(shared_data: Path, tmp_path: Path) -> None:
    spec = short(
        "faithfulness_cub.yaml", [0], {"n_classes": 6}, patch_images=1, card_classes=1,
        curve_methods=["pca"],
    )  # fmt: skip
    out = tmp_path / "out"
    run(spec, Places(shared_data, out, tmp_path / "cache"))
    evidence = load(out / "evidence" / "seed-0" / "surrogate")
    assert isinstance(evidence, SurrogateEvidence)
    assert len(evidence.classes) == 6 and evidence.head.shape == (6, 1280)
    made = json.loads((out / "produced.json").read_text())
    assert any("fitted to embeddings" in note for note in made["notes"])
    accuracy = dict(made["facts"])["test accuracy of the reference layer"]
    assert accuracy > 0.7
    page = write_report(out).read_text()
    assert "<h2>Faithful to the stand-in</h2>" in page and "Not evaluated of your network" in page
