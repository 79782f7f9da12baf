"""A dissection of stored maps from spec to report."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from planted_maps import PlantedMaps

from support.evidence.sharded import Failing
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import rehearse, run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.tables import read_parquet
from theodolite.datasets.masks.stored_maps import StoredMaps, stored_maps
from theodolite.datasets.masks.stored_maps_writer import write_maps
from theodolite.dissection.dissect import dissect
from theodolite.dissection.exact import optimum
from theodolite.dissection.search import Beam
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.evidence.workers import SerialWorkers, Workers
from theodolite.pipelines.dissection.stored import StoredDissectionPipeline
from theodolite.report.html import write_report

pytest.importorskip("zarr")
EVIL = "<script>alert(1)</script>"
PLANTED = PlantedMaps(n_images=200, n_units=6, n_concepts=6, shard_rows=200, seed=4)
NAMES = (EVIL, *PLANTED.concepts[1:])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    write_maps(root / "maps", [PLANTED.shard(0)], NAMES, shard_rows=64)
    return root


def made(data: Path, workers: Workers | None = None, **settings: object) -> object:
    pipeline = StoredDissectionPipeline(quantile=0.98, **settings)  # type: ignore[arg-type]
    shop = WorkContext(seeds=(0,), cache=data / "cache", workers=workers or SerialWorkers())
    return pipeline.make(stored_maps(data / "maps"), shop)


def test_a_spec(data: Path, tmp_path: Path) -> None:
    spec = RunSpec.model_validate(
        {
            "name": "stored",
            "dataset": {"name": "stored_maps", "root": "maps"},
            "pipeline": {
                "name": "stored_dissection", "quantile": 0.98, "thresholds": "refined",
            },
            "resampling": {"resamples": 50},
        }
    )  # fmt: skip
    out = tmp_path / "out"
    out.mkdir()
    estimate = rehearse(spec, RunPaths(data, out, tmp_path / "cache"))
    assert estimate is not None and {"marks", "counts"} <= {s.what for s in estimate.passes}
    assert all(step.left in (0, step.pieces) for step in estimate.passes)
    result = run(spec, RunPaths(data, out, tmp_path / "cache"))
    score = {s.metric: s for s in result.scores}["detection_accuracy"]
    assert score.null is not None and score.value > score.null.value + 0.2
    maps, labels = PLANTED.shard(0)
    whole = dissect(maps, list(labels), NAMES, quantile=0.98, min_images=5)
    units = read_parquet(out / "tables" / "units.parquet")
    assert [f or "" for f in units["formula"]] == whole.formulas()
    assert units["threshold"] == whole.limits.tolist()
    best = list(whole.fits)
    np.testing.assert_allclose(units["iou"], [one.iou for one in best if one], rtol=1e-9)
    assert units["shared_pixels"] == [one.shared_pixels for one in best if one]
    single = read_parquet(out / "tables" / "single_concepts.parquet")
    first = dict(zip(reversed(single["unit"]), reversed(single["concept"]), strict=True))
    assert list(first.values())[::-1] == units["alone"]
    page = write_report(out).read_text()
    assert "Does a unit detect the concept?" in page and EVIL not in page
    assert "other images of the same shard of up to 64" in page
    write_checksums(out)
    recompute(out)


def test_the_exact_search(data: Path) -> None:
    result = made(data, search="exact", beam=1)
    maps, labels = PLANTED.shard(0)
    whole = dissect(maps, list(labels), NAMES, quantile=0.98, min_images=5)
    proved = optimum(whole.atoms, whole.units, beam=Beam(1))
    assert proved.missed > 0
    texts = [None if f is None else f.text(NAMES) for f in proved.formulas]
    assert result.tables["units"]["formula"] == texts
    assert ("units whose best formula the beam misses", proved.missed) in result.facts


@pytest.mark.parametrize("stage", ["largest values", "marks", "counts"])
def test_failed_shards_are_counted_in_a_note(data: Path, stage: str) -> None:
    result = made(data, Failing({(stage, "shard 1")}))
    (evidence,) = result.evidence[0]
    assert_array_equal(evidence.samples.index, np.r_[:64, 128:200])
    assert "1 of 4 shards failed: 64 of 200 images are left out." in result.notes
    assert not any("failed" in note for note in made(data).notes)


def test_failed_searches_and_lonely_images_are_said(data: Path, tmp_path: Path) -> None:
    result = made(data, Failing({("search", "units from 0")}))
    assert any("failed for 6 units: they have no formula" in note for note in result.notes)
    assert any("search by chance failed for 6 units" in note for note in result.notes)
    assert result.tables["units"]["formula"] == [None] * 6
    write_maps(tmp_path / "maps", [PLANTED.shard(0)], NAMES, shard_rows=199)
    assert any("The last shard has one image" in note for note in made(tmp_path).notes)


def test_nothing_could_be_counted(data: Path) -> None:
    with pytest.raises(EvidenceError, match="no shard that could be counted"):
        made(data, Failing({("counts", f"shard {number}") for number in range(4)}))


def test_binned_thresholds_are_said(data: Path) -> None:
    assert any("less than 1/128" in note for note in made(data, thresholds="binned").notes)


def test_what_cannot_be_dissected(data: Path) -> None:
    for wrong, says in (
        ({"quantile": 2.0}, "between 0 and 1"),
        ({"length": 2, "search": "exact"}, "3 if exact"),
        ({"beam": 0}, "size of at least 1"),
        ({"min_images": 500}, "Lower the minimum"),
    ):
        shop = WorkContext(seeds=(0,), cache=data / "cache")
        with pytest.raises(EvidenceError, match=says):
            StoredDissectionPipeline(**wrong).make(stored_maps(data / "maps"), shop)
    with pytest.raises(EvidenceError, match="Use the data set stored_maps"):
        StoredDissectionPipeline().make(PLANTED, shop)


def test_the_inputs_are_named_by_their_digests(data: Path) -> None:
    maps: StoredMaps = stored_maps(data / "maps")
    assert made(data).inputs == maps.digests()
