"""The protocols for ADE20K and Broden run on drawn images in the formats of these data sets."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from safetensors.numpy import save_file

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.models.cifar_resnet import CifarResNet
from theodolite_reproductions.protocols import PROTOCOLS

torch = pytest.importorskip("torch")

N, SIDE = 12, 32
KINDS = ("street", "field")


def draw(path: Path, number: int) -> np.ndarray:
    """An image whose left or right half is a red car on gray; where the car is."""
    car = np.zeros((SIDE, SIDE), bool)
    car[8:24, slice(0, 16) if number % 2 else slice(16, 32)] = True
    noise = np.random.default_rng(number).integers(0, 60, (SIDE, SIDE, 3))
    image = np.where(car[..., None], (200, 20, 20), (90, 90, 90)) + noise // 2
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image.astype(np.uint8)).save(path, quality=95)
    return car


def write_ade20k(root: Path) -> None:
    """Car 401 on tree 855, as colors of label maps; the scene is the last word of its path."""
    for number in range(N):
        car = draw(root / "urban" / f"{number}.jpg", number)
        index = np.where(car, 401, 855)
        seg = np.stack([index // 256 * 10, index % 256, index], axis=-1)
        Image.fromarray(seg.astype(np.uint8)).save(root / "urban" / f"{number}_seg.png")
        things = [(401, "car, auto"), (855, "tree")]
        objects = [{"name_ndx": n, "name": w, "parts": {"part_level": 0}} for n, w in things]
        annotation = {"scene": ["outdoor", KINDS[number // 6]], "object": objects}
        (root / "urban" / f"{number}.json").write_text(json.dumps({"annotation": annotation}))


def write_broden(root: Path) -> None:
    """An index, labels, and label maps of the objects; the scene is a number."""
    rows = []
    for number in range(N):
        car = draw(root / "images" / f"{number}.jpg", number)
        index = np.where(car, 1, 2)
        maps = np.stack([index % 256, index // 256, 0 * index], axis=-1)
        Image.fromarray(maps.astype(np.uint8)).save(root / "images" / f"{number}_o.png")
        scene = 3 + number // 6
        rows.append([f"{number}.jpg", "train", SIDE, SIDE, SIDE, SIDE, f"{number}_o.png", scene])
    header = ["image", "split", "ih", "iw", "sh", "sw", "object", "scene"]
    labels = [["number", "name", "category"], [0, "-", "object"], [1, "car", "object"],
              [2, "tree", "object"], [3, "street-s", "scene"], [4, "field-s", "scene"]]  # fmt: skip
    for name, table in (("index.csv", [header, *rows]), ("label.csv", labels)):
        with (root / name).open("w", newline="") as stream:
            csv.writer(stream).writerows(table)


@pytest.mark.parametrize(("name", "write"), [("ade20k", write_ade20k), ("broden", write_broden)])
def test_the_protocol_runs(tmp_path: Path, name: str, write) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    (data / name).mkdir(parents=True)
    write(data / name)
    out.mkdir()
    content = yaml.safe_load((PROTOCOLS / f"detection_{name}.yaml").read_text())
    assert "none kept" in (PROTOCOLS / f"detection_{name}.yaml").read_text()
    torch.manual_seed(0)
    state = CifarResNet(3).state_dict()
    save_file({key: value.numpy() for key, value in state.items()}, data / "net.safetensors")
    content["pipeline"] |= {
        "weights": "net.safetensors",
        "backbone": "cifar_resnet20",
        "layer": "layer1",
        "quantile": 0.9,
        "min_images": 3,
    }
    content["resampling"]["resamples"] = 20
    result = run(RunSpec.model_validate(content), RunPaths(data, out, tmp_path / "cache"))
    assert {s.metric for s in result.scores} == {"detection_accuracy", "unit_iou", "pixel_recall"}
    (first,) = [s for s in result.scores if s.metric == "detection_accuracy"]
    assert first.value > 0.5, "a channel tells red from gray, even at random weights"
