"""Layers whose outputs are attributes or one number."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
from theodolite._storage.arrays import write_npy
from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.masks.mask_data import MaskData, box_mask, layers_of_masks
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.pipeline_output import WorkContext
from theodolite_reproductions.surrogates import other_outputs
from theodolite_reproductions.surrogates.pipeline import FaithfulnessStudyPipeline


def planted_attributes(folder: Path) -> tuple[ConceptData, Path]:
    """Three attributes, the first a direction of the features, the last never there."""
    random = np.random.default_rng(0)
    features = random.uniform(0, 1, (200, 8)).astype(np.float32)
    presence = np.stack([features[:, 0] > 0.5, features[:, 1] > 0.8, np.zeros(200, bool)], axis=1)
    write_npy(folder / "pooled.npy", features)
    data = ConceptData(
        name="planted", folder=folder, images=tuple(f"{n}.png" for n in range(200)),
        labels=np.arange(200) % 10, is_test=np.arange(200) % 2 == 1, presence=presence,
        class_truth=np.zeros((3, 10)), classes=Classes(tuple("abcdefghij")),
        concepts=Concepts(("one", "two", "none")), part_of=np.full(3, -1),
    )  # fmt: skip
    return data, folder / "pooled.npy"


def test_attributes_are_explained_on_positive_and_on_all_images(tmp_path: Path) -> None:
    data, pooled = planted_attributes(tmp_path)
    pipeline = FaithfulnessStudyPipeline(
        backbone="none", pooled=pooled, head="probe", methods=["pca", "random"], concepts=2,
        sanity=False, repeats=1, images=90,
    )  # fmt: skip
    produced = pipeline.make(data, WorkContext((0,), tmp_path))
    names = [produced.about["name"], *(model.name for model in produced.compared)]
    assert names == ["pca-2", "random-2", "pca-2-all", "random-2-all"]
    facts = dict(produced.facts)
    assert facts["labels that the layer has right"] > 0.9 and facts["test samples"] == 30
    evidence = produced.evidence[0][0]
    assert evidence.labels is None and len(np.unique(evidence.samples.clusters)) <= 10
    assert np.isnan(evidence.importances[:, 2]).all(), "never positive, so no concepts"
    assert not np.isnan(produced.compared[1].evidence[0][0].importances[:, 2]).all()
    with pytest.raises(EvidenceError, match="need no classes"):
        replace(pipeline, methods=["concept_shap"]).make(data, WorkContext((0,), tmp_path))


def test_the_area_of_a_concept_is_one_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = np.linspace(0.2, 0.9, 40)
    for n in range(40):
        (tmp_path / f"{n}.png").write_bytes(b"")
    data = MaskData(
        name="planted", folder=tmp_path, images=tuple(f"{n}.png" for n in range(40)),
        concepts=("head",), categories=("part",), scenes=((),) * 40,
        read_layers=lambda row, grid: layers_of_masks(
            [(0, box_mask((0.0, 0.0, sides[row], sides[row]), grid))], grid
        ),
    )  # fmt: skip
    features = np.column_stack([np.log(sides), np.random.default_rng(0).normal(size=40)])
    monkeypatch.setattr(other_outputs, "_embedded", lambda data, rows, *rest: features[rows])
    layer, facts = other_outputs.area_layer(data, "head", None, "", WorkContext((0,), tmp_path))
    assert len(layer.classes) == 1 and layer.select_training_rows(0).all() and len(layer.test) == 13
    assert facts["share of the variance that the layer explains"] > 0.95
    with pytest.raises(EvidenceError, match="concept of planted"):
        other_outputs.area_layer(data, "tail", None, "", WorkContext((0,), tmp_path))
