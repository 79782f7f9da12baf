"""The commands of a learned score, called in this process: the toy votes are registered here."""

import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from support.runs.command_line import theodolite
from theodolite._runs.folder import registry
from theodolite.errors import EvidenceError
from theodolite_reproductions.acceptance import embedding
from theodolite_reproductions.acceptance.fitting import Known, fit_scorer
from theodolite_reproductions.acceptance.score_file import (
    LearnedScore,
    ScoreCard,
    load_scorer,
    save_scorer,
)
from theodolite_reproductions.acceptance.settings import ScorerSettings
from theodolite_reproductions.cli.accept import accept_score, accept_train, accept_tune

OURS = {
    "datasets": EntryPoint("votes", "theodolite.datasets.votes.table:vote_table", "x"),
    "pipelines": EntryPoint(
        "acceptance", "theodolite_reproductions.acceptance.pipeline:AcceptancePipeline", "x"
    ),
}


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Votes on explanations: long ones are liked."""
    monkeypatch.setattr(registry, "find_registered", lambda group: {OURS[group].name: OURS[group]})
    random = np.random.default_rng(0)
    rows = ["item,rater,rating,text,context,image"]
    for item in range(60):
        n = int(random.integers(2, 30))
        for rater in range(3):
            likes = int(random.random() < n / 30)
            rows.append(f"{item},r{rater},{likes},{'word ' * n},q{item // 2},p{item // 2}")
    (tmp_path / "votes.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "spec.yaml"


def content(**changes: Any) -> dict[str, Any]:
    return {
        "name": "toy", "dataset": {"name": "votes", "path": "votes.csv"},
        "pipeline": {"name": "acceptance", "license": "CC0",
                     "models": {"kernel": {"features": ["words"], "landmarks": 30}}},
        "seeds": [0], "resampling": {"resamples": 20},
        "metrics": [{"name": "predicted_rating_correlation", "options": {"against": "mean"}},
                    {"name": "rater_correlation"}],
        **changes,
    }  # fmt: skip


def trained(spec: Path, **changes: Any) -> Path:
    spec.write_text(yaml.safe_dump(content(**changes)))
    out = spec.parent / "score"
    accept_train(spec, out, spec.parent, spec.parent / "cache", quiet=True)
    return out


def test_train_and_score(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = trained(spec)
    assert "predicted_rating_correlation" in capsys.readouterr().out
    card = load_scorer(out).card
    assert (card.explanations, card.groups, card.license) == (60, 30, "CC0")
    assert card.scale == (0.0, 1.0) and set(card.inputs) == {"votes.csv"}
    held_out = {one.metric: one for one in card.held_out}
    result = held_out["predicted_rating_correlation"]
    assert result.value is not None and result.value > 0.4
    assert result.low is not None and result.low < result.value < (result.high or 0)
    assert "rater_correlation" in (out / "CARD.md").read_text()
    table = spec.parent / "new.csv"
    table.write_text(f"id,text,context,more\nshort,word,q,x\nlong,{'word ' * 25},q,\n")
    accept_score(table, out, as_json=True)
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == ["short", "long"]
    assert rows[1]["rating"] > rows[0]["rating"] + 0.3
    assert rows[1]["percentile"] > 50 > rows[0]["percentile"]
    accept_score(table, out)
    said = capsys.readouterr().out
    assert "long" in said and "percentile" in said


def test_what_the_score_was_told_must_be_told_again(spec: Path) -> None:
    out = trained(spec)
    assert load_scorer(out).card.takes == {"context": "always"}
    table = spec.parent / "new.jsonl"
    for row in ({"text": "a word"}, {"text": "a word", "context": None}):
        table.write_text(json.dumps(row))
        with pytest.raises(EvidenceError, match="context"):
            accept_score(table, out)


@pytest.mark.parametrize("changes", [{"folds": 0}, {"apart": "both"}, {"apart": "none"}, {}])
def test_what_is_kept_can_be_used(
    spec: Path, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """With several seeds, whose tests differ; and only the first score is fitted."""
    votes = spec.parent / "votes.csv"
    head, *rows = votes.read_text().splitlines()
    ways = [f"{row},way {int(row.split(',')[0]) % 5}" for row in rows]
    votes.write_text("\n".join([f"{head},technique", *ways]) + "\n")
    models = {"kernel": {"features": ["words"]}, "never fitted": {"features": ["no such"]}}
    asked = {"name": "acceptance", "models": {k.replace(" ", "-"): v for k, v in models.items()}}
    out = trained(spec, seeds=[0, 1, 2], pipeline=asked | changes)
    card = load_scorer(out).card
    assert (card.apart, card.folds) == (
        changes.get("apart", "image"), 0 if changes.keys() & {"folds"} or
        changes.get("apart") == "both" else 5,
    )  # fmt: skip
    told = (out / "CARD.md").read_text()
    new = {"both": "images and techniques that", "none": "perhaps others of the same image"}
    assert new.get(card.apart, "images or questions that they have not seen") in told
    table = spec.parent / "new.csv"
    table.write_text("text,context\nword,q\n")
    capsys.readouterr()
    accept_score(table, out, as_json=True)
    assert 0 <= json.loads(capsys.readouterr().out)[0]["percentile"] <= 100


def test_a_score_on_weights_of_a_folder(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The embedding is called what it was asked for by, wherever its files are."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from support.networks.tiny_networks import tiny_clip  # noqa: PLC0415

    (spec.parent / "clip").mkdir()
    tiny_clip(spec.parent / "clip")
    asked = {"name": "acceptance", "embedding": "transformers_clip:mine", "weights": "clip",
             "models": {"ridge": {"scorer": "ridge", "features": ["embedding"]}}}  # fmt: skip
    out = trained(spec, pipeline=asked)
    table = spec.parent / "new.csv"
    table.write_text("text\nword\n")
    capsys.readouterr()
    (spec.parent / "clip").rename(spec.parent / "elsewhere")
    accept_score(table, out, weights=spec.parent / "elsewhere", as_json=True)
    assert len(json.loads(capsys.readouterr().out)) == 1
    (spec.parent / "elsewhere" / "more.txt").write_text("of no matter")
    accept_score(table, out, weights=spec.parent / "elsewhere", as_json=True)
    card = json.loads((out / "card.json").read_text())
    files = dict.fromkeys(card["embedding_files"], "0" * 64)
    (out / "card.json").write_text(json.dumps(card | {"embedding_files": files}))
    with pytest.raises(EvidenceError, match="another than the score"):
        accept_score(table, out, weights=spec.parent / "elsewhere")


def test_the_spec_of_the_docs(spec: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "acceptance.md"
    blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    (shown,) = [block for block in blocks if "name: vote_table" in block]
    names = "item,rater,rating", "explanation_id,worker_id,stars"
    votes = spec.parent / "votes.csv"
    ratings = votes.read_text().replace(*names).replace(",0,", ",5,")
    votes.with_name("ratings.csv").write_text(ratings)
    spec.write_text(shown.replace("name: vote_table", "name: votes"))
    accept_train(spec, spec.parent / "score", spec.parent, spec.parent / "cache", quiet=True)
    card = load_scorer(spec.parent / "score").card
    assert card.scale == (1, 2, 3, 4, 5) and (card.apart, card.folds) == ("image", 5)


def test_train_refuses(spec: Path) -> None:
    (spec.parent / "score").mkdir()
    (spec.parent / "score" / "mine.txt").write_text("x")
    with pytest.raises(EvidenceError, match="folder"):
        trained(spec)
    (spec.parent / "score" / "mine.txt").unlink()
    with pytest.raises(EvidenceError, match="pipeline"):
        trained(spec, pipeline={"name": "other"})
    misspelt = {"name": "acceptance", "models": {"m": {"feetures": ["words"]}}}
    with pytest.raises(EvidenceError, match="feetures"):
        trained(spec, pipeline=misspelt)


class Colors:
    """An image is its mean color."""

    name, dimensions, normalized, says = "colors", 3, False, "Mean colors."

    def texts(self, sentences: Any) -> np.ndarray:
        return np.zeros((len(sentences), 3), np.float32)

    def images(self, images: Any) -> np.ndarray:
        return np.stack([np.asarray(p).mean(axis=(0, 1)) / 255 for p in images]).astype(np.float32)


def test_tune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A score that likes red, and an explainer whose maps get redder with one setting."""
    pytest.importorskip("optuna")
    pytest.importorskip("torch")
    import torch  # noqa: PLC0415

    from theodolite.models.features import Preprocessing  # noqa: PLC0415
    from theodolite.models.loaded_model import LoadedModel  # noqa: PLC0415
    from theodolite_reproductions.acceptance import tuning_columns  # noqa: PLC0415

    colors = np.random.default_rng(0).random((80, 3))
    liked = 0.5 + (colors[:, 0] - colors[:, 2]) / 2
    scorer = fit_scorer(Known(colors, liked), ScorerSettings(scorer="ridge"))
    card = ScoreCard(name="red", kind="layers", trained_on="colors", question="q", explanations=80,
                     groups=80, scale=(0.0, 1.0), aggregate="mean", embedding="colors",
                     features=("embedding",), rendering={"values": "as they are"})  # fmt: skip
    save_scorer(tmp_path / "score", LearnedScore(scorer, card, np.linspace(0, 1, 101)))
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 2))
    tiny = LoadedModel("tiny", network.eval(), Preprocessing((8, 8)), "")
    monkeypatch.setattr(embedding, "load_embedding", lambda *_, **__: Colors())
    monkeypatch.setattr(tuning_columns, "load_named_model", lambda *_, **__: tiny)

    def explainer(name: str, network: Any, *, seed: int, options: Any) -> Any:
        assert (name, seed) == ("lime", 3)
        return lambda images, targets: np.full((len(images), 8, 8), options["redness"])

    monkeypatch.setattr(tuning_columns, "explainer", explainer)
    Image.new("RGB", (8, 8), (90, 90, 90)).save(tmp_path / "p.png")
    asked = ([tmp_path / "p.png"], tmp_path / "score", "tiny", ["redness=0.0:0.9"])
    accept_tune(*asked, trials=15, seed=3, as_json=True)
    result = json.loads(capsys.readouterr().out)
    assert result["best"]["redness"] > 0.7 and len(result["trials"]["value"]) == 15
    assert result["value"] == max(result["trials"]["value"])
    accept_tune(*asked, trials=3, seed=3)
    assert "best: redness=" in capsys.readouterr().out
    bare = tmp_path / "words"
    words = card.model_copy(update={"features": ("words",), "embedding": ""})
    save_scorer(bare, LearnedScore(scorer, words, np.linspace(0, 1, 101)))
    with pytest.raises(EvidenceError, match="images"):
        accept_tune(asked[0], bare, *asked[2:])


@pytest.mark.parametrize("command", [(), ("train",), ("score",), ("tune",)])
def test_every_command_explains_itself(command: tuple[str, ...]) -> None:
    result = theodolite("papers", "accept", *command, "--help")
    assert result.returncode == 0 and "Usage" in result.stdout
