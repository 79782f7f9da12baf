"""The command for a dictionary of a language model, as a user calls it; nothing leaves the machine."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from support.networks.tiny_language import save_dictionary, save_model, save_texts
from theodolite._storage.text import read_json
from theodolite.cli.commands.sae_audit import sae_audit as command
from theodolite.errors import EvidenceError

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two models, dictionaries and texts."""
    folder = tmp_path_factory.mktemp("latents")
    for kind in ("llama", "bert"):
        save_model(folder / kind, kind)
    save_dictionary(folder / "sae")
    save_dictionary(folder / "wide", wide=20)
    save_texts(folder / "texts.csv")
    return folder


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def audited(at: Path, out: Path, model: str, module: str, **options: object) -> Any:
    app = typer.Typer()
    app.command()(command)
    files = {"texts": at / "texts.csv", "out": out, "cache": out.parent / "cache"} | options
    small = {"steps": 3, "resamples": 20, "random_dictionaries": 2, "spliced_sequences": 4}
    given = [
        f"--{k.replace('_', '-')}={v}" for k, v in ({"module": module} | files | small).items()
    ]
    return CliRunner().invoke(app, [str(at / model), *given, "--quiet", "--exploratory"])


def refused(*arguments: Any, **options: object) -> str:
    result = audited(*arguments, **options)
    assert result.exit_code != 0 and isinstance(result.exception, EvidenceError), result
    message = str(result.exception)
    assert "\n" not in message
    return message


def test_a_model_and_a_dictionary_of_ones_own(at: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = audited(at, out, "llama", "model.layers.0", sae=at / "sae")
    assert result.exit_code == 0, result.exception
    scores = {score["metric"] for score in read_json(out / "scores.json")["scores"]}
    assert {"latent_probe", "divergence_recovered", "loss_recovered"} <= scores
    names = [model["name"] for model in read_json(out / "compared.json")["models"]]
    assert names[0] == "dictionary" and {"neurons", "planted", "untrained"} <= set(names)
    produced = read_json(out / "produced.json")
    assert ["latents", 24] in produced["facts"]
    assert "dictionary/sae_weights.safetensors" in produced["inputs"]
    assert any("source" in note for note in produced["notes"])
    assert (out / "report.html").is_file() and (out / "manifest.json").is_file()


def test_an_encoder_has_codes_and_no_next_token(at: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = audited(at, out, "bert", "encoder.layer.1")
    assert result.exit_code == 0, result.exception
    scores = {score["metric"] for score in read_json(out / "scores.json")["scores"]}
    assert "latent_probe" in scores and not any("recovered" in name for name in scores)
    notes = " ".join(read_json(out / "produced.json")["notes"])
    assert "encoder: no next token" in notes and "'[CLS]' was put before" in notes
    assert "Not compared with permuted_decoder" in notes


def test_what_does_not_fit_is_said_in_a_line(at: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = "model.layers.0"
    assert "Did you mean 'model.layers.0'?" in refused(at, out, "llama", "model.layer.0")
    said_of = refused(at, out, "llama", first, sae=at / "wide")
    assert "20 dimensions; needed 16" in said_of
    assert "nothing there" in refused(at, out, "meta-llama/Llama", first)
    assert "neither" in refused(at, out, "sae", first)
    assert "no column 'dog'" in refused(at, out, "llama", first, concepts="dog")
    assert "at most 64" in refused(at, out, "llama", first, texts=_long(tmp_path), max_tokens=99)
    plain = tmp_path / "plain.csv"
    plain.write_text("text\nthe cat\na dog\n")
    assert "no next token" in refused(at, out, "bert", "encoder.layer.0", texts=plain)
    broken = tmp_path / "broken"
    save_model(broken, "llama")
    (broken / "model.safetensors").write_bytes(b"no weights")
    assert "safetensors" in refused(tmp_path, out, "broken", first, texts=plain)


def _long(folder: Path) -> Path:
    path = folder / "long.csv"
    path.write_text("text,cat\n" + "\n".join(f"{'the ' * 99}, {i % 2}" for i in range(20)))
    return path


def test_texts_are_data(at: Path, tmp_path: Path) -> None:
    odd = ["<script>alert(1)</script> the cat", "‮the cat‬", "the \0 cat", "", "  ", "\ud800 a"]
    odd += ["the cat " * 20_000, "  a dog"]
    rows = [{"text": text, "<b>cat</b>": i % 2, "more": {"a": 1}} for i, text in enumerate(odd)]
    rows += [{"text": f"the {'cat' if i % 2 else 'dog'}", "<b>cat</b>": i % 2} for i in range(40)]
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "run"
    result = audited(at, out, "llama", "model.layers.0", texts=path, max_tokens=60)
    assert result.exit_code == 0, result.exception
    page = (out / "report.html").read_text()
    assert "<script>alert" not in page and "<b>cat" not in page
    notes = " ".join(read_json(out / "produced.json")["notes"])
    for line in ("2 rows without a text", "1 texts were cut", "replaced in 1 texts", "more"):
        assert line in notes
    odd_name = tmp_path / "name.jsonl"
    odd_name.write_text("\n".join(json.dumps({"text": "a cat", "c‮": i % 2}) for i in range(20)))
    assert "control characters" in refused(
        at, tmp_path / "other", "llama", "model.layers.0", texts=odd_name
    )
