"""MonuMAI: a small folder of its layout, faults, and the real one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from support.servers.files import hash_blob, serve
from theodolite._storage.downloads import TreeFile, compute_tree_digest
from theodolite._storage.images import image_size
from theodolite.datasets import card as card_module
from theodolite.datasets.card import read_card
from theodolite.datasets.getting import get_files
from theodolite.datasets.monumai import monumai
from theodolite.datasets.monumai_copy import derive_monumai
from theodolite.errors import UnsafeInputError


def small(root: Path, **changes: Any) -> Path:
    (root / "images").mkdir(parents=True, exist_ok=True)
    records = []
    for i in range(8):
        Image.new("RGB", (40, 20)).save(root / "images" / f"{i}.png")
        boxes = [["arco-lobulado", 0.25, 0.5, 0.5, 1.0]] * (1 + i % 2)
        records.append({"file": f"{i}.png", "style": "AB"[i // 4], "objects": boxes})
    records[0]["objects"] = [["fronton", -0.1, 0.0, 0.5, 1.2]]
    records[1] |= changes
    (root / "annotations.json").write_text(json.dumps(records))
    return root


def test_boxes_become_pixels_row_first(tmp_path: Path) -> None:
    data = monumai(small(tmp_path))
    assert data.concepts.names == ("lobed arch", "pediment")
    assert data.boxes is not None and data.points is not None
    assert data.boxes[1, 0, 0].tolist() == [10.0, 10.0, 20.0, 20.0]
    assert data.points[1, 0, 0].tolist() == [15.0, 15.0]
    assert data.boxes[0, 1, 0].tolist() == [0.0, 0.0, 20.0, 20.0], "cut to the image"
    assert np.isnan(data.boxes[2, 0, 1]).all() and not np.isnan(data.boxes[3, 0, 1]).any()


def test_split_takes_its_share_of_each_style_and_follows_the_seed(tmp_path: Path) -> None:
    root = small(tmp_path)
    data = monumai(root, test_share=0.5, seed=1)
    assert np.bincount(data.labels[data.is_test]).tolist() == [2, 2]
    assert (data.is_test == monumai(root, test_share=0.5, seed=1).is_test).all()
    train = ~data.is_test
    expected = data.presence[train & (data.labels == 0)].mean(axis=0)
    assert (data.class_truth[:, 0] == expected).all()


@pytest.mark.parametrize(
    "change",
    [{"file": "../../etc/passwd"}, {"file": "none.png"}, {"objects": [["a", 1, 2, 3]]},
     {"objects": [["a", 1, 2, 3, "x"]]}, {"objects": 7}, {"style": None, "objects": None}],
)  # fmt: skip
def test_broken_records_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(UnsafeInputError):
        monumai(small(tmp_path, **change))


@pytest.mark.parametrize("content", ["{}", "[]", "[1]", "nonsense"])
def test_broken_annotations_are_refused(tmp_path: Path, content: str) -> None:
    (small(tmp_path) / "annotations.json").write_text(content)
    with pytest.raises(UnsafeInputError):
        monumai(tmp_path)


def test_the_real_data(shared_data: Path) -> None:
    data = monumai(shared_data / "monumai")
    assert (len(data), len(data.concepts), len(data.classes)) == (1504, 15, 4)
    assert data.boxes is not None
    assert int((~np.isnan(data.boxes[..., 0])).sum()) == 6615


BOXES = """<annotation><size><width>900</width><height>600</height><depth>3</depth></size>
<object><name>fronton</name><bndbox><xmin>90</xmin><ymin>60</ymin><xmax>450</xmax>
<ymax>600</ymax></bndbox></object></annotation>"""


def published(root: Path) -> Path:
    """Photographs and boxes laid out as in the repository."""
    for style, name in (("Gothic", "b"), ("Baroque", "a"), ("Baroque", "c")):
        (root / style / "xml").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (900, 600), (9, 90, 200)).save(root / style / f"{name}.jpg")
        (root / style / "xml" / f"{name}.xml").write_text(BOXES)
    return root


def test_the_copy_has_small_images_and_boxes_as_shares(tmp_path: Path) -> None:
    derive_monumai(published(tmp_path / "original"), tmp_path)
    records = json.loads((tmp_path / "annotations.json").read_text())
    assert [(r["file"], r["style"], r["source_name"]) for r in records] == [
        ("0000.jpg", "Baroque", "a"), ("0001.jpg", "Baroque", "c"), ("0002.jpg", "Gothic", "b")
    ]  # fmt: skip
    assert records[0]["objects"] == [["fronton", 0.1, 0.1, 0.5, 1.0]]
    assert image_size(tmp_path / "images" / "0000.jpg") == (224, 336)
    assert monumai(tmp_path).concepts.names == ("pediment",)
    for content in ("", BOXES.replace("900", "0")):
        (tmp_path / "original" / "Gothic" / "xml" / "b.xml").write_text(content)
        with pytest.raises(UnsafeInputError):
            derive_monumai(tmp_path / "original", tmp_path / "other")


def test_get_downloads_the_tree_and_derives_the_copy(tmp_path: Path) -> None:
    """The card of MonuMAI itself, with another tree and the address of a server of this machine."""
    source = published(tmp_path / "published")
    contents = {p.relative_to(source).as_posix(): p.read_bytes() for p in source.rglob("*.*")}
    entries = {
        name: TreeFile("100644", hash_blob(content), len(content))
        for name, content in contents.items()
    }
    listing = [
        {"type": "blob", "path": name, "mode": file.mode, "sha": file.digest, "size": file.bytes}
        for name, file in entries.items()
    ]
    with serve({**contents, "tree": json.dumps({"tree": listing}).encode()}) as server:
        card = read_card(Path(card_module.__file__).parent / "cards" / "monumai.yaml")
        file = card.files[0].model_copy(
            update={
                "url": f"{server.address}/{{path}}", "listing": f"{server.address}/tree",
                "digest": f"git-tree:{compute_tree_digest(entries)}",
                "leave_out": ("Baroque/c.jpg",), "bytes": sum(map(len, contents.values())),
            }
        )  # fmt: skip
        card = card.model_copy(update={"files": (file,)})
        lines = list(get_files(card, tmp_path / "mine"))
        assert "5 files downloaded" in " ".join(lines)
        assert len(monumai(tmp_path / "mine")) == 2
        assert "nothing to do" in next(iter(get_files(card, tmp_path / "mine")))
        assert len(server.requests) == 6
