"""Whom to pay, who wants out, whose votes are taken out: as somebody types it."""

import csv
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from support.study.played_study import Played, arrived, at_random, begun, taken_part
from theodolite.errors import EvidenceError
from theodolite_study.cli.app import app as study_app
from theodolite_study.database import Database
from theodolite_study.lifecycle import become
from theodolite_study.participants import arrive, consent
from theodolite_study.platforms.identity import Identity


def told(played: Played, *words: object, **more: str) -> str:
    """What a command prints; what it refuses is raised."""
    given = [str(word) for word in (*words, "--database", played.database.url)]
    result = CliRunner().invoke(study_app, given, **more)  # type: ignore[arg-type]
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def played(database: Database, tmp_path: Path) -> Played:
    """Two who worked, one who only agreed, one who only came, one of the staff."""
    made = begun(database, tmp_path / "s", instances=2, votes=2)
    for name in ("5f0c1d2e", "-2_3"):
        arrived(made, name, {}, "prolific")
    taken_part(made, ["5f0c1d2e", "-2_3"], at_random())
    for name, platform in (("agreed", "prolific"), ("came", "prolific"), ("eve", "preview")):
        who = arrive(database, "small", Identity(platform, name), made.keys).participant.id
        if name != "came":
            consent(database, who, made.keys)
        made.people[name] = who
    return made


def paid(played: Played, out: Path) -> dict[str, dict[str, str]]:
    told(played, "payments", played.folder, "--out", out)
    with out.open(newline="") as stream:
        return {row["platform_id"]: row for row in csv.DictReader(stream)}


def test_people_who_agreed_can_be_paid_by_their_ids(played: Played, tmp_path: Path) -> None:
    out = tmp_path / "pay.csv"
    rows = paid(played, out)
    assert set(rows) == {"5f0c1d2e", "'-2_3", "agreed"}, "a formula is none"
    assert out.stat().st_mode & 0o777 == 0o600
    one = rows["5f0c1d2e"]
    assert one["participant"] == played.pseudonym("5f0c1d2e") and one["platform"] == "prolific"
    assert (one["votes"], one["surplus_votes"], one["state"]) == ("2", "0", "active")
    with played.database.owning() as connection:
        today = connection.execute(text("select (now() at time zone 'utc')::date")).scalar_one()
    assert one["started"] == today.isoformat() and one["finished"] == ""
    assert (rows["agreed"]["votes"], rows["agreed"]["state"]) == ("0", "consented")
    with pytest.raises(EvidenceError, match="a file that is there"):
        paid(played, out)


def test_votes_taken_out_are_still_work(played: Played, tmp_path: Path) -> None:
    name = played.pseudonym("5f0c1d2e")
    said = told(played, "invalidate", played.folder, name, "--reason", "asked us to")
    assert said == f"{name}: 2 votes no longer count\n"
    one = paid(played, tmp_path / "pay.csv")["5f0c1d2e"]
    assert (one["votes"], one["surplus_votes"], one["state"]) == ("0", "2", "screened_out")
    with played.database.owning() as connection:
        counted = connection.execute(text("select count(*) from vote where counted")).scalar_one()
        why = connection.execute(
            text("select detail ->> 'reason' from event where kind = 'votes taken out'")
        ).scalar_one()
    assert counted == 2 and why == "asked us to"
    with pytest.raises(EvidenceError, match="nobody of that name"):
        told(played, "invalidate", played.folder, "p0", "--reason", "x")


def test_ids_are_gone_when_the_study_is_closed(played: Played, tmp_path: Path) -> None:
    become(played.database, "small", "closed", staff="test")
    with pytest.raises(EvidenceError, match="deleted when it closed"):
        paid(played, tmp_path / "pay.csv")
    assert not (tmp_path / "pay.csv").exists()


@pytest.mark.parametrize("asked", [False, True])
def test_somebody_writes_that_they_want_out(played: Played, tmp_path: Path, *, asked: bool) -> None:
    code = played.keys.withdrawal_code(played.people["5f0c1d2e"])
    if asked:
        told(played, "withdraw", played.folder, input=f"{code}\n")
    else:
        told(played, "withdraw", played.folder, "--code", code)
    assert "5f0c1d2e" not in paid(played, tmp_path / "pay.csv")
    with played.database.owning() as connection:
        left = connection.execute(text("select count(distinct participant_id) from vote")).scalar()
    assert left == 1
    with pytest.raises(EvidenceError, match="no such code"):
        told(played, "withdraw", played.folder, "--code", code)
