"""A study from nothing without a shell, played by a browser at the desk and people at the pages."""

from pathlib import Path
from random import Random

import pytest

from support.study.prolific_double import doubled
from support.study.rehearsed import job_beside
from support.study.study_browser import chromium
from support.study.whole_study import SLUG, WAYS, DeskPlayer, WholeStudy, served_desk
from theodolite_study.export.folder_check import verify_export
from theodolite_study.export.verify import verify
from theodolite_study.money.rehearsal import balance


def test_a_study_without_a_shell(
    second_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    study = WholeStudy(second_url, tmp_path / "store", real=6, votes=4, quota=3)
    people_of_each = 1
    with (
        study.people,
        chromium() as browser,
        served_desk(study, monkeypatch) as link,
        doubled(study.double) as host,
    ):
        ada = DeskPlayer(browser.new_page(), study)
        ada.signs_up(link)
        ada.makes_the_study()
        ada.sets_it_up()
        ada.joins_prolific()
        study.connection.execute("select op_note('backup', '{}')")
        with job_beside(second_url, study.keys, host):
            report = ada.pilots(2)
            assert "Votes\n6" in report
            ada.opens()
            ways = [way for way in WAYS for _ in range(people_of_each)]
            Random(25).shuffle(ways)  # noqa: S311
            for way in ways:
                assert study.plays(way) == way
            study.until("select 1 from participant where outcome is null")
            while study.plays("finished") != "full":
                pass
            study.until("select 1 from payout where state not in ('confirmed', 'void') limit 1")
        folder = ada.exports()
        ada.closes()
    number = study.one("select id from study where slug = %s", SLUG)
    outcomes = dict(study.connection.execute(
        "select outcome, count(*) from participant group by 1").fetchall())  # fmt: skip
    assert set(outcomes) >= set(WAYS) - {"declined", "withdrawn"}, outcomes
    assert study.one("select bool_and(state = 'filled') from slot where round = 2")
    assert balance(study.connection, study.keys, number, study.double.paid()).holds()
    assert verify_export(folder) == []
    assert verify(study.connection, number).problems == ()
    assert study.one("select state from study") == "closed"
    assert not [said for said in ada.wrong if "Failed to load" not in said]
    study.close()
