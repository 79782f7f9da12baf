"""CUB and HAM10000 for concept bottlenecks: the real tables, and small ones with known faults."""

import csv
from pathlib import Path

import numpy as np
import pytest

from theodolite.datasets.concept_data import ConceptData
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Classes, Concepts, Parts
from theodolite_reproductions.datasets import cub_bottleneck
from theodolite_reproductions.datasets.cub_bottleneck import cub_features, spread_over_parts
from theodolite_reproductions.datasets.ham10k import CONCEPTS, KEPT_IF_INCOMPLETE, ham10k_concepts

COLUMNS = ("lesion_id", "image_id", "age", "sex", "localization", "benign_malignant", *CONCEPTS,
           "None", "annotator", "split")  # fmt: skip
Cells = dict[str, object]


def birds(tmp_path: Path) -> ConceptData:
    """60 images of 3 classes, half of them for the test; 30 concepts of 4 parts and of none."""
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    return ConceptData(
        name="birds",
        folder=tmp_path,
        images=tuple(f"{i}.jpg" for i in range(60)),
        labels=labels,
        is_test=np.arange(60) >= 30,
        presence=(random.random((3, 30)) < 0.5)[labels],
        class_truth=np.zeros((30, 3)),
        classes=Classes(("x", "y", "z")),
        concepts=Concepts.numbered(30),
        parts=Parts.numbered(4),
        part_of=np.arange(30) % 5 - 1,
        notes=("said of the class",),
    )


def test_features_of_birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    there = birds(tmp_path)
    monkeypatch.setattr(
        cub_bottleneck, "cub", lambda root, presence: asked.append(presence) or there
    )
    pooled = tmp_path / "pooled.npy"
    features = np.random.default_rng(1).random((60, 5)).astype(np.float16)
    np.save(pooled, features)
    data = cub_features(tmp_path, pooled)
    assert asked == ["class"]
    assert data.inputs.dtype == np.float32 and (data.inputs == features).all()
    assert (data.truth == there.presence).all() and data.notes == there.notes
    assert data.test.tolist() == list(range(30, 60))
    assert np.bincount(data.labels[data.validation]).tolist() == [2, 2, 2], "a fifth of each class"
    assert len(data.train) == 24 and list(data.digests) == ["pooled.npy"]
    assert (cub_features(tmp_path, pooled).train == data.train).all()
    assert (cub_features(tmp_path, pooled, seed=1).validation != data.validation).any()
    fewer = cub_features(tmp_path, pooled, concepts="incomplete")
    kept = [there.concepts.names.index(name) for name in fewer.concepts.names]
    assert len(kept) == 22 and (fewer.truth == there.presence[:, kept]).all()
    assert np.ptp(np.bincount(there.part_of[kept] + 1)) == 1, "22 of five parts alike"
    assert "is not known" in fewer.notes[-1]
    for wrong in (features[1:], features[0], features.astype(int)):
        np.save(pooled, wrong)
        with pytest.raises(UnsafeInputError, match="a row for each of 60 images"):
            cub_features(tmp_path, pooled)


def test_every_part_keeps_its_share_of_concepts() -> None:
    sizes = np.array([23, 9, 9, 7, 9, 6, 8, 1, 3, 12, 6, 14, 5])
    part_of = np.random.default_rng(0).permutation(np.repeat(np.arange(13) - 1, sizes))
    kept = spread_over_parts(part_of, 22)
    assert len(set(kept.tolist())) == 22 and (np.diff(kept) > 0).all()
    counts = np.bincount(part_of[kept] + 1, minlength=13)
    assert abs(counts - sizes * 22 / 112).max() <= 1


def test_the_real_birds(shared_data: Path) -> None:
    folder = shared_data / "cub200"
    root, pooled = folder / "CUB_200_2011", folder / "efficientnet_lite0_pooled_fp16.npy"
    data = cub_features(root, pooled)
    assert [len(rows) for rows in (data.train, data.validation, data.test)] == [4794, 1200, 5794]
    assert data.inputs.shape == (11788, 1280) and len(data.concepts) == 112
    for label in range(200):
        assert len(np.unique(data.truth[data.labels == label], axis=0)) == 1, "said of the class"
    assert data.told_by_concepts() == 1, "no two classes have the same concepts"
    fewer = cub_features(root, pooled, concepts="incomplete")
    assert 0.6 < fewer.told_by_concepts() < 0.8
    visible = cub_features(root, pooled, presence="auto")
    assert visible.truth.sum() < data.truth.sum() and "visible" in visible.notes[0]


def row(lesion: int, image: int, **cells: object) -> Cells:
    standard: Cells = dict.fromkeys(COLUMNS[:-1], 0)
    standard |= {
        "lesion_id": f"L{lesion}",
        "image_id": f"I{image}",
        "age": "40.0",
        "sex": "male",
        "localization": "back",
    }
    return standard | cells


