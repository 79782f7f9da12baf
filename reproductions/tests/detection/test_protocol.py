"""The dissection protocol in short."""

from pathlib import Path

import pytest
import yaml

from support.real_masks import copy_some_masks
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.tables import read_parquet
from theodolite.report.html import write_report
from theodolite_reproductions.protocols import PROTOCOLS

torch = pytest.importorskip("torch")


def test_the_protocol_in_short(shared_data: Path, tmp_path: Path) -> None:
    copy_some_masks(shared_data, tmp_path / "data")
    protocol = PROTOCOLS / "detection_pets_monumai_camvid.yaml"
    content = yaml.safe_load(protocol.read_text())
    content["pipeline"] |= {"units": 64, "min_images": 3, "cards": 2}
    content["resampling"]["resamples"] = 20
    out = tmp_path / "out"
    out.mkdir()
    result = run(
        RunSpec.model_validate(content), RunPaths(tmp_path / "data", out, tmp_path / "cache")
    )
    by_metric = {s.metric: s for s in result.scores}
    assert set(by_metric) == {
        "detection_accuracy", "unit_iou", "pixel_recall", "detection_and_accuracy",
    }  # fmt: skip
    score = by_metric["detection_accuracy"]
    assert score.null is not None and score.value > score.null.value + 0.03
    higher = read_parquet(out / "tables" / "higher.parquet")
    share = dict(zip(zip(higher["score"], higher["higher_for"], strict=True), higher["share"],
                     strict=True))  # fmt: skip
    assert share["overlap (IoU)", "formula of three"] > 0.8, "longer formulas overlap more"
    assert share["overlap (IoU)", "one concept"] == 0.0
    by = {(s.options["which"], s.options["by"]): s.value for s in result.scores
          if s.metric == "detection_and_accuracy" and s.options["meeting"] == "overlap"}  # fmt: skip
    table = read_parquet(out / "tables" / "correlations.parquet")
    lengths = {name for name in table["formulas"] if name.startswith("length")}
    assert lengths == {f"length {n}" for n in range(2, 11)}, "Figure 3"
    each = read_parquet(out / "tables" / "formula_scores.parquet")
    assert len(each["unit"]) == 64 * 13 and set(each["formulas"]) == set(table["formulas"])
    rows = zip(table["formulas"], table["score"], table["correlation"], strict=True)
    scored = {score: value for name, score, value in rows if name == "as scored"}
    assert scored["overlap, images of either"] == pytest.approx(by["union", "iou"])
    assert scored["detection accuracy, images of both"] == pytest.approx(
        by["intersection", "detection_accuracy"]
    )
    page = write_report(out).read_text()
    assert page.count('<li class="unit">') == 4 and "Do longer formulas say more?" in page
    write_checksums(out)
    recompute(out)
