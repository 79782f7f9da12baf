"""Data sets and evaluation results in the forms of Hugging Face, all offline."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from support.evidence.two_questions import finished
from support.runs.command_line import theodolite
from theodolite._runs.finished_run import read_finished_run
from theodolite._runs.folder.checksums import write_checksums
from theodolite._storage.text import read_yaml
from theodolite.bridges import hugging_face
from theodolite.bridges.hugging_face import concept_data, eval_result_entries
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError

datasets = pytest.importorskip("datasets")
hub = pytest.importorskip("huggingface_hub")


def _pixels(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 5, 6, 3)).astype(np.uint8)


def _dataset(n: int = 8, seed: int = 0, **extra: Any) -> Any:
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["zebra", "ass"]),
            "striped <b>": datasets.Value("bool"),
            "mane": datasets.Value("int64"),
            "farm": datasets.Value("string"),
        }
    )
    rows = {
        "image": [Image.fromarray(p) for p in _pixels(n, seed)],
        "label": [k % 2 for k in range(n)],
        "striped <b>": [k % 2 == 0 for k in range(n)],
        "mane": [None if k == 3 else int(k > 1) for k in range(n)],
        "farm": [f"farm {k // 2}" for k in range(n)],
    }
    return datasets.Dataset.from_dict({**rows, **extra}, features=features)


CONCEPTS = ["striped <b>", "mane"]


def _same(found: Any, n: int) -> None:
    assert found.classes.names == ("ass", "zebra")  # by name: not numbered as there
    assert [found.classes.names[k] for k in found.labels] == ["zebra", "ass"] * (n // 2)
    np.testing.assert_array_equal(found.presence[:, 0], np.arange(n) % 2 == 0)
    known = np.arange(n) != 3
    np.testing.assert_array_equal(found.known[:, 1], known)
    np.testing.assert_array_equal(found.presence[known, 1], (np.arange(n) > 1)[known])
    for row, pixels in enumerate(_pixels(n)):
        np.testing.assert_array_equal(np.asarray(found.image(row)), pixels)


def test_a_data_set_in_memory_becomes_a_folder(tmp_path: Path) -> None:
    given = _dataset()
    result = concept_data(given, tmp_path / "new", concepts=CONCEPTS, group="farm")
    _same(result, 8)
    assert result.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert isinstance(given.features["image"], datasets.Image) and given.features["image"].decode
    assert not list(tmp_path.rglob("*.pkl"))


def test_one_saved_to_disk_is_the_same(tmp_path: Path) -> None:
    _dataset().save_to_disk(tmp_path / "saved")
    written = {p.suffix for p in (tmp_path / "saved").iterdir()}
    assert written == {".arrow", ".json"}  # no pickles among them
    loaded = datasets.load_from_disk(tmp_path / "saved").with_format("numpy")
    _same(concept_data(loaded, tmp_path / "new", concepts=CONCEPTS), 8)


def test_splits_are_kept(tmp_path: Path) -> None:
    both = datasets.DatasetDict(
        {"train": _dataset(), "validation": _dataset(4, 1), "extra": _dataset(2, 2)}
    )
    result = concept_data(both, tmp_path / "new", concepts=CONCEPTS)
    assert result.is_test.tolist() == [False] * 8 + [True] * 4
    np.testing.assert_array_equal(np.asarray(result.image(9)), _pixels(4, 1)[1])
    with pytest.raises(EvidenceError, match="splits"):
        concept_data(
            datasets.DatasetDict({"train": _dataset()}), tmp_path / "other", concepts=CONCEPTS
        )


def test_images_in_files_are_read_and_others_refused(tmp_path: Path) -> None:
    paths = []
    for k, pixels in enumerate(_pixels(8)):
        paths.append(str(tmp_path / f"{k}.png"))
        Image.fromarray(pixels).save(paths[-1])
    with pytest.raises(UnsafeInputError, match="files="):  # any file here could be named
        concept_data(_dataset(image=paths), tmp_path / "none", concepts=CONCEPTS)
    below: dict[str, Any] = {"concepts": CONCEPTS, "files": tmp_path}
    _same(concept_data(_dataset(image=paths), tmp_path / "new", **below), 8)
    bare = [Path(path).name for path in paths]
    _same(concept_data(_dataset(image=bare), tmp_path / "bare", **below), 8)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link.png").symlink_to(paths[0])
    for outside in (paths[0], "../0.png", str(tmp_path / "inside/../0.png"), "link.png"):
        with pytest.raises(UnsafeInputError):
            concept_data(
                _dataset(image=[outside] * 8), tmp_path / "no", concepts=CONCEPTS,
                files=tmp_path / "inside",
            )  # fmt: skip
        assert not list((tmp_path / "no").rglob("*.png"))
        (tmp_path / "no" / "images").rmdir()
    (tmp_path / "3.png").write_bytes(b"GIF89a no image")
    with pytest.raises(UnsafeInputError, match="does not decode"):
        concept_data(_dataset(image=paths), tmp_path / "second", **below)
    paths[0] = "https://example.org/horn.png"
    with pytest.raises(EvidenceError):
        concept_data(_dataset(image=paths), tmp_path / "third", **below)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"concepts": []}, "at least one"),
        ({"concepts": ["mane", "tail"]}, "tail"),
        ({"concepts": ["mane"], "image": "mane"}, "cast_column"),
        ({"concepts": ["farm"]}, "0, 1 or None"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(EvidenceError, match=why):
        concept_data(_dataset(), tmp_path / "new", **options)


def test_names_of_ours_and_full_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="rename_column"):
        concept_data(
            _dataset().rename_column("mane", "split"), tmp_path / "new", concepts=["split"]
        )
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(EvidenceError, match="not empty"):
        concept_data(_dataset(), tmp_path, concepts=CONCEPTS)
    with pytest.raises(EvidenceError, match="list"):
        concept_data([1], tmp_path / "new", concepts=CONCEPTS)
    with pytest.raises(EvidenceError, match="no class"):
        concept_data(_dataset(label=[-1] * 8), tmp_path / "new", concepts=CONCEPTS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished(tmp_path_factory.mktemp("hub") / "run")
    write_checksums(folder)
    return folder


def test_the_hub_reads_our_eval_results(run: Path, tmp_path: Path) -> None:
    """Written by the command with the library's own functions, and read back by them."""
    options = ("--eval-results", "me/birds", "--source-url", "https://example.com/report.html")
    result = theodolite("export", run, *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = read_yaml(tmp_path / ".eval_results" / "theodolite.yaml")
    entries = hub.parse_eval_result_entries(rows)
    assert entries == eval_result_entries(
        run, "me/birds", source_url="https://example.com/report.html"
    )
    assert [entry.task_id for entry in entries] == ["explanation_exists", "explanation_accepted"]
    verdicts = {v.question: v for v in read_finished_run(run).verdicts}
    score = verdicts["exists"].score
    assert score is not None and entries[0].value == score.value
    assert "95 % interval" in entries[0].notes and "higher is better" in entries[0].notes
    assert score.null is not None and score.null.label in entries[0].notes


def test_eval_results_of_changed_numbers_are_refused(run: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(run, tmp_path / "run"))
    scores = changed / "scores.json"
    scores.write_text(scores.read_text() + " ")
    with pytest.raises(VerificationError):
        eval_result_entries(changed, "me/birds")


def test_eval_results_leave_out_what_is_not_finite(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_finished_run(run)
    exists, accepted = (v for v in whole.verdicts if v.score is not None)
    null = replace(exists.score.nulls[0], value=float("-inf"))
    broken = (
        replace(exists, score=replace(exists.score, nulls=(null,))),
        replace(accepted, score=replace(accepted.score, value=float("inf"))),
    )
    monkeypatch.setattr(
        hugging_face, "read_finished_run", lambda _: replace(whole, verdicts=broken)
    )
    (entry,) = eval_result_entries(run, "me/birds")
    assert entry.task_id == "explanation_exists" and null.label not in entry.notes


def test_eval_results_need_the_library(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(EvidenceError, match=r"pip install 'theodolite\[hub\]'"):
        eval_result_entries(run, "me/birds")
