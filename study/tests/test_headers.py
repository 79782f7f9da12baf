"""What stands above every answer, and what a browser is given to keep."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.study.study_player import Player, forms_of
from support.study.web_study import ORIGIN, address, asked, browser, person, routes_of, web_app
from theodolite.errors import EvidenceError
from theodolite_study import sessions
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.web.cookies import BEFORE, SESSION
from theodolite_study.web.settings import Settings

ALWAYS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self' https://app.prolific.com https://www.mturk.com "
        "https://workersandbox.mturk.com; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=31536000",
    "x-frame-options": "DENY",
}


@pytest.fixture(scope="module")
def world(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("headers") / "s"
    database = one_database
    app = web_app(database, folder, instances=3, training=1, votes=9)
    with browser(app) as client:
        yield client, database, Keys.read(folder)


def test_every_answer_of_every_route(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "leased")
    for method, path in sorted(routes_of(client.app)):
        answer = asked(client, method, address(path, who), who, csrf="wrong")
        for name, value in ALWAYS.items():
            assert answer.headers[name] == value, (method, path, name)
        assert "camera=()" in answer.headers["permissions-policy"]
        kept = answer.headers["cache-control"]
        if path == "/static/{name:path}":
            assert kept == "public, max-age=600" and answer.headers["etag"]
        elif "/asset/" in path:
            assert kept == "private, no-store"
        else:
            assert kept == "no-store"
        assert not {"server", "x-powered-by"} & set(answer.headers)


def test_refusals_and_faults_have_them_too(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, database, keys = world
    who = person(database, keys, "idle")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("theodolite_study.web.item_routes.next_assignment", broken)
    fault = asked(client, "POST", "/next", who)
    assert fault.status_code == 500 and "secret" not in fault.text and "number" in fault.text
    answers = [
        fault,
        client.get("/nothing"),
        client.delete("/next"),
        client.get("/a/x"),
        client.get(f"/a/{2**70}"),
        client.get("/healthz", headers={"host": "evil.test"}),
        client.get("/", headers={"host": "evil.test"}),
    ]
    assert [answer.status_code for answer in answers] == [500, 404, 403, 404, 404, 200, 400]
    for answer in answers:
        assert ALWAYS.items() <= dict(answer.headers).items()


def test_faults_are_logged_without_what_was_sent(
    world: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client, database, keys = world
    who = person(database, keys, "idle")
    wrote = "what somebody wrote"

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(wrote)

    monkeypatch.setattr("theodolite_study.web.item_routes.next_assignment", broken)
    page = asked(client, "POST", "/next", who).text
    said = caplog.text
    number = said.split("fault ")[1].split(":")[0]
    assert number in page and "RuntimeError" in said
    assert wrote not in said and who.token not in said


def test_cookies_are_for_this_host_and_no_script(world: Any) -> None:
    client, _, _ = world
    client.cookies.clear()
    landing = client.get("/s/small")
    csrf = forms_of(landing.text)["/s/small/begin"].fields["csrf"]
    begun = client.post(
        "/s/small/begin", data={"csrf": csrf}, headers={"origin": ORIGIN}, follow_redirects=False
    )
    for name, answer in ((BEFORE, landing), (SESSION, begun)):
        (given,) = answer.headers.get_list("set-cookie")
        parts = {part.strip().lower() for part in given.split(";")[1:]}
        assert given.startswith(f"{name}=")
        assert {"httponly", "secure", "path=/", "samesite=lax"} <= parts
        assert not any(part.startswith("domain") for part in parts)


def test_a_value_that_somebody_planted_is_never_a_session(world: Any) -> None:
    client, database, _ = world
    planted = "a" * 43
    client.cookies.clear()
    client.cookies.set(SESSION, planted)
    client.cookies.set(BEFORE, planted)
    player = Player(client)
    player.get("/s/small")
    player.send("/s/small/begin")
    assert player.path == "/consent"
    own = [c.value for c in client.cookies.jar if c.name == SESSION and c.value != planted]
    assert len(own) == 1 and len(own[0]) == 43
    assert sessions.current(database, planted) is None
    assert sessions.current(database, own[0]) is not None
    client.cookies.clear()
    client.cookies.set(SESSION, planted)
    assert client.get("/consent", follow_redirects=False).headers["location"] == "/s/small"


def test_leaving_ends_the_session_on_the_server(world: Any) -> None:
    client, database, keys = world
    who = person(database, keys, "consented")
    answer = asked(client, "POST", "/logout", who)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert sessions.current(database, who.token) is None
    assert asked(client, "GET", "/code", who).headers["location"] == "/s/small"


@pytest.mark.parametrize(
    "origin", ["study.test", "https://study.test/", "ftp://a", "https://a@b", "https://A.b"]
)
def test_an_origin_is_an_origin(origin: str) -> None:
    with pytest.raises(EvidenceError):
        Settings("postgresql://", Path(), origin)


def test_without_https_nothing_is_promised(world: Any, tmp_path: Path) -> None:
    assert not Settings("postgresql://", tmp_path, "http://127.0.0.1:8000").https
