"""From images and a network to maps, what becomes of them, scores and a report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

pytest.importorskip("torch")
pytest.importorskip("pytorch_grad_cam")

import torch
from safetensors.numpy import save_file

from support.servers.browser import looks_right
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.errors import EvidenceError
from theodolite.evidence.files import load
from theodolite.explainers.saliency.methods import explainer
from theodolite.models.cifar_resnet import CifarResNet
from theodolite.models.loading import load_model
from theodolite.report.html import write_report
from theodolite_reproductions.protocols import PROTOCOLS

PROTOCOL = PROTOCOLS / "saliency_pets.yaml"
BREEDS = ("Beagle", "Birman", "Boxer")


def write_pets(root: Path, n: int = 6) -> None:
    """Small images with a bright square as the pet, and a network that never learned anything."""
    random = np.random.default_rng(0)
    for folder in ("images", "trimaps"):
        (root / "pets" / folder).mkdir(parents=True)
    records = []
    for i in range(n):
        pixels = random.integers(0, 120, (32, 32, 3)).astype(np.uint8)
        trimap = np.full((32, 32), 2, np.uint8)
        top, left = random.integers(2, 18, 2)
        pixels[top : top + 10, left : left + 10] = 250
        trimap[top : top + 10, left : left + 10] = 1
        name = f"{BREEDS[i % 3]}_{i}"
        Image.fromarray(pixels).save(root / "pets" / "images" / f"{name}.jpg", quality=95)
        Image.fromarray(trimap).save(root / "pets" / "trimaps" / f"{name}.png")
        records.append(
            {
                "name": name,
                "breed": BREEDS[i % 3],
                "species": "dog",
                "head_box": [0.1, 0.1, 0.5, 0.5],
            }
        )
    (root / "pets" / "annotations.json").write_text(json.dumps(records))
    torch.manual_seed(0)
    network = CifarResNet(3)
    save_file({k: v.numpy() for k, v in network.state_dict().items()}, root / "network.safetensors")
    (root / "classes.json").write_text(json.dumps([f"class {c}" for c in "abcdefghij"]))


def small(**changes: Any) -> RunSpec:
    content = yaml.safe_load(PROTOCOL.read_text())
    content["dataset"] = {"name": "pets", "root": "pets"}
    content["pipeline"] |= {
        "backbone": "cifar_resnet20",
        "weights": "network.safetensors",
        "class_names": "classes.json",
        "layer": "layer3",
        "layers": {},
        "methods": ["grad_cam", "saliency", "rise", "random", "center"],
        "options": {"rise": {"masks": 30}},
        "images": 6,
        "percents": [1, 9, 17],
        "draws": 2,
        "shaken": 4,
        "randomized": 4,
        "chunk": 4,
        "shown": 2,
        **changes,
    }
    content["resampling"]["resamples"] = 30
    return RunSpec.model_validate(content)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("saliency")
    write_pets(root / "data")
    run(small(), RunPaths(root / "data", root / "out", root / "cache"))
    return root / "data", root / "out"


def test_evidence_is_what_the_explainer_gave(finished: tuple[Path, Path]) -> None:
    data, out = finished
    evidence = load(out / "compared" / "saliency" / "seed-0" / "saliency")
    classifier = load_model("cifar_resnet20", weights=data / "network.safetensors")
    images = [
        classifier.preprocessing(Image.open(data / "pets" / "images" / str(name)))
        for name in evidence.samples.ids
    ]
    said = classifier.probabilities(np.stack(images))
    assert_array_equal(evidence.predicted, said.argmax(axis=1))
    assert_allclose(evidence.clean, said.max(axis=1), rtol=1e-5)
    maps = explainer("saliency", classifier.network)(np.stack(images), said.argmax(axis=1))
    assert_allclose(evidence.maps, maps, rtol=2e-3, atol=1e-4)
    assert_allclose(evidence.norms, np.linalg.norm(maps.reshape(6, -1), axis=1), rtol=1e-5)
    assert np.isfinite(evidence.changes[:4]).all()
    assert np.isnan(evidence.changes[4:]).all()
    assert np.isfinite(evidence.randomized_similarity[:4]).all()
    assert evidence.removals.names == ("road", "black", "uniform", "gaussian")
    assert (evidence.objects.reshape(6, -1).sum(axis=1) == 100).all()


def test_all_methods_are_held_against_the_same_chance(finished: tuple[Path, Path]) -> None:
    _, out = finished
    main = load(out / "evidence" / "seed-0" / "saliency")
    other = load(out / "compared" / "random" / "seed-0" / "saliency")
    assert_array_equal(main.chance_most_first, other.chance_most_first)
    assert main.chances.names == ("random", "smooth", "center")
    at_random = other.chance_most_first[:, 0]
    assert (other.most_first != at_random).any()  # a random map of its own
    center = load(out / "compared" / "center" / "seed-0" / "saliency")
    assert_allclose(center.most_first, center.chance_most_first[:, 2], atol=1e-6)
    assert np.isnan(main.chance_changes[4:]).all()  # not shaken, so not compared


def test_every_seed_has_its_maps(finished: tuple[Path, Path], tmp_path: Path) -> None:
    data, _ = finished
    spec = small(methods=["rise"], shaken=0, randomized=0, ways=["black"])
    spec = spec.model_copy(update={"seeds": [0, 1], "studies": [], "metrics": []})
    run(spec, RunPaths(data, tmp_path / "out", tmp_path / "cache"))
    first, second = (
        load(tmp_path / "out" / "evidence" / f"seed-{seed}" / "saliency") for seed in (0, 1)
    )
    assert_array_equal(first.samples.ids, second.samples.ids)
    assert (first.maps != second.maps).any()


def test_processes_give_the_same_bytes(finished: tuple[Path, Path], tmp_path: Path) -> None:
    data, out = finished
    spec = small(methods=["grad_cam"], options={})
    places = RunPaths(data, tmp_path / "out", tmp_path / "cache")
    run(spec, places, engine=Engine("local", workers=2))
    for name in ("maps", "most_first", "changes", "randomized_similarity"):
        file = f"evidence/seed-0/saliency/{name}.npy"
        assert (tmp_path / "out" / file).read_bytes() == (out / file).read_bytes(), name


def test_scores_are_computed_again_from_the_stored_maps(finished: tuple[Path, Path]) -> None:
    _, out = finished
    write_checksums(out)
    assert recompute(out) > 0


def test_the_page(finished: tuple[Path, Path]) -> None:
    _, out = finished
    page = write_report(out).read_text()
    assert "Does the map mark the object?" in page
    assert "Does the output depend on what the map marks?" in page
    assert "add up to the output" not in page.split("Not evaluated")[0]
    ranking = page.split("The methods side by side")[1].split("What they mark")[0]
    models = json.loads((out / "compared.json").read_text())["models"]
    values = {
        m["about"]["title"]: next(
            s["value"] for s in m["scores"] if s["metric"] == "removal_faithfulness"
        )
        for m in models
    }
    ordered = sorted(values, key=lambda title: -values[title])
    places = [ranking.index(f'<th scope="row">{title}') for title in ordered]
    assert places == sorted(places)
    assert ranking.count("uninformative baseline") == 2
    assert page.count('alt="Map of ') == 2 * len(models)
    assert "Of 21 pairs of scores" in page
    looks_right(out / "report.html")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"methods": ["gradcam"]}, r"methods.*gradcam.*grad_cam"),
        ({"methods": []}, r"methods"),
        ({"options": {"lime": {}}}, r"options.*lime.*methods of this run"),
        ({"options": {"rise": {"mask": 3}}}, r"options of rise.*mask"),
        ({"objects": ["horse"]}, r"objects.*horse.*cat"),
        ({"ways": ["blur"]}, r"ways.*blur.*road"),
        ({"layers": {"lime": "layer2"}}, r"layers.*lime.*methods of this run"),
        ({"layer": "layer9"}, r"layer.*layer9.*layer3"),
        ({"percents": [5, 1]}, r"percents.*rising"),
        ({"noises": ["salt"]}, r"noises.*salt.*uniform"),
        ({"chunk": 0}, r"chunk.*at least 1"),
        ({"class_names": "pets/annotations.json"}, r"class names.*list of names"),
    ],
)
def test_wrong_settings_are_named(
    finished: tuple[Path, Path], tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    data, _ = finished
    with pytest.raises(EvidenceError, match=says):
        run(small(**changes), RunPaths(data, tmp_path / "out", tmp_path / "cache"))


def test_the_protocol_on_real_images(shared_data: Path, tmp_path: Path) -> None:
    content = yaml.safe_load(PROTOCOL.read_text())
    methods = [  # one of each kind: all of them are in the tests of explainers
        "grad_cam", "lime", "random",
    ]  # fmt: skip
    assert set(methods) < set(content["pipeline"]["methods"])
    content["pipeline"] |= {
        "methods": methods, "layers": {}, "images": 2, "percents": [1, 13], "ways": ["road", "black"],
        "shaken": 1, "draws": 1, "randomized": 1, "chunk": 2, "shown": 1,
        "options": {
            "lime": {"num_samples": 12, "segments": "grid", "cells": 3},
        },
    }  # fmt: skip
    content["metrics"] = [m for m in content["metrics"] if "uniform" not in str(m)]
    content["metrics"] = [m for m in content["metrics"] if "gaussian" not in str(m)]
    named = content["studies"][0]["metrics"]
    content["studies"][0]["metrics"] = {k: v for k, v in named.items() if "noise)" not in k}
    content["resampling"]["resamples"] = 20
    out = tmp_path / "out"
    run(RunSpec.model_validate(content), RunPaths(shared_data, out, tmp_path / "cache"))
    seen = {m["name"] for m in json.loads((out / "compared.json").read_text())["models"]}
    assert seen == set(methods)
    write_report(out)