def tables(root: Path, train: list[Cells], val: list[Cells], test: list[Cells]) -> Path:
    for name, rows in (("train", train), ("val", val), ("test", test)):
        with (root / f"HAM10000_{name}.csv").open("w", newline="") as stream:
            table = csv.DictWriter(stream, COLUMNS)
            table.writeheader()
            table.writerows({"split": name} | cells for cells in rows)
    return root


def test_annotators_vote_and_lesions_stay_together(tmp_path: Path) -> None:
    train = [
        row(1, 1, ESA=1, GP=1, age="20.0"),
        row(1, 1, ESA=1, GP=0, age="20.0", annotator=2),
        row(1, 1, ESA=0, GP=0, age="20.0", annotator=3),
        row(1, 2, MS=1, age="30.0", sex="female", split="val"),
        row(2, 3, MS=1, age="", benign_malignant=1, localization="unknown"),
        row(2, 3, MS=0, age="", benign_malignant=1, localization="unknown"),
    ]
    data = ham10k_concepts(tables(tmp_path, train, [row(2, 4, age="90.0")], [row(3, 5)]))
    assert [rows.tolist() for rows in (data.train, data.validation, data.test)] == [
        [0, 1, 2], [3], [4],
    ]  # fmt: skip
    names = data.concepts.names
    assert [names[j] for j in np.flatnonzero(data.truth[0])] == ["ESA"], "two of three"
    assert not data.truth[2].any(), "one of two is not most"
    assert data.labels.tolist() == [0, 0, 1, 0, 0]
    assert data.groups is not None and data.groups.tolist() == [0, 0, 1, 1, 2]
    # age, female, male, back, unknown; the missing age is the median of 20 and 30, not of 90
    assert data.inputs.round(3).tolist() == np.array(
        [[0.2, 0, 1, 1, 0], [0.3, 1, 0, 1, 0], [0.25, 0, 1, 0, 1], [0.9, 0, 1, 1, 0],
         [0.4, 0, 1, 1, 0]], np.float32).tolist()  # fmt: skip
    notes = " ".join(data.notes)
    for said in ("missing in 2 rows", "5 images of 3 lesions", "1 lesions are in several splits",
                 "3 rows repeat an image", "1 rows say 'val' for the file of train"):  # fmt: skip
        assert said in notes


@pytest.mark.parametrize(
    ("train", "says"),
    [
        ([row(1, 1, ESA=2)], "ESA = '2'"),
        ([row(1, 1, benign_malignant="")], "benign_malignant"),
        ([row(1, 1, image_id="")], "without an id"),
        ([row(1, 1, age="old")], "age 'old'"),
        ([row(1, 1, age="-3")], "age '-3'"),
        ([row(1, 1, age="400")], "age '400'"),
        ([row(1, 1, age="")], "no age in the training rows"),
        ([row(1, 1), row(1, 1, benign_malignant=1)], "benign and malignant"),
        ([row(1, 9)], "'I9' in train and test"),
        ([], "no rows"),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, train: list[Cells], says: str) -> None:
    tables(tmp_path, train, [row(2, 2)], [row(3, 9)])
    with pytest.raises(UnsafeInputError, match=says):
        ham10k_concepts(tmp_path)


def test_a_table_without_a_concept_is_refused(tmp_path: Path) -> None:
    tables(tmp_path, [row(1, 1)], [row(2, 2)], [row(3, 3)])
    path = tmp_path / "HAM10000_val.csv"
    path.write_text(path.read_text().replace("WLSA", "OTHER"))
    with pytest.raises(UnsafeInputError, match="no \\['WLSA'\\]"):
        ham10k_concepts(tmp_path)


def test_the_real_lesions(shared_data: Path) -> None:
    data = ham10k_concepts(shared_data / "ham10k_concepts")
    assert [len(rows) for rows in (data.train, data.validation, data.test)] == [2646, 599, 200]
    assert data.groups is not None and data.groups.max() + 1 == 1981
    splits = [set(data.groups[rows]) for rows in (data.train, data.validation, data.test)]
    assert sum(map(len, splits)) == 1981, "no lesion is in two splits"
    assert data.labels[data.test].sum() == 100 and data.inputs.shape == (3445, 19)
    assert dict(data.summary())["constant in the test rows"] == "PLR"
    assert "599 rows say 'train' for the file of val" in data.notes[-1]
    fewer = ham10k_concepts(shared_data / "ham10k_concepts", concepts="incomplete")
    assert set(fewer.concepts.names) == set(KEPT_IF_INCOMPLETE) and len(fewer.concepts) == 10
    fold = data.folded(0, 5)
    assert not set(data.groups[fold.train]) & set(data.groups[fold.validation])
