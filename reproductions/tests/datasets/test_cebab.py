"""CEBaB as it is published: what readers agreed on, and which edits are edits."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.datasets.cebab import ASPECTS, cebab


def review(name: str, original: str, stars: str = "3", **more: Any) -> dict[str, Any]:
    aspects = {f"{aspect}_aspect_majority": "unknown" for aspect in ASPECTS}
    base = {"id": name, "original_id": original, "description": f"text of {name}"}
    return {**base, "is_original": True, "review_majority": stars, **aspects, **more}


def edit(name: str, original: str, aspect: str, goal: str, **more: Any) -> dict[str, Any]:
    return review(name, original, is_original=False, edit_type=aspect, edit_goal=goal, **more)


TRAIN = [review("a", "a", "5", food_aspect_majority="Positive"), review("b", "b", "no majority")]
TEST = [
    edit("c1", "c", "food", "Negative"),
    review("c", "c", food_aspect_majority="Positive", noise_aspect_majority=""),
    edit("c2", "c", "food", "Positive"),  # it is already
    edit("c3", "c", "service", "Positive"),
    edit("c4", "c", "noise", "Positive"),  # nobody knows what it was
    edit("d1", "d", "food", "Positive"),  # of an original that is not there
    edit("c5", "c", "food", "unknown"),
]


def written(folder: Path, **tables: Any) -> Path:
    for name, table in {"train_exclusive": TRAIN, "test": TEST, **tables}.items():
        (folder / f"{name}.json").write_text(json.dumps(table))
    return folder


def test_states_edits_and_what_is_left_out(tmp_path: Path) -> None:
    data = cebab(written(tmp_path))
    assert data.concepts[:2] == ("food praised", "food criticized")
    assert data.labels.tolist() == [4, -1, 2, 2, 2, 2, 2, 2, 2]
    assert [(data.ids[a], data.ids[b]) for a, b in data.edits] == [
        ("c", "c1"), ("c", "c3"), ("c", "c5"),
    ]  # fmt: skip
    assert data.edited.tolist() == [0, 2, 0] and data.direction.tolist() == [-1, 1, -1]
    row = data.ids.index("c")
    assert data.truth[row, 0] and not data.truth[row, 1]
    assert not data.truth_known[row, 6:].any() and data.truth_known[row, :6].all()
    assert len(set(data.originals[data.test].tolist())) == 2
    assert any("3 edits were left out" in note for note in data.notes)
    assert set(data.digests) == {"train_exclusive.json", "test.json"}


def test_an_archive_is_the_same(tmp_path: Path) -> None:
    for name in ("files", "packed"):
        (tmp_path / name).mkdir()
    folder = written(tmp_path / "files")
    with zipfile.ZipFile(tmp_path / "packed" / "reviews.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    packed, plain = cebab(tmp_path / "packed"), cebab(folder)
    assert packed.texts == plain.texts and np.array_equal(packed.edits, plain.edits)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({}, "a JSON list"),
        ([], "a JSON list"),
        ([[]], "a JSON list"),
        ([review("a", "a"), 3], "a JSON list"),
        ([review("a", "a", description=7)], "without description"),
        ([review("a", "a", is_original="yes")], "without is_original"),
        ([edit("a", "a", "price", "Positive")], "without edit_type"),
        ([edit("a", "a", "food", "better")], "without edit_type"),
        ([review("a", "a", description="x" * 20_001)], "20,001 characters"),
        ([review("a", "a"), review("a", "a")], "an id twice"),
    ],
)
def test_what_is_not_plain_is_refused(tmp_path: Path, table: Any, reason: str) -> None:
    with pytest.raises(UnsafeInputError, match=reason):
        cebab(written(tmp_path, test=table))


def test_no_edit_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no edits"):
        cebab(written(tmp_path, test=[review("c", "c")]))


def test_the_published_reviews(shared_data: Path) -> None:
    data = cebab(shared_data / "cebab")
    assert (len(data.train), len(data.test), len(data.edits)) == (1755, 1689, 1417)
    assert len(set(data.originals[data.test].tolist())) == 272
    assert_allclose(data.known[data.test].mean(axis=0), [0.941, 0.652, 0.768, 0.561], atol=5e-4)
    assert (data.labels[data.test] >= 0).all() and (data.labels[data.train] < 0).sum() == 292
