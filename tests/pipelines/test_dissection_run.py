"""A dissection from images to report: drawn shapes with a small network, and real data in short."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from support.real_masks import copy_some_masks
from support.runs.command_line import Result, theodolite
from theodolite._runs.recomputation import recompute
from theodolite._storage.tables import read_parquet
from theodolite._storage.text import read_csv
from theodolite.datasets.masks.joined_masks import joined_masks
from theodolite.datasets.shapes import write_shapes

torch = pytest.importorskip("torch")
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shapes as a folder of masks, one concept with markup in its name, and a random network."""
    import timm  # noqa: PLC0415

    root = tmp_path_factory.mktemp("shapes")
    write_shapes(root / "plain", 40)
    masks = root / "masks"
    masks.mkdir()
    samples = list(read_csv(root / "plain" / "samples.csv"))
    (masks / "samples.csv").write_text(
        "\n".join(["image,class", *(f"{row['image']},{row['class']}" for row in samples)])
    )
    for folder in ("images", "masks"):
        (root / "plain" / folder).rename(masks / folder)
    lines = ["image,concept,file"]
    for row in read_csv(root / "plain" / "masks.csv"):
        name = EVIL if row["part"] == "disc" else row["part"]
        lines.append(f"{row['image']},{name},{row['file']}")
    (masks / "masks.csv").write_text("\n".join(lines))
    torch.manual_seed(0)
    arrays = timm.create_model("test_resnet").state_dict()
    weights = {k: np.asarray(v.numpy(), order="C") for k, v in arrays.items()}
    save_file(weights, root / "weights.safetensors")
    return root


def dissect(shapes: Path, out: Path, *more: str) -> Result:
    return theodolite(
        "dissect", "--dataset", "mask_folder", "--data", shapes / "masks", "--model", "test_resnet",
        "--weights", shapes / "weights.safetensors", "--out", out, "--cache", shapes / "cache",
        "--quiet", *more,
    )  # fmt: skip


@pytest.mark.parametrize(
    "more", [(), ("--search", "exact", "--units", "9", "--resolution", "60x90")]
)
def test_the_command(shapes: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    result = dissect(shapes, tmp_path / "out", *more)
    assert result.returncode == 0, result.stderr
    assert "Does a unit detect the concept?" in result.stdout
    units = read_parquet(tmp_path / "out" / "tables" / "units.parquet")
    if more:
        spec = json.loads((tmp_path / "out" / "run.json").read_text())["spec"]["pipeline"]
        assert (spec["grid"], spec["search"]) == ([60, 90], "exact")
        assert len(units["unit"]) == 9
        assert units["formula"] == units["best_of_three"]
        np.testing.assert_allclose(
            [v or 0 for v in units["iou"]], units["best_of_three_iou"], atol=1e-9
        )
    assert all(a <= b + 1e-12 for a, b in zip(units["beam_of_three_iou"],
                                              units["best_of_three_iou"], strict=True))  # fmt: skip
    single = read_parquet(tmp_path / "out" / "tables" / "single_concepts.parquet")
    first = dict(zip(reversed(single["unit"]), reversed(single["concept"]), strict=True))
    assert first == {u: c for u, c in zip(units["unit"], units["alone"], strict=True) if c}
    lengths = read_parquet(tmp_path / "out" / "tables" / "lengths.parquet")
    assert lengths["length"] == list(range(1, 11))
    assert all(a <= b + 1e-9 for a, b in zip(lengths["iou"], lengths["iou"][1:], strict=False))
    page = (tmp_path / "out" / "report.html").read_text()
    assert EVIL not in page and "&lt;script&gt;" in page
    assert page.count("<img ") >= 4
    recompute(tmp_path / "out")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--layer", "nowhere"), "the name of a module"),
        (("--quantile", "2"), "between 0 and 1"),
        (("--search", "exact", "--length", "5"), "3 if exact"),
        (("--resolution", "240"), "such as 240x320"),
        (("--resolution", "0x9"), "1 to 1024"),
        (("--void", "255"), "label maps, listed in labels.csv"),
    ],
)
def test_what_cannot_be_dissected(
    shapes: Path, tmp_path: Path, more: tuple[str, ...], says: str
) -> None:
    result = dissect(shapes, tmp_path / "out", *more)
    assert result.returncode == 2 and says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_data_set_without_regions_is_said(shapes: Path, tmp_path: Path) -> None:
    write_shapes(tmp_path / "plain", 12)
    for places in ("points", "boxes", "masks"):
        (tmp_path / "plain" / f"{places}.csv").unlink()
    result = theodolite(
        "dissect", "--data", tmp_path / "plain", "--model", "test_resnet", "--weights",
        shapes / "weights.safetensors", "--out", tmp_path / "out", "--quiet",
    )  # fmt: skip
    assert result.returncode == 2 and "no test image with regions" in result.stderr


def test_every_annotation_file_has_its_digest(shared_data: Path, tmp_path: Path) -> None:
    copy_some_masks(shared_data, tmp_path)
    data = joined_masks(tmp_path, parts=[("pets", "oxford_pets"), ("monumai_masks", "monumai")])
    assert set(data.digests()) == {"oxford_pets/annotations.json", "monumai/annotations.json"}


def test_data_sets_are_joined(shared_data: Path, tmp_path: Path) -> None:
    copy_some_masks(shared_data, tmp_path)
    data = joined_masks(
        tmp_path,
        parts=[("pets", "oxford_pets"), ("camvid", "camvid"), ("monumai_masks", "monumai")],
    )
    assert len(data) == 40 + 36 + 40 and "CamVid" in data.classes
    assert data.labels is not None and len(np.unique(data.labels)) == len(data.classes)
    road = data.concepts.index("road")
    seen = [row for row in range(len(data)) if (data.layers(row) == road + 1).any()]
    assert seen and all(data.images[row].startswith("camvid/") for row in seen)
    assert {data.concepts[c] for row in data.scenes[40:76] for c in row} == set()
    data.check_images(np.arange(0, len(data), 20))
    assert data.summary()[0] == ("classes", str(len(data.classes)))
