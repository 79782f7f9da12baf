"""MonuMAI: a small folder of its layout, faults, and the real one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from theodolite.datasets.monumai import monumai
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
