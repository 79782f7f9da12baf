"""The tables of an export: what may stand in them, and what the learned score makes of them."""

import importlib.metadata
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from scipy.stats import spearmanr

from theodolite._runs.folder import registry
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.tables import read_parquet, write_parquet
from theodolite.datasets.study_material.material import Explained, Instance, keep_image
from theodolite.datasets.votes.study import study_votes
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.evidence.study_tables import (
    TABLES,
    TableName,
    checked_table,
    checked_together,
    columns_of,
    concepts_from,
    concepts_text,
    list_columns,
)
from theodolite_reproductions.acceptance import embedding
from theodolite_reproductions.acceptance.models import AcceptanceModel
from theodolite_reproductions.acceptance.pipeline import AcceptancePipeline
from theodolite_study.vote_tables import build_instances_table, build_rating_evidence

NAN = float("nan")
Tables = dict[TableName, dict[str, list[Any]]]


def write_tables(folder: Path, tables: Tables) -> None:
    for name, columns in checked_together(tables).items():
        write_parquet(folder / f"{name}.parquet", columns)


def read_tables(folder: Path) -> Tables:
    return checked_together({n: read_parquet(folder / f"{n}.parquet") for n in TABLES})


def vote(instance: str, who: str, **more: Any) -> dict[str, Any]:
    return {
        "instance": instance, "technique": "a", "image_key": instance[0], "participant": who,
        "q1": 3, "counted": True, "position": 1, "image_exposure_index": 1, "at_order": 1,
        "seconds_before": 2.5, **more,
    }  # fmt: skip


def small() -> Tables:
    votes = [
        vote("x1", "ann", q1=5, q5=2), vote("x2", "ann", q1=None, q2=1, image_exposure_index=2),
        vote("x1", "bob", q1=4), vote("y1", "bob", q1=1, technique="b"),
        vote("x1", "cy", q1=2, counted=False),
    ]  # fmt: skip
    shown = {
        "image": "p.png",
        "predicted": "cat",
        "modality": "concept",
        "concepts": '{"ear": 1}',
    }
    instances = [
        {"instance": key, "image_key": key[0], "technique": "b" if key == "y1" else "a", **shown}
        for key in ("y1", "x1", "x2", "z1")
    ]
    pair = {"instance": "x1", "participant": "ann"}
    return {
        "votes": columns_of("votes", votes),
        "baselines": columns_of("baselines", [{**pair, "text": "ears", "copied": False}]),
        "boxes": columns_of(
            "boxes", [{**pair, "number": 1, "x": 0, "y": 1.5, "width": 2, "height": 3}]
        ),
        "instances": columns_of("instances", instances),
    }


def test_ratings_of_a_question() -> None:
    votes = small()["votes"]
    found = build_rating_evidence(votes, "q1", groups={"ann": "18-24"})
    assert found.samples.ids is not None and found.samples.ids.tolist() == ["x1", "x2", "y1"]
    assert found.raters.names == ("ann", "bob"), "surplus does not count"
    assert_array_equal(found.ratings, [[5, 4], [NAN, NAN], [NAN, 1]])
    assert np.asarray(found.samples.clusters).tolist() == [0, 0, 1]
    assert found.techniques.names == ("a", "b")
    assert found.groups.names == ("18-24", "unknown")
    assert found.scale.tolist() == [1, 2, 3, 4, 5]
    assert_array_equal(
        build_rating_evidence(votes, "q5").ratings, [[2, NAN], [NAN, NAN], [NAN, NAN]]
    )
    with pytest.raises(EvidenceError, match="no counted vote"):
        build_rating_evidence(votes, "q6")
    with pytest.raises(EvidenceError, match="question"):
        build_rating_evidence(votes, "q7")


def test_tables_as_files(tmp_path: Path) -> None:
    tables = small()
    write_tables(tmp_path, tables)
    assert read_tables(tmp_path) == tables
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.parquet" for name in TABLES}
    assert list(read_parquet(tmp_path / "votes.parquet")) == list(list_columns("votes"))


