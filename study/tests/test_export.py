"""A study as files: the same bytes, the right content, lies found out."""

import csv
import hashlib
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.study.played_study import (
    Played,
    arrived,
    at_random,
    begun,
    few_resamples,
    forged,
    rated_by,
    taken_part,
)
from support.study.small_study import said
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.io.tables import read_parquet, write_parquet
from theodolite.io.text import read_csv, read_json, read_yaml
from theodolite.study_material.material import read_material
from theodolite.study_material.voting_design import image_exposure_index
from theodolite_study.answers import Ratings
from theodolite_study.assignments import reveal, store_baseline
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database
from theodolite_study.export import digests, export, verify_export
from theodolite_study.export_csv import csv_bytes
from theodolite_study.export_people import BANDS, FEWEST, banded
from theodolite_study.lifecycle import become
from theodolite_study.participants import arrive, consent, describe_oneself
from theodolite_study.platforms.identity import Identity
from theodolite_study.protocol import Protocol, read_protocol
from theodolite_study.rankings import store_rankings
from theodolite_study.votes import submit
from theodolite_study.withdrawal import withdraw

CODES = {"finished": "C0DE-FINISHED", "no_consent": "C0DE-NONE", "screened_out": "C0DE-OUT"}
ABOUT = {"age_band": "25–34", "gender": "woman", "country": "FR"}
RARE = {"age_band": "65 or older", "gender": "man", "country": "IS"}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    with few_resamples():
        yield


