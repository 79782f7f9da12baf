"""Run folders: scores come back as they were, the schema is published, a changed byte is seen."""

import json
from pathlib import Path

import numpy as np
import pytest

from theodolite._planted.concepts import planted_concepts
from theodolite._runs.auditing.front import audit
from theodolite._runs.folder.checksums import verify_checksums, write_checksums
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.scores_file import ScoresFile, read_scores, scores_file, write_scores
from theodolite.errors import UnsafeInputError, VerificationError


def test_scores_come_back(tmp_path: Path) -> None:
    asked = audit(planted_concepts(alignment=0.7), Resampling(resamples=50))
    result = list(asked.scores)
    write_scores(tmp_path / "s.json", scores_file(result, asked.verdicts, asked.not_computed))
    again, _ = read_scores(tmp_path / "s.json")
    for a, b in zip(result, again, strict=True):
        assert (a.value, a.intervals, a.nulls, a.n) == (b.value, b.intervals, b.nulls, b.n)
        if a.detail is not None and b.detail is not None:
            np.testing.assert_array_equal(a.detail.values, b.detail.values)
    write_scores(tmp_path / "t.json", scores_file(again, asked.verdicts, asked.not_computed))
    assert (tmp_path / "s.json").read_bytes() == (tmp_path / "t.json").read_bytes()


def test_the_published_schema_is_the_one_in_use() -> None:
    published = Path(__file__).parents[3] / "docs" / "scores.schema.json"
    assert json.loads(published.read_text()) == ScoresFile.model_json_schema()


@pytest.mark.parametrize("text", ["{}", "[]", '{"scores": [{"value": 3}]}', "x"])
def test_broken_scores_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UnsafeInputError):
        read_scores(tmp_path / "s.json")


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "inner").mkdir(parents=True)
    (folder / "run.json").write_bytes(b"{}")
    (folder / "inner" / "data.npy").write_bytes(bytes(range(256)))
    write_checksums(folder)
    return folder


def test_an_unchanged_folder_verifies(sealed: Path) -> None:
    assert verify_checksums(sealed) == 2


@pytest.mark.parametrize(
    "name", ["run.json", "inner/data.npy", "manifest.json", "manifest.json.sha256"]
)
def test_any_changed_byte_is_seen(sealed: Path, name: str) -> None:
    content = (sealed / name).read_bytes()
    for at in range(0, len(content), max(len(content) // 25, 1)):
        changed = bytearray(content)
        changed[at] ^= 1
        (sealed / name).write_bytes(bytes(changed))
        with pytest.raises((VerificationError, UnsafeInputError)):
            verify_checksums(sealed)
    (sealed / name).write_bytes(content)
    assert verify_checksums(sealed) == 2


def test_files_that_come_or_go_are_seen(sealed: Path) -> None:
    (sealed / "more").write_bytes(b"")
    with pytest.raises(VerificationError, match="more, which the run did not write"):
        verify_checksums(sealed)
    (sealed / "more").unlink()
    (sealed / "run.json").unlink()
    with pytest.raises(VerificationError, match=r"no run\.json"):
        verify_checksums(sealed)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="a finished run folder"):
        verify_checksums(tmp_path)
