"""A few samples of the real data sets with masks."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


def copy_some_masks(real: Path, root: Path) -> None:
    """A few images of each of the three real data sets, with their real annotations."""
    for name, table in (("oxford_pets", "annotations.json"), ("monumai", "annotations.json")):
        (root / name / "images").mkdir(parents=True)
        content = json.loads((real / name / table).read_text())
        kept = content[:: len(content) // 40][:40]
        (root / name / table).write_text(json.dumps(kept))
        for record in kept:
            for folder, suffix in (("images", None), ("trimaps", ".png")):
                source = real / name / folder / record.get("file", f"{record.get('name')}.jpg")
                source = source.with_suffix(suffix) if suffix else source
                if source.is_file():
                    (root / name / folder).mkdir(exist_ok=True)
                    (root / name / folder / source.name).write_bytes(source.read_bytes())
    for path in sorted((real / "camvid" / "images").rglob("*.jpg"))[::20]:
        inner = path.relative_to(real / "camvid" / "images")
        label = (Path("labels") / inner).with_suffix(".png")
        for file in (Path("images") / inner, label):
            (root / "camvid" / file).parent.mkdir(parents=True, exist_ok=True)
            (root / "camvid" / file).write_bytes((real / "camvid" / file).read_bytes())
    (root / "efficientnet_lite0").mkdir()
    weights = "efficientnet_lite0/efficientnet_lite0_fp16.safetensors"
    (root / weights).write_bytes((real / weights).read_bytes())
