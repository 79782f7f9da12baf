"""The commands that explain latents and judge explanations, by batch files: nothing is asked."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from support.evidence.feature_texts import drawn_codes
from theodolite.cli.commands.sae_judge import sae_explain, sae_judge
from theodolite.errors import EvidenceError
from theodolite.evidence.files import load, save
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.language.texts.explanations import load_explanations
from theodolite.language.texts.vocabulary import Vocabulary

SERVER = ("--address", "http://127.0.0.1:9/v1", "--model", "m")


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("codes")
    save(drawn_codes(np.full(120, 6), 12, 2, 5), folder)
    Vocabulary.of(["a", " b", " c", " d", "."]).save(folder)
    return folder


def called(command: Any, *arguments: str) -> str:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, EvidenceError):
        raise result.exception
    assert result.exit_code == 0, (result.exception, result.stdout)
    return str(result.stdout)


def replies(batch: Path, to: Path, answer: Any) -> None:
    lines = [json.loads(line) for line in batch.read_text().splitlines()]
    to.write_text("\n".join(
        json.dumps({
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "body": {
                "choices": [{"message": {"content": json.dumps(answer(line["body"]))}}],
            }},
        })
        for line in lines
    ))  # fmt: skip


def test_explained_and_judged_by_batch_files(codes: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    explained = ("--out", str(tmp_path / "explained"), "--latents", "4", *SERVER)
    assert "4 questions" in called(
        sae_explain, str(codes), *explained, "--write-batch-to", str(out)
    )
    first = json.loads(
        json.loads(out.read_text().splitlines()[0])["body"]["messages"][1]["content"]
    )
    assert len(first["texts"]) == 10 and first["texts"][0]["marks"]
    numbers = iter(range(9))
    replies(out, back, lambda _: {"explanation": f"letters {next(numbers)}"})
    assert "4 of 4 read" in called(
        sae_explain, str(codes), *explained, "--read-batch-from", str(back)
    )
    written = load_explanations(tmp_path / "explained")
    assert [own.text for own in written] == [f"letters {n}" for n in range(4)]

    arguments = (str(codes), "--kind", "detection", "--explanations", str(tmp_path / "explained"),
                 "--out", str(tmp_path / "judged"), *SERVER)  # fmt: skip
    called(sae_judge, *arguments, "--write-batch-to", str(out))
    replies(out, back, lambda _: {"numbers": [0]})
    text = called(sae_judge, *arguments, "--read-batch-from", str(back))
    assert "a judge of keywords" in text
    judged = load(tmp_path / "judged" / "judgments")
    assert isinstance(judged, JudgmentEvidence) and judged.written_from is not None
    assert judged.is_own().mean() == 0.5 and not np.isnan(judged.answer).any()
    made_from = {own.latent: {*(own.made_from or ())} for own in written}
    for latent, row in zip(judged.latent.tolist(), judged.sequence.tolist(), strict=True):
        assert str(row) not in made_from[latent]  # explained on one half, asked about the other


def test_what_is_missing_is_said(codes: Path, tmp_path: Path) -> None:
    plain = (str(codes), "--out", str(tmp_path / "judged"), *SERVER)
    with pytest.raises(EvidenceError, match="explanations"):
        called(sae_judge, *plain, "--kind", "fuzzing")
    with pytest.raises(EvidenceError, match="price"):
        called(sae_explain, *plain, "--budget", "1")
