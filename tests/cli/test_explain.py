"""The command that explains images, as a user calls it."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner, Result

from support.runs.command_line import theodolite
from theodolite._storage.arrays import read_npy, write_safetensors
from theodolite._storage.images import read_image
from theodolite.cli.commands.explain import explain as command
from theodolite.errors import EvidenceError


def explain(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [*map(str, arguments)])


def refused(*arguments: object) -> str:
    result = explain(*arguments)
    assert result.exit_code != 0 and isinstance(result.exception, EvidenceError)
    return str(result.exception)


def test_the_list_has_the_columns_of_the_paper() -> None:
    shown = theodolite("explain", "--list")
    assert shown.returncode == 0 and not shown.stderr
    lines = shown.stdout.splitlines()
    heads = ("name", "functioning", "attribution on", "stage", "applies to", "library")
    places = [lines[0].index(head) for head in heads]
    assert places == sorted(places)
    rows = {line.split()[0]: line for line in lines[1:] if line and not line.startswith(" ")}
    assert "gradient" in rows["grad_cam"] and "post-hoc" in rows["grad_cam"]
    assert "CNN, ViT, CLIP (zero-shot)" in rows["grad_cam"] and "grad-cam" in rows["grad_cam"]
    assert "ante-hoc" in rows["bcos"] and "B-cos network" in rows["bcos"]


def test_the_list_as_json_says_more() -> None:
    rows = {row["name"]: row for row in json.loads(explain("--list", "--json").output)}
    assert rows["grad_cam"]["title"] == "Grad-CAM" and rows["grad_cam"]["paper"]
    assert {"sign", "scale", "loses", "cite", "cost"} <= rows["rise"].keys()
    assert {row["attribution_on"] for row in rows.values()} == {"images"}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two images, and weights of a small network."""
    torch = pytest.importorskip("torch")
    resnet = importlib.import_module("theodolite.models.cifar_resnet")
    folder = tmp_path_factory.mktemp("explain")
    torch.manual_seed(0)
    arrays = {k: v.numpy() for k, v in resnet.CifarResNet(3).state_dict().items()}
    write_safetensors(folder / "small.safetensors", arrays)
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        pixels = rng.integers(0, 255, (40, 60, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{name}.png")
    return folder


def given(at: Path, out: str, *methods: str) -> list[object]:
    chosen = [part for method in methods for part in ("--method", method)]
    return [
        at / "one.png", at / "two.png", "--model", "cifar_resnet20", "--weights",
        at / "small.safetensors", "--out", at / out, *chosen,
    ]  # fmt: skip


def test_maps_and_images_of_them(at: Path) -> None:
    pytest.importorskip("captum", reason="pip install 'theodolite[explain]'")
    done = explain(*given(at, "out", "saliency", "center"), "--json")
    assert done.exit_code == 0, done.exception
    rows = json.loads(done.output)
    assert [(Path(r["image"]).name, r["method"]) for r in rows] == [
        ("one.png", "saliency"), ("one.png", "center"), ("two.png", "saliency"),
        ("two.png", "center"),
    ]  # fmt: skip
    assert all(0.1 <= row["probability"] <= 1 for row in rows)  # ten classes, the likeliest
    names = sorted(path.name for path in (at / "out").iterdir())
    stems = [f"{p}_{m}" for p in ("one", "two") for m in ("center", "saliency")]
    assert names == sorted(stem + end for stem in stems for end in (".npy", ".png"))
    map_ = read_npy(at / "out" / "one_saliency.npy")
    assert map_.shape == (32, 32) and map_.dtype == np.float32 and map_.max() > 0
    assert read_image(at / "out" / "one_saliency.png").size == (60, 40)


def test_the_table_names_the_class_that_was_asked_for(at: Path) -> None:
    done = explain(*given(at, "asked", "center"), "--target", 7)
    assert done.exit_code == 0, done.exception
    head, first, *_ = done.output.splitlines()
    assert head.split() == ["image", "method", "target", "class", "probability"]
    assert first.split()[-3:-1] == ["center", "7"] and 0 < float(first.split()[-1]) < 1


def test_nothing_is_overwritten(at: Path) -> None:
    (at / "full").mkdir()
    (at / "full" / "two_center.png").write_bytes(b"mine")
    assert "two_center.png" in refused(*given(at, "full", "center"))
    assert [path.name for path in (at / "full").iterdir()] == ["two_center.png"]
    assert (at / "full" / "two_center.png").read_bytes() == b"mine"


def test_what_is_refused(at: Path) -> None:
    assert "no IMAGES, --model, --method, --out" in refused()
    assert "no --out" in refused(*given(at, "x", "center")[:4], "--method", "center")
    assert "one of grad_cam" in refused(*given(at, "x", "grad_cham"))
    assert "twice" in refused(at / "one.png", *given(at, "x", "center"))
    assert "0 to 9" in refused(*given(at, "x", "center"), "--target", 10)
    assert "needed a file" in refused(at / "none.png", *given(at, "x", "center"))
    assert not (at / "x").exists()
