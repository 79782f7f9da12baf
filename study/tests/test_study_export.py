"""A study as files: the same bytes, what was said, nobody's id; read back, audited, lies found out."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from support.study.rated_study import RatedStudy, at_random
from theodolite._runs.auditing.reading import read_source
from theodolite._storage.tables import read_parquet, write_parquet
from theodolite._storage.text import read_json, write_json
from theodolite.datasets.votes.study import study_votes
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.ext.studies import sha256_of
from theodolite_reproductions.acceptance.models import AcceptanceModel
from theodolite_reproductions.acceptance.pipeline import AcceptancePipeline
from theodolite_study.export import agreement
from theodolite_study.export.export_check import verify_export
from theodolite_study.export.study_export import export_study
from theodolite_study.export.verify import verify

ABOUT = {"age_band": "25-34", "gender": "woman", "country": "FR"}
RARE = {"age_band": "65", "gender": "man", "country": "IS"}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Without much resampling: what it gives is tested where agreement is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "RESAMPLES", 30)
        patch.setattr(agreement, "MAX_DRAWS", 1)
        yield


@pytest.fixture(scope="module")
def rated(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RatedStudy]:
    """Four people, one who withdrew and one who looks, six explanations with four votes each."""
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        made = RatedStudy(connection, tmp_path_factory.mktemp("study"))
        gone = made.comes("gone", ABOUT)
        made.rates(gone, 7, at_random(), 3)
        gone.step("st_withdraw", gone.code, False)
        made.ratings.clear()
        made.texts.clear()
        people = [made.comes(name, ABOUT) for name in ("ann", "bob", "cyd")]
        people.append(made.comes("dan", RARE))
        for number, person in enumerate(people):
            made.rates(person, number, at_random())
        made.ends(people[0])
        yield made


@pytest.fixture(scope="module")
def exported(rated: RatedStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "out"
    export_study(rated.connection, "s", out, images=rated.folder, csv=True)
    return out


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    columns = read_parquet(folder / f"{name}.parquet")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_the_same_state_is_the_same_bytes(
    rated: RatedStudy, exported: Path, tmp_path: Path, module_database_url: str
) -> None:
    again = export_study(
        module_database_url, rated.study.study, tmp_path / "again", images=rated.folder, csv=True
    )
    for path in exported.rglob("*"):
        if path.is_file():
            other = again.folder / path.relative_to(exported)
            assert other.read_bytes() == path.read_bytes(), path.name
    assert verify(rated.connection, rated.study.study).problems == ()
    assert verify_export(exported) == []
    assert rated.study.one("select count(*) from export_run") >= 2


def test_what_was_said_is_what_is_exported(rated: RatedStudy, exported: Path) -> None:
    votes = rows(exported, "votes")
    found = {
        (row["instance"], row["participant"], name): row[name]
        for row in votes
        for name in ("q1", "q2", "q3", "q4", "q5", "q6")
        if row[name] is not None
    }
    assert found == rated.ratings and len(votes) == 24
    assert sorted(row["at_order"] for row in votes) == list(range(1, 25))
    ann = next(row for row in votes if row["participant"] == "p-ann")
    assert (ann["viewport"], ann["pointer"], ann["moves"]) == ("390x844", "coarse", 0)
    assert ann["pasted"] and ann["visible_after"] == 7.25 and ann["visible_before"] == 2.5
    assert ann["version"] == 1 and ann["language"] == "en"
    assert json.loads(ann["shown_after"]) == {"q1": ["a"]}
    said = {(r["instance"], r["participant"]): r["text"] for r in rows(exported, "baselines")}
    assert said == rated.texts
    boxes = Counter((r["instance"], r["participant"]) for r in rows(exported, "boxes"))
    assert set(boxes) == set(rated.texts) and set(boxes.values()) == {1, 2}
    ranked = [r for r in rows(exported, "rankings") if r["question"] == "q7"]
    assert [r["item_number"] for r in ranked] == [4, 3, 2, 1, 0]
    assert [r["place"] for r in ranked] == [1, 2, 3, 4, 5]
    assert {r["instance"] for r in rows(exported, "checks")} == {"i6"}
    comments = rows(exported, "comments")
    assert {r["participant"] for r in comments} == {"p-ann"} and len(comments) == 6
    assert {r["block"] for r in rows(exported, "answers")} == {"q7", "q8", "q9"}
    design = rows(exported, "design")
    assert {(r["instance"], r["participant"]) for r in design} == set(rated.texts)
    assert {r["outcome"]: r["people"] for r in rows(exported, "outcomes")} == {
        "finished": 1, "inside": 3, "withdrawn": 1}  # fmt: skip
    assert [r["amount_minor"] for r in rows(exported, "payouts")] == [400]


def test_nobody_is_found_by_an_id_or_a_rare_combination(rated: RatedStudy, exported: Path) -> None:
    people = {row["participant"]: row for row in rows(exported, "participants")}
    assert set(people) == {f"p-{name}" for name in ("ann", "bob", "cyd", "dan")}
    assert people["p-dan"]["age_band"] is None and people["p-ann"]["country"] == "FR"
    content = read_json(exported / "manifest.json")
    assert content["people"]["bands_suppressed"] == 1 and content["people"]["withdrawn"] == 1
    whole = b"".join(p.read_bytes() for p in exported.rglob("*") if p.is_file())
    ids = rated.connection.execute("select id::text, encode(person, 'hex') from participant")
    for value in [text for row in ids for text in row]:
        assert value.encode() not in whole
    assert b"sealed" not in whole and b"something of" in whole


def test_what_is_published_tells_no_texts_and_no_order_of_people(
    rated: RatedStudy, exported: Path, tmp_path: Path
) -> None:
    made = export_study(rated.connection, "s", tmp_path / "out", public=True, csv=True)
    assert verify_export(made.folder) == [] and "left out" in made.summary()
    whole = b"".join(p.read_bytes() for p in made.folder.rglob("*") if p.is_file())
    assert b"something of" not in whole and b"odd i" not in whole
    votes = rows(made.folder, "votes")
    assert {row["viewport"] for row in votes} == {None}
    for who in {row["participant"] for row in votes}:
        mine = [row for row in votes if row["participant"] == who]
        before = [row for row in rows(exported, "votes") if row["participant"] == who]
        assert sorted(row["at_order"] for row in mine) == list(range(1, len(mine) + 1))
        by_time = [
            [r["instance"] for r in sorted(one, key=lambda r: r["at_order"])]
            for one in (mine, before)
        ]
        assert by_time[0] == by_time[1]
    assert all(row["seconds_after"] == int(row["seconds_after"]) for row in votes)
    read = export_study(rated.connection, "s", tmp_path / "read", public=True, reviewed=True)
    assert {row["text"] for row in rows(read.folder, "baselines")} == set(rated.texts.values())


def test_csv_says_the_same_and_runs_in_no_spreadsheet(exported: Path) -> None:
    for name in ("votes", "participants", "order", "aggregates", "comments"):
        with (exported / f"{name}.csv").open(newline="") as stream:
            plain = list(csv.DictReader(stream))
        for cells, row in zip(plain, rows(exported, name), strict=True):
            for column, value in row.items():
                if isinstance(value, float):
                    assert float(cells[column]) == value
                elif isinstance(value, str):
                    assert cells[column] in (value, f"'{value}")
                    assert cells[column][:1] not in ("=", "+", "-", "@")
                else:
                    assert cells[column] == ("" if value is None else str(value).lower())


def test_other_rounds_are_told_and_left_out(rated: RatedStudy, tmp_path: Path) -> None:
    connection = rated.connection
    connection.execute("set session_replication_role = replica")
    first = "where instance_id = (select min(id) from instance)"
    connection.execute(f"update slot set round = 2 {first}")
    connection.execute(
        "insert into version (study_id, no, round, state, instrument, n_votes, quota, lease_seconds,"
        " languages, default_language, digest) select study_id, 2, 2, 'closed', instrument, n_votes,"
        " quota, lease_seconds, languages, default_language, digest from version"
    )
    try:
        made = export_study(connection, "s", tmp_path / "out", round=1)
    finally:
        connection.execute("delete from version where no = 2")
        connection.execute(f"update slot set round = 1 {first}")
        connection.execute("set session_replication_role = default")
    assert made.content["left_out"] == [{"round": 2, "votes": 4, "versions": [2], "pilot": False}]
    assert made.content["votes"]["counted"] == 20
    assert "4 votes of an earlier round" in made.summary()
    with pytest.raises(EvidenceError, match="round 7"):
        export_study(connection, "s", tmp_path / "none", round=7)


def test_nothing_is_written_over_and_nothing_is_left_behind(
    rated: RatedStudy, exported: Path, tmp_path: Path
) -> None:
    with pytest.raises(EvidenceError, match="a new folder"):
        export_study(rated.connection, "s", exported)
    copied = tmp_path / "s"
    shutil.copytree(rated.folder, copied)
    next((copied / "images").iterdir()).write_bytes(b"another")
    with pytest.raises(UnsafeInputError, match="another content"):
        export_study(rated.connection, "s", tmp_path / "out", images=copied)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s"]
    with pytest.raises(EvidenceError, match="one of this database"):
        export_study(rated.connection, "none", tmp_path / "out")


def test_an_export_is_read_back_learned_from_and_audited(
    rated: RatedStudy, exported: Path, tmp_path: Path
) -> None:
    found = study_votes(exported)
    assert set(found.questions) == {f"q{i}" for i in range(1, 7)} and len(found) == 6
    for question, evidence in found.questions.items():
        for row, key in enumerate(evidence.samples.ids):
            for column, who in enumerate(evidence.raters.names):
                value = rated.ratings.get((str(key), who, question), np.nan)
                np.testing.assert_equal(evidence.ratings[row, column], float(value))
    assert all(one.image and one.image.is_file() for one in found.explanations)
    models = {"label": AcceptanceModel(scorer="ridge", features=("label",))}
    learned = AcceptancePipeline(models=models, question="q1", folds=2).learn(
        found, WorkContext((0,), tmp_path)
    )
    assert not np.isnan(np.asarray(learned.evidence.predicted)).any()
    source = read_source(exported)
    assert source.first[0].kind == "rating" and any("Accepted" in note for note in source.notes)


def test_scales_of_other_instruments_are_read_back(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    votes = read_parquet(folder / "votes.parquet")
    votes["trust"] = [7 if value is None else value for value in votes.pop("q1")]
    write_parquet(folder / "votes.parquet", votes)
    manifest = read_json(folder / "manifest.json")
    manifest["questions"] = {"trust": 7, "q2": 5}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = study_votes(folder)
    assert list(found.questions) == ["trust", "q2"]
    assert found.questions["trust"].scale.tolist() == [1, 2, 3, 4, 5, 6, 7]
    manifest["questions"] = {"trust": "x"}
    write_json(folder / "manifest.json", manifest)
    with pytest.raises(UnsafeInputError, match="question: points"):
        study_votes(folder)


def change(name: str, edit: Callable[[dict[str, list[Any]]], None]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        columns = read_parquet(folder / f"{name}.parquet")
        edit(columns)
        write_parquet(folder / f"{name}.parquet", columns)

    return changed


def put(column: str, value: Any, row: int = 0) -> Callable[[dict[str, list[Any]]], None]:
    def apply(columns: dict[str, list[Any]]) -> None:
        columns[column][row] = value(columns[column][row]) if callable(value) else value

    return apply


def swap(first: str, second: str) -> Callable[[dict[str, list[Any]]], None]:
    def apply(columns: dict[str, list[Any]]) -> None:
        columns[first][0], columns[second][0] = columns[second][0], columns[first][0]

    return apply


def without_first(columns: dict[str, list[Any]]) -> None:
    for values in columns.values():
        del values[0]


def with_one_more(columns: dict[str, list[Any]]) -> None:
    for name, values in columns.items():
        values.append(
            "p-nobody" if name == "participant" else 25 if name == "at_order" else values[0]
        )


def later_vote(columns: dict[str, list[Any]]) -> None:
    places = columns["at_order"]
    places[0], places[1] = places[1], places[0]


def other_level(value: int) -> int:
    return 1 + value % 5


LIES = {
    "a vote less": (change("votes", without_first), "Fewer than 4 counted votes: 1 (i0)"),
    "a vote more": (change("votes", with_one_more), "not in `participants`: 1 (p-nobody)"),
    "a vote that is not counted": (change("votes", put("counted", False)), "Fewer than 4"),
    "another answer": (change("votes", put("q1", other_level)), "do not follow from the votes"),
    "an answer off the scale": (change("votes", put("q1", 6)), "not on its scale"),
    "another mode": (change("aggregates", put("mode", other_level)), "do not follow from the votes"),
    "no row of aggregates": (change("aggregates", without_first), "do not follow from the votes"),
    "explanation first": (change("order", swap("baseline_order", "reveal_order")), "Not in the order"),
    "explanation at once": (change("order", put("seconds_baseline_to_reveal", 0.0)), "Not in the order"),
    "ratings first": (change("order", swap("reveal_order", "vote_order")), "Not in the order"),
    "no order": (change("order", without_first), "order is not told"),
    "another order of votes": (change("votes", later_vote), "`at_order`"),
    "no own answer": (change("baselines", without_first), "`baselines`"),
    "a rare combination": (change("participants", put("age_band", "65", 3)), "who voted share"),
    "nobody": (change("participants", without_first), "who are not in `participants`"),
    "a seat less": (change("design", without_first), "Votes and seats do not agree"),
    "another explanation": (change("instances", put("instance", "x")), "not in `instances`"),
    "another consent": (change("consents", put("sha256", "00" * 32)), "that no version has"),
    "a vote without consent": (change("votes", put("consent_sha256", "x")), "not in `consents`"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_is_found_though_the_digests_fit(exported: Path, tmp_path: Path, lie: str) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    changed, sentence = LIES[lie]
    changed(folder)
    if lie == "a vote less":
        assert verify_export(folder) == [
            "votes.parquet is not the file that the manifest tells of."
        ]
    forged(folder)
    found = verify_export(folder)
    assert any(sentence in line for line in found), found


def forged(folder: Path) -> None:
    """Digests in the manifest made to fit whatever was changed, as a careful liar would."""
    manifest = read_json(folder / "manifest.json")
    manifest["files"] = {name: sha256_of(folder / name) for name in manifest["files"]}
    write_json(folder / "manifest.json", manifest)


def test_files_that_are_missing_added_or_broken_are_told(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    (folder / "more.txt").write_text("x")
    (folder / "boxes.parquet").unlink()
    assert verify_export(folder) == [
        "boxes.parquet is missing.", "more.txt is not in the manifest.",
    ]  # fmt: skip
    shutil.copytree(exported, tmp_path / "b")
    (tmp_path / "b" / "votes.parquet").write_bytes(b"PAR1 no")
    forged(tmp_path / "b")
    assert "Parquet" in verify_export(tmp_path / "b")[0]
    (tmp_path / "b" / "manifest.json").write_text('{"format": "other"}')
    assert "format" in verify_export(tmp_path / "b")[0]
    assert verify_export(tmp_path / "nothing")
    manifest = read_json(exported / "manifest.json")
    manifest["files"]["../../etc/passwd"] = "0"
    (tmp_path / "b" / "manifest.json").write_text(json.dumps(manifest))
    assert "'..'" in verify_export(tmp_path / "b")[0]