def change(table: TableName, column: str, value: Any, row: int = 0) -> Callable[[Tables], None]:
    def apply(tables: Tables) -> None:
        tables[table][column][row] = value

    return apply


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (change("votes", "q1", 6), "1 to 5"),
        (change("votes", "q1", 0), "1 to 5"),
        (change("votes", "q1", 2.5), "whole"),
        (change("votes", "q1", True), "whole"),
        (change("votes", "counted", 1), "flag"),
        (change("votes", "counted", None), "nothing"),
        (change("votes", "participant", ""), "0 characters"),
        (change("votes", "participant", 7), "text"),
        (change("votes", "position", 0), "from 1"),
        (change("votes", "seconds_after", -1.0), "ratings"),
        (change("votes", "seconds_before", NAN), "own answer"),
        (change("votes", "seconds_before", float("inf")), "own answer"),
        (change("votes", "participant", "bob"), "twice"),
        (change("votes", "instance", "w1"), "one of `instances`"),
        (change("votes", "technique", "c"), "of 'x1'"),
        (change("baselines", "text", "a" * 100_001), "100,001 characters"),
        (change("baselines", "participant", "bob"), "a row of `baselines`"),
        (change("boxes", "width", 0), "area"),
        (change("boxes", "x", -1), "left edge"),
        (change("instances", "modality", "sound"), "modality"),
        (change("instances", "map", "m.png"), "another explanation"),
        (change("instances", "concepts", None), "another explanation"),
        (change("instances", "concepts", '{"ear": null}'), "concept: value"),
        (change("instances", "concepts", '{"ear": NaN}'), "concept: value"),
        (change("instances", "concepts", "{}"), "concept: value"),
        (change("instances", "concepts", "{"), "broken JSON"),
        (lambda tables: tables["votes"].pop("q6"), "no column 'q6'"),
        (lambda tables: tables["votes"].update(email=["x"] * 5), "a column 'email'"),
        (lambda tables: tables["votes"]["q6"].pop(), "of one length"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[Tables], object], said: str) -> None:
    tables = small()
    assert checked_together(tables) == tables
    wrong(tables)
    with pytest.raises(EvidenceError, match=re.escape(said)):
        checked_together(tables)


def test_columns_come_in_their_order() -> None:
    votes = small()["votes"]
    turned = dict(reversed(votes.items()))
    assert list(checked_table("votes", turned)) == list(list_columns("votes")) == list(votes)
    assert columns_of("boxes", []) == {name: [] for name in list_columns("boxes")}


def test_concepts_as_text() -> None:
    concepts = {'é\n"': 0.1, "a": -1.0}
    assert concepts_from(concepts_text(concepts), "here") == concepts
    assert concepts_text(concepts) == concepts_text(dict(reversed(concepts.items())))


def png(folder: Path, color: tuple[int, int, int]) -> str:
    stream = io.BytesIO()
    Image.new("RGB", (8, 6), color).save(stream, "PNG")
    return keep_image(folder, stream.getvalue(), "png")


def export(folder: Path, images: int = 12, ways: int = 4) -> Path:
    """People like red maps over any image, and concepts with few words."""
    random = np.random.default_rng(0)
    instances, votes = [], []
    for p in range(images):
        image = png(folder, tuple(random.integers(0, 255, 3).tolist()))
        for t in range(ways):
            liked = int(random.integers(1, 6))
            shown: dict[str, Any] = {"image": image, "predicted": ("cat", "dog")[p % 2]}
            if t < 2:
                shown["map"] = png(folder, (50 * liked, 10 + p, 40 * t))
            else:
                shown["concepts"] = {f"concept {c}": 0.5 for c in range(12 - 2 * liked)}
            key = f"e{p}-{t}"
            instances.append(Instance(key=key, image_key=f"p{p}", technique=f"way {t}",
                                      shown=Explained(**shown)))  # fmt: skip
            for who in random.permutation(6)[:3]:
                votes.append({
                    "instance": key, "technique": f"way {t}", "image_key": f"p{p}",
                    "participant": f"person {who}", "counted": True, "position": 1,
                    "image_exposure_index": t + 1, "at_order": len(votes) + 1,
                    "q1": int(np.clip(liked + random.integers(-1, 2), 1, 5)), "q2": 3,
                })  # fmt: skip
    tables: Tables = {
        "votes": columns_of("votes", votes),
        "baselines": columns_of("baselines", []),
        "boxes": columns_of("boxes", []),
        "instances": build_instances_table(instances),
    }
    write_tables(folder, tables)
    return folder


