from pathlib import Path

from support.study.small_study import active
from support.study.study_player import Player, forms_of, play
from support.study.web_study import browser, web_app
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database
from theodolite_study.invariants import violations
from theodolite_study.keys import Keys


def test_one_person_goes_through_everything(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=3, training=2, votes=1)
    with browser(app) as client:
        player = play(client)
    assert player.path == "/finish"
    assert len(player.receipts) == 3
    assert violations(database) == []


def test_nobody_has_to_wait_for_the_last_pictures(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=2, votes=1)
    keys = Keys.read(tmp_path / "s")
    with browser(app) as client:
        player = Player(client, patience=0)
        player.get("/s/small")
        while not player.path.startswith("/a/"):
            player.step()
        next_assignment(database, active(database, keys, "ann"))  # the other one
        while not player.receipts:
            player.step()
        assert player.path == "/next"
        player.post("/next", forms_of(player.page)["/next"].fields)
        assert player.status == 503 and "You can wait, or finish now" in player.page
        player.send("/next/finish")
        assert player.path == "/post"
        while player.step():
            pass
    assert player.path == "/finish" and '<output id="code"' in player.page
    assert violations(database) == []
