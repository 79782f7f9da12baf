"""The protocols on real images with the real network, in short: every path, fewer images."""

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from theodolite._runs.folder.checksums import verify_checksums, write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.report.html import write_report
from theodolite_reproductions.protocols import PROTOCOLS


def short(name: str, **changes: Any) -> RunSpec:
    """A protocol with one setting of the vectors, two seeds and few resamples."""
    content = yaml.safe_load((PROTOCOLS / name).read_text())
    content["pipeline"] |= {"n_examples": [50], "regulariser": [0.1, 1]}
    content["seeds"] = [0, 1]
    content["resampling"]["resamples"] = 20
    content["report"]["examples"] = 2
    for key, value in changes.items():
        content[key] |= value
    return RunSpec.model_validate(content)


def copy_in(path: Path, folder: Path) -> None:
    """A copy: inside a data set, a link that leaves it would be refused."""
    if path.is_dir():
        shutil.copytree(path, folder / path.name)
    else:
        shutil.copy(path, folder)


def some_of_cub(real: Path, root: Path, n: int) -> None:
    """The real tables and features, and just a few of the real test images."""
    folder = root / "cub200" / "CUB_200_2011"
    (folder / "images").mkdir(parents=True)
    source = real / "cub200" / "CUB_200_2011"
    for path in source.iterdir():
        if path.name != "images":
            copy_in(path, folder)
    for path in sorted(source.glob("images/*/*.jpg"))[:: 1200 // n][:n]:
        copy = folder / "images" / path.parent.name / path.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    pooled = "efficientnet_lite0_pooled_fp16.npy"
    copy_in(real / "cub200" / pooled, root / "cub200")
    copy_in(real / "efficientnet_lite0", root)


def test_cub(shared_data: Path, tmp_path: Path) -> None:
    some_of_cub(shared_data, tmp_path / "data", 48)
    out = tmp_path / "out"
    out.mkdir()
    result = run(short("alignment_cub.yaml"), RunPaths(tmp_path / "data", out, tmp_path / "cache"))
    by = {(s.metric, s.options.get("rank_by"), s.options.get("population"),
           s.options.get("top"), s.options.get("alpha")): s for s in result.scores}  # fmt: skip
    named = by["concept_existence", "contribution", "all", 5, None]
    assert named.n == 5794 and 0.4 < named.value < 0.6
    assert named.null is not None and named.null.name == "most_frequent"
    assert named.null.value > named.value
    located = by["concept_location", "contribution", "all", 5, 1]
    assert located.n == 19, "the test images among the 48"
    assert 0.1 < located.value < 0.6
    page = write_report(out).read_text()
    assert page.count("data:image/") >= 2 and "Table 3." in page
    assert page.count("<use href=") >= 2 * 6, "an image, and five concepts on it"
    write_checksums(out)
    verify_checksums(out)
    recompute(out, share=0.3)


def some_of_monumai(real: Path, root: Path, n: int) -> None:
    """Every so many of the real images with their real boxes."""
    (root / "monumai" / "images").mkdir(parents=True)
    records = json.loads((real / "monumai" / "annotations.json").read_text())
    kept = records[:: len(records) // n]
    (root / "monumai" / "annotations.json").write_text(json.dumps(kept))
    for record in kept:
        image = Path("monumai") / "images" / record["file"]
        (root / image).write_bytes((real / image).read_bytes())
    copy_in(real / "efficientnet_lite0", root)


def test_monumai(shared_data: Path, tmp_path: Path) -> None:
    some_of_monumai(shared_data, tmp_path / "data", 160)
    out = tmp_path / "out"
    out.mkdir()
    at = RunPaths(tmp_path / "data", out, tmp_path / "cache")
    result = run(short("alignment_monumai.yaml"), at)
    answers = {v.question: v for v in result.verdicts}
    assert answers["exists"].score is not None and answers["located"].score is not None
    first, *_ = (s for s in result.scores if s.metric == "concept_existence")
    assert first.n == 50 and first.value > 0.25
    boxes = next(s for s in result.scores if s.options.get("target") == "boxes")
    center = next(n.value for n in boxes.nulls if n.name == "center")
    assert 0.05 < boxes.value < 0.5 and 0.1 < center < 0.5
    page = write_report(out).read_text()
    assert "MonuMAI" in page
    head = page[page.index("<h1") : page.index('id="images"')]
    assert "Post-hoc concept bottleneck (15 concepts) of efficientnet_lite0" in head
    assert "the network" not in head.lower() and "the model" not in head.lower()
