"""The command that writes pages of features, on stored evidence."""

import json
from pathlib import Path

import numpy as np

from support.evidence.feature_texts import drawn_codes
from support.runs.command_line import theodolite
from theodolite.evidence.files import save
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.language.texts.vocabulary import Vocabulary


def stored_texts(folder: Path) -> Path:
    evidence = drawn_codes(np.full(60, 6), 40, 2, 5)
    save(evidence, folder / "own")
    save(drawn_codes(np.full(60, 6), 40, 2, 5), folder / "random")
    Vocabulary.of(["a", " b", " c", " d", "."]).save(folder / "own")
    with EvidenceWriter(folder / "pieces") as writer:
        writer.add(evidence)
    return folder


def bottom_line(page: Path) -> str:
    return page.read_text("utf-8").partition('class="bottomline">')[2].partition("<")[0]


def test_pages_of_stored_evidence(tmp_path: Path) -> None:
    folder = stored_texts(tmp_path)
    own, out = str(folder / "own"), tmp_path / "out"
    beside = f"random directions={folder / 'random'}"
    result = theodolite("sae", "dashboard", own, "--out", str(out), "--beside", beside)
    assert result.returncode == 0, result.stderr
    assert f"page: {out / 'index.html'}" in result.stdout and "MB" in result.stdout
    assert "beat random directions" in bottom_line(out / "index.html")
    assert "block-features-0000" in (out / "index.html").read_text("utf-8")
    again = theodolite("sae", "dashboard", own, "--out", str(out))
    assert again.returncode == 2 and "index.html in it" in again.stderr
    assert theodolite("sae", "dashboard", own, "--out", str(out), "--overwrite").returncode == 0
    assert "No random directions were given" in bottom_line(out / "index.html")


def test_evidence_in_pieces_is_described_without_formulas(tmp_path: Path) -> None:
    folder = stored_texts(tmp_path)
    result = theodolite(
        "sae", "dashboard", str(folder / "pieces"), "--vocabulary", str(folder / "own"), "--out",
        str(tmp_path / "out"),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "no predicates" in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_wrong_calls_end_in_one_line(tmp_path: Path) -> None:
    folder = stored_texts(tmp_path)
    own, out = str(folder / "own"), str(tmp_path / "out")
    for arguments, code, says in (
        ([str(tmp_path / "nothing"), "--out", out], 2, "nothing there"),
        ([own, "--out", out, "--beside", "random"], 2, "NAME=EVIDENCE"),
        ([own, "--out", out, "--width", "1"], 2, "width"),
        ([str(folder / "random"), "--out", out], 3, "vocabulary"),
        ([own, "--out", out, "--judgments", own], 2, "answers of judges"),
    ):
        result = theodolite("sae", "dashboard", *arguments)
        assert result.returncode == code, result.stderr
        assert says in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_folder_brings_what_it_compared(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    save(drawn_codes(np.full(60, 6), 40, 2, 5), run / "evidence" / "seed-3" / "token")
    save(drawn_codes(np.full(60, 6), 40, 2, 5), run / "compared" / "random" / "seed-3" / "token")
    words = {"model": {"type": "WordLevel", "vocab": {c: i for i, c in enumerate("abcde")}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(words))
    out = tmp_path / "out"
    result = theodolite(
        "sae",
        "dashboard",
        str(run),
        "--tokenizer",
        str(tmp_path),
        "--out",
        str(out),
        "--width",
        "8",
    )
    assert result.returncode == 0, result.stderr
    assert "beat random directions" in bottom_line(out / "index.html")
