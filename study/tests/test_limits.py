"""What is too large, too much, too many or too slow is refused in words, and nothing breaks."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from support.study.small_study import rated
from support.study.web_study import ORIGIN, Person, asked, browser, outcome, person, web_app
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.web.settings import Limits

LIMITS = Limits(pool=3, in_flight=4, body_seconds=0.5, readers=3, fields=50)


@pytest.fixture(scope="module")
def world(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("limits") / "s"
    database = one_database
    app = web_app(database, folder, instances=3, votes=9, limits=LIMITS)
    with browser(app) as client:
        yield client, database, Keys.read(folder)


def send(client: Any, who: Person, path: str, **content: Any) -> Any:
    headers = {"origin": ORIGIN, **content.pop("headers", {})}
    client.cookies.clear()
    for name, value in who.cookies.items():
        client.cookies.set(name, value)
    return client.post(path, headers=headers, follow_redirects=False, **content)


def test_too_large_whether_said_or_not(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")
    path = f"/a/{who.item}/baseline"
    form = {"content-type": "application/x-www-form-urlencoded"}
    large = b"text=" + b"a" * (1 << 20)
    assert send(client, who, path, content=large, headers=form).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"a" * (1 << 16)

    assert send(client, who, path, content=pieces(), headers=form).status_code == 413
    for said in ("-1", "9" * 400, "x"):
        answer = send(client, who, path, content=b"", headers=form | {"content-length": said})
        assert answer.status_code == 413


def test_too_many_fields_twice_the_same_other_kinds(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")
    path = f"/a/{who.item}/baseline"
    fields = {"csrf": who.csrf, "text": "ears"}
    many = fields | {f"f{i}": "1" for i in range(60)}
    assert send(client, who, path, data=many).status_code == 400
    assert send(client, who, path, data=fields | {"strange": "1"}).status_code == 422
    assert send(client, who, path, data=fields | {"text": ["a", "b"]}).status_code == 422
    assert send(client, who, path, data=fields | {"text": "é" * 5000}).status_code == 422
    for boxes in ("{", "[1]", '[{"x":1}]', "[" * 5000, '[{"x":NaN,"y":0,"width":1,"height":1}]',
                  '[{"x":1,"y":1,"width":0,"height":1}]', '[{"x":1,"y":1,"width":1e9,"height":1}]'):  # fmt: skip
        assert send(client, who, path, data=fields | {"boxes": boxes}).status_code == 422, boxes
    for told in ('{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"a":{}}', "[]", '{"a":1e400}'):
        assert send(client, who, path, data=fields | {"client": told}).status_code == 422, told
    files = {"text": ("a.txt", b"a")}
    assert send(client, who, path, data=fields, files=files).status_code == 415
    assert send(client, who, path, json=fields).status_code == 415
    draft = f"/a/{who.item}/draft"
    token = {"x-csrf": who.csrf}
    for content in (b"[" * 100_000, b"{", b"[]", b'{"text":"\\u0000"}', b'{"strange":1}', b"\xff"):
        answer = send(client, who, draft, content=content,
                      headers=token | {"content-type": "application/json"})  # fmt: skip
        assert answer.status_code == 422, content[:20]
    assert (
        send(client, who, draft, json={"boxes": [], "text": "x"}, headers=token).status_code == 200
    )


def test_boxes_without_a_script(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")
    numbers = {"box_x_0": "1", "box_y_0": "2", "box_width_0": "5", "box_height_0": "6.5"}
    empty = {f"box_{part}_1": "" for part in ("x", "y", "width", "height")}
    fields = {"csrf": who.csrf, "text": "ears"}
    path = f"/a/{who.item}/baseline"
    half = send(client, who, path, data=fields | {"box_x_0": "1"})
    assert half.status_code == 422 and "ears" in half.text
    assert send(client, who, path, data=fields | numbers | empty).status_code == 303
    with database.transaction() as connection:
        stored = text("select boxes from baseline where assignment_id = :id")
        boxes = connection.execute(stored, {"id": who.item}).scalar()
    assert boxes == [{"x": 1.0, "y": 2.0, "width": 5.0, "height": 6.5}]


def test_what_is_missing_is_said_on_the_same_page(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "revealed")
    fields = {"csrf": who.csrf, "q1": "4", "key": "00000000-0000-4000-8000-000000000000"}
    path = f"/a/{who.item}/ratings"
    page = send(client, who, path, data=fields)
    assert page.status_code == 422 and "question 2" in page.text and "checked" in page.text
    told = send(client, who, path, data=fields, headers={"accept": "application/json"})
    assert told.status_code == 422 and "question 2" in told.json()["errors"][0]


def test_parts_of_pictures_are_not_served(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")
    whole = asked(client, "GET", f"/a/{who.item}/asset/picture", who)
    ranges = "bytes=" + ",".join(f"{i}-{i + 1}" for i in range(5000))
    part = asked(client, "GET", f"/a/{who.item}/asset/picture", who, headers={"range": ranges})
    assert (part.status_code, part.content) == (200, whole.content)


def test_pictures_are_those_of_the_folder(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")
    for role in (
        "..%2f..%2fkeys.json",
        "keys.json",
        "check",
        "key",
        "shown",
        "__class__",
        "_",
        "a_b",
    ):
        answer = asked(client, "GET", f"/a/{who.item}/asset/{role}", who)
        assert answer.status_code == 404, role
    for name in (
        "../settings.py",
        "..%2fsettings.py",
        "",
        "nothing.js",
        "../templates/page.html.j2",
    ):
        assert asked(client, "GET", f"/static/{name}", who).status_code == 404, name


def test_too_quick(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, database, keys = world
    who, other = (person(database, keys, "consented") for _ in range(2))
    limiter = client.app.state.site.posts
    monkeypatch.setattr(limiter, "burst", 5)
    monkeypatch.setattr(limiter, "rate", 0.001)
    answers = [asked(client, "POST", "/consent", who) for _ in range(8)]
    assert [answer.status_code for answer in answers] == [303] * 5 + [429] * 3
    assert int(answers[-1].headers["retry-after"]) > 100
    assert asked(client, "POST", "/consent", other).status_code == 303


def test_nobody_looks_too_often(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, database, keys = world
    who, other = (person(database, keys, "leased") for _ in range(2))
    limiter = client.app.state.site.looks
    assert (limiter.rate, limiter.burst) == (20, 200)
    monkeypatch.setattr(limiter, "burst", 5)
    monkeypatch.setattr(limiter, "rate", 0.001)
    path = f"/a/{who.item}/asset/picture"
    answers = [asked(client, "GET", path, who) for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) > 100
    assert asked(client, "GET", f"/a/{who.item}", who).status_code == 429
    assert asked(client, "GET", f"/a/{other.item}", other).status_code == 200
    assert asked(client, "POST", f"/a/{who.item}/baseline", who).status_code == 303


def test_pages_are_told_how_long_a_picture_is_kept(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")

    def beat() -> dict[str, Any]:
        return asked(client, "POST", f"/a/{who.item}/heartbeat", who).json()

    whole = beat()["lease_seconds"]
    with database.owning() as connection:
        aged = text(
            "update assignment set leased_at = leased_at - :s * interval '1 s' where id = :i"
        )
        connection.execute(aged, {"s": 3.5 * 1800, "i": who.item})
    assert 1790 < whole <= 1800 and 890 < beat()["lease_seconds"] <= 900
    with database.owning() as connection:
        slot = text("update slot set state = 'open', assignment_id = null, "
                    "lease_expires_at = null where assignment_id = :i")  # fmt: skip
        connection.execute(slot, {"i": who.item})
        lost = text("update assignment set state = 'lost' where id = :i")
        connection.execute(lost, {"i": who.item})
    assert beat() == {"lease_seconds": 0, "lost": True}


def test_checks_do_not_tell_by_their_lease(database: Database, tmp_path: Path) -> None:
    checks = {"every": 2, "allowed": 9}
    app = web_app(database, tmp_path / "s", instances=3, gold=1, votes=9, checks=checks)
    with browser(app) as client:
        who = person(database, Keys.read(tmp_path / "s"), "idle")
        for _ in range(2):
            rated(database, who.id, next_assignment(database, who.id))
        item = next_assignment(database, who.id)
        assert item.instance.kind == "gold"
        told = asked(client, "POST", f"/a/{item.id}/heartbeat", who).json()
        assert told == {"lease_seconds": 1800}


def test_many_at_once_are_asked_to_come_back(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, database, keys = world
    who = person(database, keys, "consented")
    go = threading.Event()
    monkeypatch.setattr(
        "theodolite_study.web.participant_routes.CodeView", lambda _: go.wait(10) and None
    )

    async def crowd() -> list[Any]:
        transport = httpx.ASGITransport(client.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url=ORIGIN, cookies=who.cookies
        ) as some:
            waiting = [asyncio.create_task(some.get("/code")) for _ in range(LIMITS.in_flight)]
            while client.app.state.site.database and sum(t.done() for t in waiting) == 0:
                await asyncio.sleep(0.05)
                answer = await some.get("/code") if time.monotonic() > full else None
                if answer is not None:
                    break
            health = await some.get("/healthz")
            go.set()
            await asyncio.gather(*waiting)
            return [answer, health, await some.get("/code")]

    full = time.monotonic() + 0.5
    refused, health, after = asyncio.run(crowd())
    assert refused.status_code == 503 and int(refused.headers["retry-after"]) >= 1
    assert "content-security-policy" in refused.headers
    assert health.status_code == 200
    assert after.status_code != 503


def test_who_sends_slowly_is_not_waited_for(world: Any) -> None:
    client, _, _ = world

    async def slowly() -> AsyncIterator[bytes]:
        yield b"text="
        await asyncio.sleep(30)
        yield b"late"

    async def some() -> tuple[list[Any], float]:
        transport = httpx.ASGITransport(client.app)
        headers = {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as one:
            began = time.monotonic()
            sending = [one.post("/next", content=slowly(), headers=headers) for _ in range(5)]
            answers = await asyncio.gather(*sending)
            return list(answers), time.monotonic() - began

    answers, seconds = asyncio.run(some())
    assert sorted(answer.status_code for answer in answers) == [408] * 3 + [503] * 2
    assert seconds < 5


def test_without_the_database_people_are_asked_to_try_again(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = web_app(database, tmp_path / "s", instances=1, limits=Limits(pool=1))
    who = person(database, Keys.read(tmp_path / "s"), "idle")
    site = app.state.site
    with browser(app) as client, monkeypatch.context() as patched:
        away = Database("postgresql://nobody@127.0.0.1:1/nowhere")
        patched.setitem(site.__dict__, "database", away)
        for method, path in (("GET", "/code"), ("POST", "/next"), ("GET", "/readyz")):
            answer = asked(client, method, path, who)
            assert answer.status_code == 503 and answer.headers["retry-after"] == "3"
            assert "127.0.0.1" not in answer.text
        assert asked(client, "GET", "/healthz", who).status_code == 200
        full = Database(database.url, pool=1, wait=0.1)
        patched.setitem(site.__dict__, "database", full)
        with full.transaction():  # the only connection is in use
            assert asked(client, "GET", "/code", who).status_code == 503
        assert asked(client, "GET", "/code", who).status_code == 200
        full.close()


def test_when_the_study_closes(database: Database, tmp_path: Path) -> None:
    codes = {"finished": "C1"}
    access = {"kind": "prolific", "signed": False, "codes": codes}
    app = web_app(database, tmp_path / "s", instances=2, votes=9, quota=1, access=access)
    keys = Keys.read(tmp_path / "s")
    stages = ("landed", "training", "idle", "leased", "revealed", "finished", "ranked", "declined")
    people = {stage: person(database, keys, stage) for stage in stages}
    become(database, "small", "closed", staff="test")
    with browser(app) as client:
        for stage, who in people.items():
            led = outcome(asked(client, "GET", "/s/small", who))
            over = "200" if stage == "landed" else ">/ended"
            assert led == (">/finish" if stage in ("finished", "ranked") else over), stage
            page = asked(client, "GET", led[1:] if led[0] == ">" else "/ended", who)
            assert page.status_code == 200, stage
            assert ("C1" in page.text) == (stage in ("finished", "ranked"))
            unrated = stage in ("idle", "leased", "revealed")
            assert ("no picture was rated" in page.text) == unrated, stage
        for stage, path in (("idle", "/next"), ("landed", "/consent")):
            answer = asked(client, "POST", path, people[stage])
            assert answer.status_code == 409 and "is over" in answer.text
