"""The commands of a study, as somebody types them."""

import json
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from support.study.folder_study import FolderStudy, study_folder
from theodolite.datasets.study_material.material import read_material
from theodolite.errors import EvidenceError, VerificationError
from theodolite_study.cli.app import app as study_app
from theodolite_study.designer.study_archive import unpack_study
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres
from theodolite_study.protocol import read_protocol


def told(*words: object) -> str:
    """What a command prints; what it refuses is raised."""
    result = CliRunner().invoke(study_app, [str(word) for word in words])
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def served(database_url: str, tmp_path: Path) -> Path:
    """A study with all votes of one of two people."""
    folder = study_folder(tmp_path / "s", instances=3, votes=2)
    with psycopg.connect(database_url) as connection:
        FolderStudy(connection, folder).taken_part("ann")
    return folder


def test_a_plan_in_words() -> None:
    said = told("plan", "--instances", 24, "--ratings", 5, "--panel", 8, "--quota", 20)
    assert "120 votes" in said and "40 more could be given" in said
    with pytest.raises(EvidenceError, match="votes"):
        told("plan", "--instances", 100, "--ratings", 5, "--panel", 8)


def test_a_plan_for_a_wanted_interval() -> None:
    said = told("plan", "--instances", 24, "--half-width", 0.2)
    assert "For ± 0.2: 53 explanations of each technique with 5 votes each." in said
    assert "More votes on as many explanations as now would not do." in said
    said = told("plan", "--instances", 60, "--half-width", 0.2)
    assert "with as many explanations as now, 4 votes for each" in said


def test_material_becomes_a_study(tmp_path: Path) -> None:
    made = study_folder(tmp_path / "s", instances=4)
    (made / "study.yaml").unlink()
    (made / "keys.json").unlink()
    title = 'Cats: "what" #1 do you see?'
    said = told("init", made, "--out", made, "--title", title, "--ratings", 3)
    assert "4 explanations × 3 votes" in said and f"study serve {made}" in said
    protocol = read_protocol(made)
    assert protocol.title == title and protocol.slug == "cats-what-1-do-you-see"
    assert protocol.votes == 3 and protocol.quota == 4
    assert (made / "keys.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(EvidenceError, match=r"study\.yaml"):
        told("init", made, "--out", made)


def test_status_state_invitations(served: Path, database_url: str, tmp_path: Path) -> None:
    where = ("--database", database_url)
    said = told("status", served, *where)
    assert "3 of 6 votes (50%)" in said and "1 or more new people" in said
    as_json = json.loads(told("status", served, *where, "--json"))
    assert as_json["filled"] == 3 and as_json["new_people"] == 1 and len(as_json["work"]) == 1
    told("invite", served, 3, "--out", tmp_path / "codes.txt", *where)
    codes = (tmp_path / "codes.txt").read_text().split()
    assert len(set(codes)) == 3 and (tmp_path / "codes.txt").stat().st_mode & 0o77 == 0
    assert "ok" in told("verify", served, *where)
    assert "paused" in told("set", served, "paused", *where)
    with pytest.raises(EvidenceError, match="cannot become archived"):
        told("set", served, "archived", *where)
    with pytest.raises(EvidenceError, match="--yes"):
        told("set", served, "closed", *where)
    assert "closed" in told("set", served, "closed", "--yes", *where)


def test_somebody_withdraws_by_letter(served: Path, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        ((person,),) = connection.execute("select id from participant").fetchall()
    code = Keys.read(served).make_withdrawal_code(person)
    where = ("--database", database_url)
    with pytest.raises(EvidenceError, match="no such code"):
        told("withdraw", served, "--code", Keys.read(served).make_withdrawal_code(), *where)
    assert "withdrawn" in told("withdraw", served, "--code", code, *where)
    assert "0 of 6 votes" in told("status", served, *where)


def test_pack_for_the_desk(tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=3)
    (folder / "images" / "more.png").write_bytes(b"not named")
    told("pack", folder, "--out", tmp_path / "m.zip")
    told("pack", folder, "--out", tmp_path / "again.zip")
    assert (tmp_path / "m.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()
    (tmp_path / "unpacked").mkdir()
    with (tmp_path / "m.zip").open("rb") as stream:
        unpacked = unpack_study(stream, tmp_path / "unpacked")
    assert unpacked.material == read_material(folder)
    with pytest.raises(EvidenceError, match="file that is there"):
        told("pack", folder, "--out", tmp_path / "m.zip")


def test_nothing_that_is_printed_steers_a_terminal(tmp_path: Path) -> None:
    served = study_folder(tmp_path / "s")
    export = tmp_path / "export"
    export.mkdir()
    (export / "manifest.json").write_text(
        json.dumps({"format": "theodolite study export 2", "files": {"a\x1b[31m": "0"}})
    )
    result = CliRunner().invoke(study_app, ["verify", str(export)])
    assert isinstance(result.exception, VerificationError)
    assert "\x1b" not in result.output and "a\\x1b[31m is missing" in result.output
    material = json.loads((served / "instances.json").read_text())
    material["instances"][0]["technique"] = "grad\x1b[31mcam"
    (served / "instances.json").write_text(json.dumps(material))
    with pytest.raises(EvidenceError, match=r"technique: got .*without control characters"):
        read_material(served)


def test_codes_are_on_the_disk_before_they_let_anybody_in(
    served: Path, database_url: str, tmp_path: Path
) -> None:
    """Without a place for the file nothing is valid."""
    where = ("--database", database_url)
    with pytest.raises(FileNotFoundError):
        told("invite", served, 3, "--out", tmp_path / "none" / "codes.txt", *where)
    with pytest.raises(EvidenceError, match="a file that is there"):
        told("invite", served, 3, "--out", served / "study.yaml", *where)
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from invite").fetchone() == (0,)


def test_databases_that_are_none(cluster: LocalPostgres, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s")
    for url, said in (
        ("postgresql://a:b@127.0.0.1:1/x", "no connection"),
        ("sqlite:///x.db", "PostgreSQL"),
        ("nothing", "address"),
        (cluster.database("postgres"), "serve"),
    ):
        with pytest.raises(EvidenceError, match=said):
            told("status", folder, "--database", url)
