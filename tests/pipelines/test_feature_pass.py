"""A network sees each image once, whatever is asked and however often it is interrupted."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.folder import folder
from theodolite.datasets.shapes import write_shapes
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.evidence.workers import SerialWorkers, Work
from theodolite.models.features import Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model
from theodolite.pipelines import feature_pass
from theodolite.pipelines.dissection.pipeline import DissectionPipeline
from theodolite.pipelines.feature_pass import FeaturePass, run_feature_pass
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline

torch = pytest.importorskip("torch")


class Stopping(SerialWorkers):
    """Workers that are killed after some tasks."""

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks

    def each(self, work: Work) -> Iterator[dict[str, np.ndarray] | None]:
        for number, done in enumerate(super().each(work)):
            if number == self.tasks:
                raise KeyboardInterrupt
            yield done


class Counting(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A network of its own with three outputs, which counts its images."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.maps = torch.nn.Conv2d(3, 6, 5, stride=4)
        self.head = torch.nn.Linear(6, 3)
        self.seen = 0

    def forward(self, images: "torch.Tensor") -> "torch.Tensor":
        self.seen += len(images)
        return self.head(self.maps(images).relu().mean((2, 3)))


@pytest.fixture
def data(tmp_path: Path) -> ConceptData:
    write_shapes(tmp_path / "shapes", n=150)
    return folder(tmp_path / "shapes")


@pytest.fixture
def backbone() -> LoadedModel:
    return load_model(Counting(), preprocessing=Preprocessing((32, 32)))


def run(
    data: ConceptData, rows: Sequence[int], backbone: LoadedModel, context: WorkContext
) -> FeaturePass:
    return run_feature_pass(data, np.asarray(rows), backbone, "maps", context)


def test_each_image_is_forwarded_once(
    data: ConceptData, backbone: LoadedModel, tmp_path: Path
) -> None:
    context = WorkContext((0,), tmp_path / "cache")
    some = run(data, range(0, 150, 3), backbone, context)
    whole = run(data, range(150), backbone, context)
    again = run(data, range(40, 60), backbone, context)
    assert (some.forwarded, whole.forwarded, again.forwarded) == (50, 100, 0)
    assert backbone.network.seen == 150
    images = np.stack([backbone.preprocessing(data.image(row)) for row in range(150)])
    with torch.inference_mode():
        maps = backbone.network.maps(torch.from_numpy(images))
        outputs = backbone.network.head(maps.relu().mean((2, 3)))
    got = np.concatenate(list(whole))
    assert got == pytest.approx(maps.numpy(), abs=2e-3), "half precision"
    assert whole.outputs() == pytest.approx(outputs.numpy(), abs=1e-5)
    assert whole.pooled() == pytest.approx(maps.mean((2, 3)).numpy(), abs=1e-5)
    assert np.array_equal(again.part(0, 20), got[40:60])
    assert np.array_equal(whole.of(np.arange(0, 150, 3)).pooled(), some.pooled())


def test_a_killed_pass_goes_on(data: ConceptData, backbone: LoadedModel, tmp_path: Path) -> None:
    killed = WorkContext((0,), tmp_path / "cache", workers=Stopping(1))
    with pytest.raises(KeyboardInterrupt):
        run(data, range(150), backbone, killed)
    before = backbone.network.seen
    run(data, range(150), backbone, WorkContext((0,), tmp_path / "cache"))
    assert backbone.network.seen <= 150 + feature_pass.IMAGES_PER_SHARD and before < 150


def test_a_damaged_shard_is_made_again(
    data: ConceptData, backbone: LoadedModel, tmp_path: Path
) -> None:
    context = WorkContext((0,), tmp_path / "cache")
    right = run(data, range(150), backbone, context).pooled()
    damaged = sorted((tmp_path / "cache").rglob("*.maps.npy"))[0]
    damaged.write_bytes(damaged.read_bytes()[:100])
    again = run(data, range(150), backbone, context)
    assert again.forwarded in (22, 64) and np.array_equal(again.pooled(), right)
    changed = load_model(
        backbone.network, preprocessing=Preprocessing((32, 32), mean=(0.5, 0.5, 0.5))
    )
    assert run(data, range(150), changed, context).forwarded == 150, "other preprocessing"


def test_all_questions_share_one_pass(
    data: ConceptData, backbone: LoadedModel, tmp_path: Path
) -> None:
    """An audit forwards each image once, and its units are those of a dissection."""
    context = WorkContext((0,), tmp_path / "cache")
    pipeline = PosthocPipeline(backbone="Counting", layer="maps", n_examples=(20,), units=True)
    made = pipeline.make_with(backbone, data, context)
    assert backbone.network.seen == len(data)
    kinds = {evidence.kind: evidence for evidence in made.evidence[0]}
    assert set(kinds) == {"concept", "location", "surrogate", "unit"}
    alone = DissectionPipeline(backbone="Counting", layer="maps").make_with(backbone, data, context)
    assert backbone.network.seen == len(data)
    (units,) = alone.evidence[0]
    for name in ("shared_pixels", "unit_pixels", "formula_pixels"):
        assert np.array_equal(getattr(units, name), getattr(kinds["unit"], name))
    assert alone.tables["units"] == made.tables["units"] and made.cards


def test_cache_above_limit_loses_longest_unused_shards_only(
    data: ConceptData, backbone: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = WorkContext((0,), tmp_path / "cache")
    first = run_feature_pass(data, np.arange(64), backbone, "maps", context)
    second = run_feature_pass(data, np.arange(64, 128), backbone, "maps", context)
    size = sum(file.stat().st_size for file in (tmp_path / "cache").rglob("*.npy"))
    monkeypatch.setattr(feature_pass, "CACHE_LIMIT", size + 1)
    run_feature_pass(data, np.arange(64), backbone, "maps", context)  # used again: the second goes
    third = run_feature_pass(data, np.arange(128, 150), backbone, "maps", context)
    again = run_feature_pass(data, np.arange(64, 128), backbone, "maps", context)
    assert (first.forwarded, second.forwarded, third.forwarded, again.forwarded) == (64, 64, 22, 64)
    monkeypatch.setattr(feature_pass, "CACHE_LIMIT", 0)
    kept = run_feature_pass(data, np.arange(100), backbone, "maps", context)
    assert np.isfinite(kept.pooled()).all(), "shards in use stay"
