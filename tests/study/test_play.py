from pathlib import Path

from study_player import play
from theodolite.study.database import Database
from theodolite.study.invariants import violations
from web_study import browser, web_app


def test_one_person_goes_through_everything(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=3, training=2, votes=1)
    with browser(app) as client:
        player = play(client)
    assert player.path == "/finish"
    assert len(player.receipts) == 3
    assert violations(database) == []