@pytest.fixture(scope="module")
def played(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Four people, six explanations of three pictures with three votes each, hidden checks."""
    folder = tmp_path_factory.mktemp("study") / "s"
    made = begun(
        one_database, folder, instances=6, votes=3, pictures=3, gold=1, checks={"every": 3},
        access={"kind": "link", "codes": CODES},
    )  # fmt: skip
    for name in ("ann", "bob", "cyd"):
        arrived(made, name, ABOUT)
    arrived(made, "dan", RARE)
    taken_part(made, ["ann", "bob", "cyd", "dan"], at_random())
    orders = {"q7": [4, 3, 2, 1, 0], "q8": [0, 1, 2, 3, 4, 5], "q9": [5, 4, 3, 2, 1, 0]}
    store_rankings(one_database, made.people["ann"], orders)
    looked = arrive(one_database, "small", Identity("preview", "eve"), made.keys).participant.id
    made.people["eve"] = looked
    consent(one_database, looked, made.keys)
    describe_oneself(one_database, looked, {})
    item = next_assignment(one_database, looked)
    rated_by(Played(one_database, folder, made.keys, {"eve": looked}), "eve", 9, item, at_random())
    return made


@pytest.fixture(scope="module")
def exported(played: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "out"
    export(played.database, "small", played.folder, out=out, csv=True)
    return out


def table(folder: Path, name: str) -> dict[str, list[Any]]:
    return read_parquet(folder / f"{name}.parquet")


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    columns = table(folder, name)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_the_same_tables_are_the_same_bytes(played: Played, exported: Path, tmp_path: Path) -> None:
    other = Database(played.database.url)
    again = export(other, "small", played.folder, out=tmp_path / "again", csv=True)
    other.close()
    assert digests(again.folder) == digests(exported)
    content = (exported / "manifest.json").read_bytes()
    assert (again.folder / "manifest.json").read_bytes() == content
    assert again.sha256 == hashlib.sha256(content).hexdigest()
    assert set(again.content["files"]) == {
        p.relative_to(exported).as_posix() for p in exported.rglob("*") if p.is_file()
    } - {"manifest.json"}


def test_what_was_said_is_what_is_exported(played: Played, exported: Path) -> None:
    votes = rows(exported, "votes")
    found = {
        (row["instance"], row["participant"], name): row[name]
        for row in votes
        for name in ("q1", "q2", "q3", "q4", "q5", "q6")
        if row[name] is not None
    }
    assert found == played.said and len(votes) == 18
    assert all(row["counted"] for row in votes)
    assert sorted(row["at_order"] for row in votes) == list(range(1, 19))
    said_before = {
        (r["instance"], r["participant"]): r["text"] for r in rows(exported, "baselines")
    }
    assert said_before == played.texts
    boxes = Counter((r["instance"], r["participant"]) for r in rows(exported, "boxes"))
    assert set(boxes) == set(played.texts) and set(boxes.values()) == {1, 2}
    ranked = [r for r in rows(exported, "rankings") if r["question"] == "q7"]
    items = read_protocol(played.folder).rankings["q7"].items
    assert [r["item"] for r in ranked] == items[::-1] and [r["place"] for r in ranked] == [
        1,
        2,
        3,
        4,
        5,
    ]
    checks = rows(exported, "checks")
    assert {r["instance"] for r in checks} == {"gold2000"} and {r["kind"] for r in checks} == {
        "gold"
    }
    assert all(r["passed"] == (r["q3"] == 2) for r in checks) and len(checks) == 3
    design = rows(exported, "design")
    assert Counter(r["instance"] for r in design) == {f"real{i}": 3 for i in range(6)}
    assert {(r["instance"], r["participant"]) for r in design} == set(played.texts)


def test_people_are_pseudonyms_and_rare_bands_are_left_out(played: Played, exported: Path) -> None:
    people = {row["participant"]: row for row in rows(exported, "participants")}
    assert set(people) == {played.pseudonym(n) for n in ("ann", "bob", "cyd", "dan")}, "no preview"
    for name in ("ann", "bob", "cyd"):
        assert [people[played.pseudonym(name)][band] for band in BANDS] == list(ABOUT.values())
        assert people[played.pseudonym(name)]["votes"] == 6
    assert [people[played.pseudonym("dan")][band] for band in BANDS] == [None] * 3
    manifest = read_json(exported / "manifest.json")
    assert manifest["people"]["bands_suppressed"] == 1
    assert manifest["people"]["taking_part"] == 4


def test_a_complete_export_proves_itself(exported: Path) -> None:
    assert verify_export(exported) == []
    manifest = read_json(exported / "manifest.json")
    assert manifest["votes"]["complete"] and manifest["votes"]["instances_with"] == {"3": 6}
    order = rows(exported, "order")
    voted = [row for row in order if row["vote_order"] is not None]
    assert len(voted) == 18 + 3
    assert all(row["baseline_order"] < row["reveal_order"] < row["vote_order"] for row in voted)
    assert all(row["seconds_baseline_to_reveal"] > 0 for row in voted)
    places = [row[f"{what}_order"] for row in voted for what in ("baseline", "reveal", "vote")]
    assert sorted(places) == list(range(1, 3 * 21 + 1))


def test_who_gave_how_many_votes_and_met_a_picture_how_often(exported: Path) -> None:
    """Traps T1 and T6: fifteen people do not give five votes each; the second look is not blind."""
    votes = rows(exported, "votes")
    given = Counter(row["participant"] for row in votes)
    assert {
        r["participant"]: r["votes"] for r in rows(exported, "participants") if r["votes"]
    } == given
    assert read_json(exported / "manifest.json")["votes"]["by_person"] == {
        "people": 3, "fewest": 6, "median": 6, "most": 6,
    }  # fmt: skip
    picture = {one.key: one.picture_key for one in read_material(exported).instances}
    sequence = sorted(
        rows(exported, "order"), key=lambda row: (row["participant"], row["position"])
    )
    index = image_exposure_index(
        [row["participant"] for row in sequence], [picture[row["instance"]] for row in sequence]
    )
    expected = {
        (row["participant"], row["instance"]): int(i)
        for row, i in zip(sequence, index, strict=True)
    }
    found = {(row["participant"], row["instance"]): row["image_exposure_index"] for row in votes}
    assert found == {key: expected[key] for key in found} and max(found.values()) >= 2
    again = sum(one > 1 for one in found.values())
    assert f"{again} of 18 counted votes" in (exported / "DATASHEET.md").read_text()
    assert "18 were given by 3 people, 6.0 each" in (exported / "DATASHEET.md").read_text()


def test_the_protocol_is_there_without_its_codes(played: Played, exported: Path) -> None:
    plain = read_yaml(exported / "protocol.yaml")
    said_so = Protocol.model_validate(plain)
    assert said_so.access.codes.finished == "left out"
    told = read_json(exported / "manifest.json")["protocol"]
    assert told["left_out"] == [f"access.codes.{name}" for name in CODES]
    plain["access"]["codes"] = CODES
    assert Protocol.model_validate(plain).digest().hex() == told["sha256"]
    assert read_protocol(played.folder).digest().hex() == told["sha256"]


def change(name: str, edit: Callable[[dict[str, list[Any]]], None]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        columns = table(folder, name)
        edit(columns)
        write_parquet(folder / f"{name}.parquet", columns)

    return changed


def without_first(columns: dict[str, list[Any]]) -> None:
    for values in columns.values():
        del values[0]


def with_one_more(columns: dict[str, list[Any]]) -> None:
    """A vote of somebody who gave none there."""
    for name, values in columns.items():
        values.append("p0" if name == "participant" else 19 if name == "at_order" else values[0])


def seen_too_early(columns: dict[str, list[Any]]) -> None:
    said_so, shown = columns["baseline_order"], columns["reveal_order"]
    said_so[0], shown[0] = shown[0], said_so[0]


def shown_at_once(columns: dict[str, list[Any]]) -> None:
    columns["seconds_baseline_to_reveal"][0] = 0.0


def voted_too_early(columns: dict[str, list[Any]]) -> None:
    columns["reveal_order"][0], columns["vote_order"][0] = (
        columns["vote_order"][0], columns["reveal_order"][0],
    )  # fmt: skip


def other_mode(columns: dict[str, list[Any]]) -> None:
    columns["mode"][0] = 1 + columns["mode"][0] % 5


def other_vote(columns: dict[str, list[Any]]) -> None:
    columns["q1"][0] = 1 + columns["q1"][0] % 5


def surplus_vote(columns: dict[str, list[Any]]) -> None:
    columns["counted"][0] = False


def later_vote(columns: dict[str, list[Any]]) -> None:
    places = columns["at_order"]
    other = next(i for i, place in enumerate(places) if place != places[0])
    places[0], places[other] = places[other], places[0]


def without_a_voter(columns: dict[str, list[Any]]) -> None:
    at = next(i for i, votes in enumerate(columns["votes"]) if votes)
    for values in columns.values():
        del values[at]


def rare_band(columns: dict[str, list[Any]]) -> None:
    at = next(i for i, band in enumerate(columns["age_band"]) if band is None)
    columns["age_band"][at] = "65 or older"


LIES = {
    "a vote less": (change("votes", without_first), "Fewer than 3 counted votes: 1 (real0)"),
    "a vote more": (change("votes", with_one_more), "More than 3 counted votes: 1 (real0)"),
    "a vote that is not counted": (change("votes", surplus_vote), "Fewer than 3"),
    "another answer": (change("votes", other_vote), "do not follow from the votes"),
    "another mode": (change("aggregates", other_mode), "do not follow from the votes"),
    "no row of aggregates": (change("aggregates", without_first), "do not follow from the votes"),
    "explanation before own answer": (change("order", seen_too_early), "Not in the order"),
    "explanation at once": (change("order", shown_at_once), "Not in the order"),
    "ratings before explanation": (change("order", voted_too_early), "Not in the order"),
    "no order": (change("order", without_first), "order is not told"),
    "another order of votes": (change("votes", later_vote), "`at_order`"),
    "no own answer": (change("baselines", without_first), "`baselines`"),
    "a rare combination": (change("participants", rare_band), "Fewer than 3 people who voted share"),
    "nobody": (change("participants", without_a_voter), "who are not in `participants`"),
    "a seat less": (change("design", without_first), "Votes and seats do not agree"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_is_found_though_the_digests_fit(exported: Path, tmp_path: Path, lie: str) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    changed, sentence = LIES[lie]
    changed(folder)
    assert verify_export(folder) == [
        next(f for f in verify_export(folder) if "is not the file" in f)
    ], "as it is, only the digest tells"
    forged(folder)
    found = verify_export(folder)
    assert any(sentence in said_so for said_so in found), found


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


def test_texts_are_left_out_of_what_is_published_unread(played: Played, tmp_path: Path) -> None:
    where = (played.database, "small", played.folder)
    unread = export(*where, out=tmp_path / "unread", public=True)
    assert set(table(unread.folder, "baselines")["text"]) == {""}
    assert "left out" in unread.summary() and verify_export(unread.folder) == []
    whole = b"".join(p.read_bytes() for p in unread.folder.rglob("*") if p.is_file())
    assert b"something of" not in whole
    read = export(*where, out=tmp_path / "read", public=True, reviewed=True)
    assert set(table(read.folder, "baselines")["text"]) == set(played.texts.values())
    assert "do not publish" in export(*where, out=tmp_path / "own").summary()


def test_nothing_is_written_over_and_nothing_is_left_behind(
    played: Played, exported: Path, tmp_path: Path
) -> None:
    with pytest.raises(EvidenceError, match="a new folder"):
        export(played.database, "small", played.folder, out=exported)
    copied = tmp_path / "s"
    shutil.copytree(played.folder, copied)
    next((copied / "pictures").iterdir()).write_bytes(b"another")
    with pytest.raises(RefusedInput, match="another content"):
        export(played.database, "small", copied, out=tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s"]
    with pytest.raises(EvidenceError, match="one of this database"):
        export(played.database, "none", played.folder, out=tmp_path / "out")


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://x","y")',
    "-2+3\n=4",
]


def test_no_cell_of_a_csv_is_a_formula() -> None:
    texts = [*FORMULAS, "plain", 'with "quotes", commas', "", None, " = harmless", "'=1"]
    content = csv_bytes({"text": texts, "number": [-1.5 + i for i in range(len(texts))]}).decode()
    assert not content.startswith("\ufeff")
    found = list(csv.reader(io.StringIO(content, newline="")))
    assert found[0] == ["text", "number"] and len(found) == 1 + len(texts)
    for text, (cell, number) in zip(texts, found[1:], strict=True):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
        assert cell == (f"'{text}" if text in FORMULAS else text or "")
        float(number)  # numbers stay numbers, the minus too
    assert found[1][1] == "-1.5"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=1, max_size=5))
def test_any_text_comes_back_from_csv(texts: list[str]) -> None:
    found = list(csv.reader(io.StringIO(csv_bytes({"text": texts}).decode(), newline="")))
    back = [cell[0] for cell in found[1:]]
    for text, cell in zip(texts, back, strict=True):
        assert cell == text or cell == f"'{text}"
        assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r")


def test_csv_says_the_same_as_parquet(exported: Path) -> None:
    for name in ("votes", "participants", "order", "aggregates", "baselines"):
        plain = list(read_csv(exported / f"{name}.csv"))
        for cells, row in zip(plain, rows(exported, name), strict=True):
            shown = {
                k: "" if v is None else v if isinstance(v, str) else json.dumps(v)
                for k, v in row.items()
            }
            assert cells == shown
    assert "'" in read_json(exported / "manifest.json")["csv"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "18–24", "25–34"]), st.sampled_from([None, "man"]),
            st.sampled_from([None, "FR", "IS"]), st.booleans(),
        ),
        max_size=30,
    )
)  # fmt: skip
def test_nobody_is_one_of_fewer_than_three(people: list[tuple[Any, ...]]) -> None:
    """Of those who voted: a crowd of people who gave nothing hides nobody."""
    voters = {f"p{i}" for i, (*_, voted) in enumerate(people) if voted}
    told_by = {f"p{i}": tuple(about) for i, (*about, _) in enumerate(people)}
    found = banded(told_by, voters)
    told = Counter(found.of[who] for who in voters)
    assert all(many >= FEWEST for said_so, many in told.items() if any(said_so))
    assert not any(any(found.of[who]) for who in set(told_by) - voters)
    for who, said_so in told_by.items():
        enough = [told_by[other] for other in voters].count(said_so) >= FEWEST
        assert found.of[who] == (said_so if who in voters and enough else (None, None, None))
    assert found.suppressed == sum(found.of[who] != told_by[who] for who in told_by)


def test_bands_of_a_voter_do_not_hide_behind_those_who_did_not_vote(
    database: Database, tmp_path: Path
) -> None:
    played = begun(database, tmp_path / "s", instances=1, votes=2)
    for name in ("ann", "bob", "cyd", "dan"):
        arrived(played, name, ABOUT)
    taken_part(played, ["ann", "bob"], at_random())
    made = export(database, "small", tmp_path / "s", out=tmp_path / "out")
    assert set(table(tmp_path / "out", "participants")["age_band"]) == {None}
    assert made.content["people"]["bands_suppressed"] == 4 and verify_export(made.folder) == []
    people = table(tmp_path / "out", "participants")
    people["age_band"] = ["25–34"] * 4  # of four, but two of them gave nothing
    write_parquet(tmp_path / "out" / "participants.parquet", people)
    forged(tmp_path / "out")
    assert "Fewer than 3 people who voted share" in verify_export(tmp_path / "out")[0]


def test_who_did_not_agree_is_not_exported(database: Database, tmp_path: Path) -> None:
    from sqlalchemy import text  # noqa: PLC0415

    played = begun(database, tmp_path / "s", instances=2, votes=2)
    taken_part(played, ["ann", "bob"], at_random())
    with database.owning() as connection:
        connection.execute(
            text("delete from consent where participant_id = :who"), {"who": played.people["bob"]}
        )
    made = export(database, "small", tmp_path / "s", out=tmp_path / "out")
    assert table(made.folder, "participants")["participant"] == [played.pseudonym("ann")]
    for name in ("votes", "baselines", "boxes", "order"):
        assert set(table(made.folder, name)["participant"]) == {played.pseudonym("ann")}, name


@pytest.fixture(scope="module")
def published(
    one_database: Database, played: Played, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("published") / "out"
    export(one_database, "small", played.folder, out=out, public=True)
    return out


def test_what_is_published_tells_no_order_of_people(published: Path, exported: Path) -> None:
    assert verify_export(published) == []
    assert {row["at_order"] for row in rows(exported, "votes")} == set(range(1, 19))
    for who in set(table(published, "votes")["participant"]):
        mine = [row for row in rows(published, "votes") if row["participant"] == who]
        before = [row for row in rows(exported, "votes") if row["participant"] == who]
        assert sorted(row["at_order"] for row in mine) == list(range(1, 7))

        def by_time(found: list[dict[str, Any]]) -> list[str]:
            return [row["instance"] for row in sorted(found, key=lambda row: row["at_order"])]

        assert by_time(mine) == by_time(before)
        places = [
            row[f"{what}_order"]
            for row in rows(published, "order")
            for what in ("baseline", "reveal", "vote")
            if row["participant"] == who and row[f"{what}_order"] is not None
        ]
        assert sorted(places) == list(range(1, len(places) + 1))
    for name, columns in (
        ("votes", "before after"),
        ("order", "baseline_to_reveal reveal_to_vote"),
    ):
        for column in columns.split():
            found = [v for v in table(published, name)[f"seconds_{column}"] if v is not None]
            assert found and all(v == int(v) for v in found)
    assert "among the person's own" in (published / "DATASHEET.md").read_text()
    assert "may find them" in (exported / "DATASHEET.md").read_text()
    assert "not make the data anonymous" in (published / "DATASHEET.md").read_text()


PUBLISHED_LIES = {
    "explanation before own answer": (change("order", seen_too_early), "Not in the order"),
    "ratings before explanation": (change("order", voted_too_early), "Not in the order"),
    "another order of votes": (change("votes", later_vote), "`at_order`"),
    "an order of everybody": (
        change("order", lambda columns: columns["vote_order"].__setitem__(0, 60)),
        "do not count from 1",
    ),
}


@pytest.mark.parametrize("lie", PUBLISHED_LIES)
def test_lies_in_what_is_published_are_found(published: Path, tmp_path: Path, lie: str) -> None:
    folder = tmp_path / "out"
    shutil.copytree(published, folder)
    changed, sentence = PUBLISHED_LIES[lie]
    changed(folder)
    forged(folder)
    found = verify_export(folder)
    assert any(sentence in said_so for said_so in found), found


def test_n_minus_one_is_said_after_a_late_withdrawal(database: Database, tmp_path: Path) -> None:
    played = begun(database, tmp_path / "s", instances=2, votes=2)
    taken_part(played, ["ann", "bob"], at_random())
    become(database, "small", "closed", staff="test")
    withdraw(database, played.people["bob"])
    made = export(database, "small", tmp_path / "s", out=tmp_path / "out")
    assert not made.complete and made.content["votes"]["instances_with"] == {"1": 2}
    assert "2 have 1" in made.summary() and "One person withdrew" in made.summary()
    assert verify_export(tmp_path / "out") == [
        "Fewer than 2 counted votes: 2 (real0, real1) explanations."
    ]
    assert "have 1" in (tmp_path / "out" / "DATASHEET.md").read_text()
    scores = read_json(tmp_path / "out" / "agreement.json")["questions"]["q1"]["scores"]
    assert all(one["value"] is None and one["reason"] for one in scores.values())


def test_surplus_is_exported_and_counts_nowhere(database: Database, tmp_path: Path) -> None:
    from sqlalchemy import text  # noqa: PLC0415

    played = begun(database, tmp_path / "s", instances=1, votes=1)
    late = arrived(played, "ann", {})
    item = next_assignment(database, late)
    store_baseline(database, late, item.id, said())
    reveal(database, late, item.id)
    with database.owning() as connection:
        connection.execute(text("update slot set lease_expires_at = now() - interval '1 s'"))
    taken_part(played, ["bob"], lambda *_: 3)
    answers = dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), 5)
    submit(database, late, item.id, Ratings(answers, uuid4()))
    made = export(database, "small", tmp_path / "s", out=tmp_path / "out")
    assert made.complete and made.content["votes"]["surplus"] == 1
    assert "50.0% of all votes are surplus" in made.summary()
    assert set(table(tmp_path / "out", "aggregates")["mode"]) == {3}
    assert verify_export(tmp_path / "out") == []
    again = export(database, "small", tmp_path / "s", out=tmp_path / "again")
    assert again.sha256 == made.sha256
    shutil.rmtree(tmp_path / "again")


def test_an_empty_study_is_exported_too(database: Database, tmp_path: Path) -> None:
    begun(database, tmp_path / "s", instances=2, votes=2)
    made = export(database, "small", tmp_path / "s", out=tmp_path / "out", csv=True)
    assert made.content["votes"]["instances_with"] == {"0": 2}
    assert set(table(tmp_path / "out", "aggregates")["mode"]) == {None}
    assert "Fewer than 2 counted votes: 2" in verify_export(tmp_path / "out")[0]
    assert read_json(tmp_path / "out" / "agreement.json")["questions"]["q1"]["reason"]
