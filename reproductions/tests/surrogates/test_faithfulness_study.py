"""Runs of the surrogate study: protocols in short, and layers in the middle."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import yaml

pytest.importorskip("torch")
import torch

from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.files import load
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.faithful.frame import compute_surrogate_outputs
from theodolite.pipelines.faithfulness.method_forms import FORMS
from theodolite.report.html import write_report
from theodolite_reproductions.protocols import PROTOCOLS
from theodolite_reproductions.surrogates import middle_layers
from theodolite_reproductions.surrogates.middle_layers import MiddleImages, middle_evidence
from theodolite_reproductions.surrogates.pipeline import FaithfulnessStudyPipeline
from theodolite_reproductions.surrogates.rest_of_network import RestOfNetwork

EPOCHS = {"sae": 2, "concept_shap": 2, "learned": 2}


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


def test_layers_in_the_middle_take_methods_that_fit() -> None:
    with pytest.raises(EvidenceError, match="layer_methods"):
        FaithfulnessStudyPipeline(backbone="x", layers=["layer1"], layer_methods=["mcd"])._check()


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
        result = middle_evidence(images, rest, "pca", 2, 0)
        mean = rest.outputs(images.train)[:, 2].mean()
        for surrogate in ("linear", "rebuilt", "linearized"):
            np.testing.assert_allclose(
                compute_surrogate_outputs(result, surrogate)[:, 2], mean, rtol=1e-5
            )
        with pytest.raises(EvidenceError, match="before the pooling"):
            middle_evidence(images, RestOfNetwork(network, "3"), "pca", 2, 0)


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
    result = run(spec, RunPaths(data, out, tmp_path / "cache"))
    by = {s.metric: s for s in result.scores if s.options.get("surrogate", "linear") == "linear"}
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
    write_checksums(out)
    assert recompute(out, share=0.2) > 10


def score(model: dict[str, Any], metric: str) -> float:
    return next(float(s["value"]) for s in model["scores"] if s["metric"] == metric)


def test_cub(shared_data: Path, tmp_path: Path) -> None:
    spec = short(
        "faithfulness_cub.yaml", [0], {"n_classes": 6}, patch_images=1, card_classes=1,
        curve_methods=["pca"],
    )  # fmt: skip
    out = tmp_path / "out"
    run(spec, RunPaths(shared_data, out, tmp_path / "cache"))
    evidence = load(out / "evidence" / "seed-0" / "surrogate")
    assert isinstance(evidence, SurrogateEvidence)
    assert len(evidence.classes) == 6 and evidence.head.shape == (6, 1280)
    made = json.loads((out / "produced.json").read_text())
    assert any("fitted to embeddings" in note for note in made["notes"])
    accuracy = dict(made["facts"])["test accuracy of the reference layer"]
    assert accuracy > 0.7
    page = write_report(out).read_text()
    assert (
        "<h2>Faithful to the linear probe</h2>" in page and "Not evaluated for your model" in page
    )
