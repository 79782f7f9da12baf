"""How people come in: whom a platform vouches for, who only says so, who was invited."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import insert, text

from support.study.small_study import opened, study_folder
from support.study.study_player import Player, forms_of, links_of, play
from support.study.web_study import ORIGIN, browser, web_app
from theodolite.study_material.material import read_material
from theodolite_study import sessions, tables
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.new_study import Beginning, begin_study
from theodolite_study.platforms.invites import new_invitations
from theodolite_study.platforms.prolific_events import signature
from theodolite_study.web.app import create_app
from theodolite_study.web.cookies import SESSION
from theodolite_study.web.settings import Limits, Settings

PERSON, STUDY, SESSION_ID = "5f00aa11bb22cc33dd44ee55", "60ffaa11bb22cc33dd44ee66", "7e00bb"
SIGNED = {"kind": "prolific", "signed": True, "audience": STUDY, "codes": {"finished": "C1DONE"}}
CLAIMED = {"kind": "prolific", "signed": False, "codes": {"finished": "C1", "no_consent": "C2"}}
QUERY = f"?PROLIFIC_PID={PERSON}&STUDY_ID={STUDY}&SESSION_ID={SESSION_ID}"


@pytest.fixture(scope="module")
def prolific() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def token(key: rsa.RSAPrivateKey, **claims: Any) -> str:
    inside = {"PROLIFIC_PID": PERSON, "STUDY_ID": STUDY, "SESSION_ID": SESSION_ID}
    now = int(time.time())
    said = {
        "iss": "https://www.prolific.com", "aud": f"{ORIGIN}/s/small", "iat": now,
        "exp": now + 600, "sub": SESSION_ID, "prolific": inside,
    }  # fmt: skip
    return jwt.encode(said | claims, key, algorithm="RS256", headers={"kid": "k1"})


def signed_app(database: Database, folder: Path, key: rsa.RSAPrivateKey) -> Any:
    study_folder(folder, instances=1, access=SIGNED)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    keys = {"keys": [public | {"kid": "k1", "use": "sig", "alg": "RS256"}]}
    (folder / "jwks.json").write_text(json.dumps(keys))
    opened(database, folder)
    return create_app(Settings(database.url, folder, ORIGIN, limits=Limits(pool=3)))


def people(database: Database) -> int:
    with database.owning() as connection:
        return connection.execute(text("select count(*) from participant")).scalar_one()


def test_a_signed_token_lets_its_person_in_once(
    database: Database, tmp_path: Path, prolific: rsa.RSAPrivateKey
) -> None:
    app = signed_app(database, tmp_path / "s", prolific)
    with browser(app, 2) as (first, second):
        good = f"/s/small?prolific_token={token(prolific)}"
        answer = first.get(good, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/s/small")
        assert first.get(good, follow_redirects=False).status_code == 303  # the same browser
        replayed = second.get(good, follow_redirects=False)
        assert replayed.status_code == 403 and "set-cookie" not in replayed.headers
        other = rsa.generate_private_key(65537, 2048)
        for forged in (
            token(other),
            token(prolific, exp=int(time.time()) - 5),
            token(prolific, aud="https://evil.test/s/small"),
            jwt.encode({"sub": "x"}, "", algorithm="none"),
            "x" * 9000,
            "",
        ):
            refused = second.get(f"/s/small?prolific_token={forged}", follow_redirects=False)
            assert refused.status_code == 400 and "set-cookie" not in refused.headers
        bare = second.get(f"/s/small{QUERY}", follow_redirects=False)
        assert bare.status_code == 400  # an id alone is a claim
        assert people(database) == 1
        player = play(first)
        assert player.path == "/finish"
        assert "https://app.prolific.com/submissions/complete?cc=C1DONE" in player.page
        again = second.get(f"/s/small?prolific_token={token(prolific, jti='2')}")
        assert again.url.path == "/finish" and people(database) == 1  # another device, vouched for


def test_a_claimed_id_that_is_known_needs_the_code(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=2, access=CLAIMED)
    with browser(app, 2) as (first, second):
        ann = Player(first)
        ann.get(f"/s/small{QUERY}")
        assert ann.path == "/s/small" and PERSON not in ann.page
        assert all(PERSON not in step for step in ann.visited[1:])
        ann.send("/s/small/begin")
        ann.send("/consent")
        code = ann.page.split('<output id="code"')[1].split(">")[1].split("<")[0].strip()
        ann.get(f"/s/small{QUERY}")
        assert ann.path == "/demographics"  # the same browser needs no code
        eve = Player(second)
        eve.get(f"/s/small{QUERY}")
        assert eve.path == "/s/small/again" and PERSON not in eve.page
        eve.send("/s/small/begin", code="0000-0000")
        assert eve.status == 422
        assert second.get("/demographics", follow_redirects=False).headers["location"] == "/s/small"
        eve.send("/s/small/begin", code=code.lower())
        assert eve.path == "/demographics" and people(database) == 1


@pytest.mark.parametrize(
    "query", ["?PROLIFIC_PID={{%PROLIFIC_PID%}}", "?PROLIFIC_PID=a%20b", "?PROLIFIC_PID="]
)
def test_ids_that_are_none(database: Database, tmp_path: Path, query: str) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access=CLAIMED)
    with browser(app) as client:
        assert client.get(f"/s/small{query}").status_code == 400
        assert client.head(f"/s/small{QUERY}").status_code == 200
        assert "/begin" not in client.get("/s/small").text  # nobody begins without the platform
        assert people(database) == 0


def test_mechanical_turk(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access={"kind": "mturk"})
    with browser(app) as client:
        preview = client.get("/s/small?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H1")
        assert preview.status_code == 200 and "/begin" not in preview.text
        assert people(database) == 0
        target = "&turkSubmitTo=https://evil.test"
        player = play(client, query=f"?workerId=W1&assignmentId=A1&hitId=H1{target}")
        assert player.path == "/finish" and "evil" not in player.page
        assert people(database) == 1


def test_invitations_are_for_one_person_each(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access={"kind": "invite"})
    made = new_invitations(2)
    with database.owning() as connection:
        study = connection.execute(text("select id from study")).scalar_one()
        rows = [{"code_sha256": one, "study_id": study} for one in made.digests]
        connection.execute(insert(tables.invite), rows)
    with browser(app, 2) as (first, second):
        player = Player(first)
        player.get("/s/small?code=WRONG")
        assert player.status == 404
        player.get("/s/small")
        player.send("/s/small/begin", code="0000")
        assert player.status == 422 and people(database) == 0
        player.send("/s/small/begin", code=made.codes[0].lower().replace("-", " "))
        assert player.status == 200 and people(database) == 1
        other = Player(second)
        other.get(f"/s/small?code={made.codes[0]}")
        assert other.path == "/s/small" and made.codes[0] not in other.page
        assert people(database) == 1  # the code is the person
        other.get(f"/s/small?code={made.codes[1]}")
        assert people(database) == 1  # a link takes nobody out of their session
        other.send(f"/s/small/begin?code={made.codes[1]}")
        assert people(database) == 2 and other.path == "/s/small"


def test_who_does_not_agree(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access=CLAIMED)
    with browser(app) as client:
        player = Player(client)
        player.get(f"/s/small{QUERY}")
        player.send("/s/small/begin")
        player.send("/decline")
        assert player.path == "/ended" and "complete?cc=C2" in player.page


def test_withdrawal_by_code_from_anywhere(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=2, votes=1)
    keys = Keys.read(tmp_path / "s")
    with browser(app, 2) as (first, second):
        assert len(play(first).receipts) == 2
        with database.owning() as connection:
            who = connection.execute(text("select id from participant")).scalar_one()
        stranger = Player(second)
        stranger.get("/withdraw")
        stranger.send("/withdraw", code="7KQ2")
        assert stranger.status == 422
        stranger.send("/withdraw", code=keys.withdrawal_code(who))
        assert stranger.path == "/withdrawn"
        with database.owning() as connection:
            assert connection.execute(text("select count(*) from vote")).scalar() == 0
        assert first.get("/finish", follow_redirects=False).headers["location"] == "/s/small"


def test_prolific_tells_each_thing_once(database: Database, tmp_path: Path) -> None:
    secret = "s" * 32
    app = web_app(database, tmp_path / "s", instances=1, webhook=secret)
    body = json.dumps({"event_type": "submission.status.change", "resource_id": "5f00"}).encode()
    now = str(int(time.time()))
    headers = {
        "x-prolific-request-timestamp": now, "x-event-id": "e1",
        "x-prolific-request-signature": signature(secret, now, body),
    }  # fmt: skip
    with browser(app) as client:
        told = [
            client.post("/platform/prolific/webhook", content=body, headers=headers | changed)
            for changed in ({}, {}, {"x-event-id": "e2"}, {"x-prolific-request-signature": "x"})
        ]
    assert [answer.status_code for answer in told] == [204, 204, 204, 403]
    with database.owning() as connection:
        noted = connection.execute(text("select event_id from webhook order by 1")).scalars().all()
    assert [name.split()[0] for name in noted] == ["delivery", "event", "event"]


def test_who_came_under_a_name_before_is_out_when_the_person_comes(
    database: Database, tmp_path: Path
) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access=CLAIMED)
    with browser(app, 2) as (first, second):
        eve, ann = Player(first), Player(second)
        eve.get(f"/s/small{QUERY}")
        eve.get("/consent")
        assert eve.path == "/consent"
        ann.get(f"/s/small{QUERY}")
        eve.get("/consent")
        assert eve.path == "/s/small"  # nobody
        ann.send("/s/small/begin")
        ann.send("/consent")
        assert ann.path == "/code" and people(database) == 1


def test_agreeing_ends_what_others_hold(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access=CLAIMED)
    with browser(app, 2) as (first, second):
        ann, eve = Player(first), Player(second)
        ann.get(f"/s/small{QUERY}")
        with database.owning() as connection:
            who = connection.execute(text("select id from participant")).scalar_one()
        second.cookies.set(SESSION, sessions.begin(database, participant_id=who))
        eve.get("/consent")
        assert eve.path == "/consent"
        ann.send("/s/small/begin")
        ann.send("/consent")
        assert ann.path == "/code"
        eve.get("/code")
        assert eve.path == "/s/small"
        ann.post("/consent", {"csrf": forms_csrf(ann)})  # a second click
        assert ann.path == "/code"


def forms_csrf(player: Player) -> str:
    player.get("/demographics")
    return forms_of(player.page)["/demographics"].fields["csrf"]


def test_a_link_does_not_take_somebody_out_of_their_session(
    database: Database, tmp_path: Path
) -> None:
    app = web_app(database, tmp_path / "s", instances=1, access=CLAIMED)
    other = QUERY.replace(PERSON, "6a" + PERSON[2:])
    with browser(app) as client:
        ann = Player(client)
        ann.get(f"/s/small{QUERY}")
        ann.send("/s/small/begin")
        ann.send("/consent")
        answer = client.get(f"/s/small{other}", follow_redirects=False)
        assert answer.status_code == 200 and "set-cookie" not in answer.headers
        assert "You are taking part already" in answer.text and people(database) == 1
        ann.get(f"/s/small{other}")
        assert "/s/small" in links_of(ann.page)
        ann.get("/s/small")
        assert ann.path == "/demographics"
        ann.get(f"/s/small{other}")
        ann.send(f"/s/small/begin{other}")
        assert ann.path == "/s/small" and people(database) == 2
        ann.get(f"/s/small{QUERY}")
        ann.send(f"/s/small/begin{QUERY}")
        assert ann.path == "/s/small/again"  # that one has agreed: only with the code


def test_codes_are_ones_own_but_for_prolific(database: Database, tmp_path: Path) -> None:
    codes = {"finished": "C1", "no_consent": "C2", "screened_out": "C3"}
    app = web_app(database, tmp_path / "s", instances=2, access={"kind": "link", "codes": codes})
    keys = Keys.read(tmp_path / "s")
    with browser(app, 3) as (first, second, third):
        player = play(first)
        with database.owning() as connection:
            who = connection.execute(text("select id from participant")).scalar_one()
        assert keys.completion_code("small", who) in player.page and "C1" not in player.page
        idle = Player(second)
        idle.get("/s/small")
        while idle.path != "/finish":
            skip = f"{idle.path}/release"
            if skip in forms_of(idle.page):
                idle.send(skip, reason="broken")
            else:
                idle.step()
        assert '<output id="code"' not in idle.page and "no picture was rated" in idle.page
        assert "ann@example.org" in idle.page
        declining = Player(third)
        declining.get("/s/small")
        declining.send("/s/small/begin")
        declining.send("/decline")
        assert declining.path == "/ended" and "C2" not in declining.page


def test_new_studies_say_whose_the_codes_are(tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=1)
    (folder / "study.yaml").unlink()
    (folder / "keys.json").unlink()
    begin_study(folder, read_material(folder), Beginning(title="T", contact="a@example.org"))
    assert "Codes are for prolific only" in (folder / "study.yaml").read_text()