def test_an_export_is_read_as_voted_explanations(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")
    found = study_votes(folder)
    assert len(found) == 48 and list(found.questions) == ["q1", "q2"]
    asked = found.questions["q1"]
    assert (~np.isnan(asked.ratings)).sum() == 3 * 48
    assert len(np.unique(np.asarray(asked.samples.clusters))) == 12
    tables = read_tables(folder)
    assert_array_equal(
        np.sort(asked.ratings), np.sort(build_rating_evidence(tables["votes"], "q1").ratings)
    )
    by_map, by_concepts = found.explanations[0], found.explanations[2]
    assert by_map.overlay and by_map.map is not None and by_map.map.parent == folder / "images"
    assert by_map.label == "cat" and by_map.concepts is None
    assert by_concepts.map is None and not by_concepts.overlay and by_concepts.concepts
    assert set(found.digests()) == {f"{name}.parquet" for name in TABLES}
    assert found.notes == ()
    blind = study_votes(folder, seen="first")
    assert len(blind) == 12
    assert blind.notes == (
        "108 ratings by participants who had seen the image before are left out.",
        "36 explanations have no vote that counts and are left out.",
    )
    by_map.map.unlink()
    assert study_votes(folder).notes[-1] == "1 explanations have no image in the folder."


def test_surplus_and_escape_are_refused_or_left_out(tmp_path: Path) -> None:
    folder = export(tmp_path / "export", 2)
    tables = read_tables(folder)
    tables["votes"]["counted"][0] = False
    write_tables(folder, tables)
    assert study_votes(folder).notes == ("1 votes were given beyond those that count.",)
    before = study_votes(folder).questions["q1"]
    turned = {name: column[::-1] for name, column in tables["votes"].items()}
    write_tables(folder, tables | {"votes": turned})
    after = study_votes(folder).questions["q1"]
    assert_array_equal(before.ratings, after.ratings, "whatever the order of the rows")
    tables["votes"]["counted"] = [False] * len(tables["votes"]["counted"])
    write_tables(folder, tables)
    with pytest.raises(UnsafeInputError, match="no counted vote"):
        study_votes(folder)
    tables["votes"]["counted"] = [True] * len(tables["votes"]["counted"])
    tables["instances"]["image"][0] = "../../secret.png"
    write_tables(folder, tables)
    with pytest.raises(UnsafeInputError, match=re.escape("..")):
        study_votes(folder)
    write_parquet(folder / "boxes.parquet", {"instance": ["e0-0"]})
    with pytest.raises(EvidenceError, match="table boxes"):
        study_votes(folder)


class Colors:
    """An image is its mean color, a sentence its length."""

    name, dimensions, normalized, says = "colors", 4, False, "A toy."

    def texts(self, sentences: Any) -> np.ndarray:
        return np.array([[0, 0, 0, len(s) / 100] for s in sentences], np.float32).reshape(-1, 4)

    def images(self, images: Any) -> np.ndarray:
        means = [np.asarray(p).mean(axis=(0, 1)) / 255 for p in images]
        return np.array([[*mean, 0] for mean in means], np.float32)


def test_the_learned_score_sees_maps_over_their_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "load_embedding", lambda *_, **__: Colors())
    seen: list[np.ndarray] = []
    images = Colors.images

    def remembered(self: Colors, given: Any) -> np.ndarray:
        found = images(self, given)
        seen.extend(found)
        return found

    monkeypatch.setattr(Colors, "images", remembered)
    data = study_votes(export(tmp_path / "export", 30, ways=2))
    models = {"ridge": AcceptanceModel(scorer="ridge", features=("embedding",))}
    made = AcceptancePipeline(embedding="colors", models=models).make(
        data, WorkContext((0,), tmp_path)
    )
    truth = np.nanmean(data.questions["q1"].ratings, axis=1)
    predicted = np.asarray(made.evidence[0][0].predicted)
    assert spearmanr(predicted, truth)[0] > 0.4
    first = data.explanations[0]
    assert first.image is not None and first.map is not None
    both = [np.asarray(Image.open(p)).mean(axis=(0, 1)) / 255 for p in (first.image, first.map)]
    assert any(np.allclose(one[:3], np.mean(both, axis=0), atol=0.01) for one in seen)


def with_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point as pyproject.toml has it, whether or not the package was installed since."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    (line,) = re.findall(r'^study_votes = "([\w.:]+)"$', text, re.MULTILINE)
    point = importlib.metadata.EntryPoint("study_votes", line, "theodolite.datasets")
    find = registry.find_registered

    def find_with_votes(group: str) -> dict[str, importlib.metadata.EntryPoint]:
        return find(group) | ({"study_votes": point} if group == "datasets" else {})

    monkeypatch.setattr(registry, "find_registered", find_with_votes)


def test_a_run_learns_from_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_registered(monkeypatch)
    export(tmp_path / "data" / "export", 16)
    spec = RunSpec.model_validate({
        "name": "accepted_study", "title": "Can one predict these votes?",
        "dataset": {"name": "study_votes", "root": "export"},
        "pipeline": {
            "name": "acceptance", "question": "q1", "folds": 2,
            "models": {"words": {"scorer": "ridge", "features": ["words", "label"]}},
        },
        "seeds": [0],
        "resampling": {"resamples": 20, "level": 0.95, "seed": 0},
        "metrics": [{"name": "predicted_rating_correlation", "options": {"against": "mean"}},
                    {"name": "krippendorff_alpha"}],
    })  # fmt: skip
    run(spec, RunPaths(tmp_path / "data", tmp_path / "out", tmp_path / "cache"))
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())["scores"]
    value = {score["metric"]: score["value"] for score in scores}
    assert value["predicted_rating_correlation"] > 0.3 and value["krippendorff_alpha"] > 0.5
    record = json.loads((tmp_path / "out" / "produced.json").read_text())
    assert "votes.parquet" in json.dumps(record)
