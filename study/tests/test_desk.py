"""The desk: who may do what, from which page, and what its login cannot do."""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import psycopg
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from support.study.desk_browser import (
    HEADERS,
    ORIGIN,
    DeskWorld,
    hidden,
    home,
    played,
    send,
)
from support.study.stepped_study import SteppedStudy, template_database
from theodolite_study.desk.rights import OPERATOR, RIGHTS
from theodolite_study.desk.sessions import SESSION
from theodolite_study.local_postgres import LocalPostgres, create_database

_numbers = count()
PUBLIC = {"/sign-in", "/enter/{token}", "/enroll/{token}", "/enroll", "/static/{name}", "/healthz"}
ROLES = ("owner", "researcher", "viewer", "operator", "stranger", "nobody")


@pytest.fixture(scope="module")
def world(cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskWorld]:
    name = f"desk{next(_numbers)}"
    create_database(cluster, name, template_database(cluster))
    made = DeskWorld(cluster.database(name), tmp_path_factory.mktemp("desk"))
    with made.visitor:
        yield made
    made.close()


@pytest.fixture
def study(world: DeskWorld) -> SteppedStudy:
    return played(world, f"s{next(_numbers)}")


# Rights ------------------------------------------------------------------------------------------


def routes(world: DeskWorld) -> list[tuple[Any, str]]:
    every = [route for route in world.app.routes if isinstance(route, Route)]
    assert len(every) == len(world.app.routes)
    return [(r, m) for r in every for m in sorted((r.methods or set()) - {"HEAD"})]


def test_every_route_names_its_right(world: DeskWorld) -> None:
    known = {"public", "account", *OPERATOR, *RIGHTS["owner"]}
    for route, _ in routes(world):
        right = getattr(route.endpoint, "right", None)
        assert right in known, f"{route.path} names no right"
        assert (right == "public") == (route.path in PUBLIC), route.path
        if right not in ("public", "account", "server"):
            assert route.path.startswith("/studies/{slug}"), route.path


def filled(path: str, slug: str, objects: dict[str, Any]) -> str:
    def one(match: re.Match[str]) -> str:
        name, _, kind = match[1].partition(":")
        if name == "slug":
            return slug
        return str(objects.get(name, "1" if kind == "int" else "x"))

    return re.sub(r"\{([^}]+)\}", one, path)


def test_routes_by_role_and_study(world: DeskWorld) -> None:
    mine, theirs = played(world, "mine"), played(world, "theirs")
    browsers = {
        role: world.browser(role, slug="mine", role=role) for role in ("owner", "researcher", "viewer")
    } | {
        "operator": world.browser("operator", operator=True),
        "stranger": world.browser("stranger", slug="theirs", role="owner"),
        "nobody": TestClient(world.app, base_url=ORIGIN, headers=HEADERS, follow_redirects=False),
    }  # fmt: skip
    world.browser("spare", slug="mine", role="viewer")
    objects = {
        "pseudonym": "p-ann mine", "staff_id": world.account("spare"), "number": 999_999,
        "payout": mine.one("select id from payout where study_id = %s", mine.study),
    }  # fmt: skip
    proofs = {
        role: hidden(browser.get("/" if role != "nobody" else "/sign-in"))["csrf"]
        for role, browser in browsers.items()
    }
    wrong = []
    for route, method in routes(world):
        right = route.endpoint.right  # type: ignore[attr-defined]
        if right == "public" or route.path == "/sign-out":
            continue
        address = filled(route.path, "mine", objects)
        for role, browser in browsers.items():
            data = {"csrf": proofs[role]} if method == "POST" else None
            got = browser.request(method, address, data=data, follow_redirects=False).status_code
            expected = may(role, right, in_study="{slug}" in route.path, method=method)
            fits = got == expected if expected else got not in (401, 403) and got < 500
            if not fits:
                wrong.append(f"{method} {address} as {role}: {got}, not {expected or 'let in'}")
    assert wrong == []
    assert theirs.one("select state from study where id = %s", theirs.study) == "open"


def may(role: str, right: str, *, in_study: bool, method: str) -> int:
    """The status of a refusal; 0 if they are let in."""
    if role == "nobody":
        return 401 if method == "POST" else 303
    if not in_study:
        return 0 if right == "account" or (right == "server" and role == "operator") else 404
    if role == "stranger":
        return 404
    rights = OPERATOR if role == "operator" else RIGHTS[role]
    return 0 if right in rights else 403


def test_objects_of_another_study_are_not_there(world: DeskWorld, study: SteppedStudy) -> None:
    other = played(world, f"other{next(_numbers)}")
    browser = world.browser("ada", slug=study.slug, role="owner")
    person, payout = f"p-ann {other.slug}", other.one(
        "select id from payout where study_id = %s", other.study
    )  # fmt: skip
    assert browser.get(f"{home(other)}/live").status_code == 404
    assert browser.get(f"{home(study)}/people/{person}").status_code == 404
    for address, fields in (
        (f"people/{person}/take-out", {"reason": "they are quick"}),
        (f"people/{person}/quota", {"items": "1"}),
        (f"pay/{payout}", {"how": "void", "reason": "not mine"}),
        (f"pay/{payout}/id", {}),
    ):
        got = send(browser, f"{home(study)}/people", f"{home(study)}/{address}", **fields)
        assert got.status_code == 404, address
    for place in ("people", "pay", "log", "live", "export", "close", "members"):
        assert other.slug not in browser.get(f"{home(study)}/{place}").text, place
    assert other.slug not in browser.get("/").text
    assert other.one("select count(*) from vote where not counted") == 0
    assert other.one("select state from payout where id = %s", payout) == "owed"


# Forms and headers -------------------------------------------------------------------------------


def test_forms_of_others_are_not_taken(world: DeskWorld, study: SteppedStudy) -> None:
    ada, eve = (world.browser(n, slug=study.slug, role="owner") for n in ("ada", "eve"))
    address = f"{home(study)}/pause"
    assert ada.post(address, data={"csrf": ""}).status_code == 403
    assert ada.post(address, data={"csrf": hidden(eve.get("/"))["csrf"]}).status_code == 403
    csrf = hidden(ada.get("/"))["csrf"]
    foreign = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    assert ada.post(address, data={"csrf": csrf}, headers=foreign).status_code == 403
    assert ada.post(address, json={"csrf": csrf}).status_code == 415
    assert ada.post(address, files={"a": b"x"}, data={"csrf": csrf}).status_code == 415
    assert ada.post(address, data={"csrf": csrf, "a": "x" * (5 << 20)}).status_code == 413
    assert ada.get(address).status_code == 404
    assert study.one("select state from study where id = %s", study.study) == "open"
    assert ada.post(address, data={"csrf": csrf}).url.path == f"{home(study)}/live"
    assert study.one("select state from study where id = %s", study.study) == "paused"


def test_headers_and_cookies(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    for page in (browser.get("/"), world.visitor.get("/sign-in"), browser.get("/nowhere")):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"
        assert "<script" not in page.text and " style=" not in page.text
    fresh = TestClient(world.app, base_url=ORIGIN).get("/sign-in")
    for cookie in fresh.headers.get_list("set-cookie"):
        assert cookie.startswith("__Host-") and "Path=/" in cookie
        assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=strict"))
    wrong = TestClient(world.app, base_url="https://rebound.example").get("/sign-in")
    assert wrong.status_code == 400


def test_a_notice_is_ours(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    page = send(browser, "/", f"{home(study)}/pause")
    assert "The study is paused." in page.text
    assert "The study is paused." not in browser.get("/").text, "once"
    browser.cookies.set("__Host-theodolite-notice", "ZXZpbA==.x", domain="desk.example.org")
    assert "evil" not in browser.get("/").text


def test_a_session_ends(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("zoe", slug=study.slug, role="owner")
    token = browser.cookies[SESSION]
    assert send(browser, "/", "/sign-out").url.path == "/sign-in"
    browser.cookies.set(SESSION, token, domain="desk.example.org")
    assert browser.get("/").url.path == "/sign-in"
    other = world.browser("zoe")
    world.connection.execute("update session set last_seen = now() - interval '31 minutes'")
    assert other.get("/").url.path == "/sign-in", "idle too long"


# The login ---------------------------------------------------------------------------------------


def test_the_login_of_the_desk_changes_no_answer(world: DeskWorld) -> None:
    answers = ("vote", "baseline", "answer", "consent", "gold_result", "practice", "assignment")
    with psycopg.connect(world.settings.database_url, autocommit=True) as own:
        own.execute("set role theodolite_desk")
        for table in answers:
            column = (
                "participant_id" if table in ("answer", "consent", "practice") else "assignment_id"
            )
            column = "position" if table == "assignment" else column
            for statement in (
                f"update {table} set {column} = {column}", f"delete from {table}",
                f"truncate {table}", f"insert into {table} default values",
            ):  # fmt: skip
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    own.execute(statement)
        for statement in (
            "update vote set counted = true", "update participant set outcome = null",
            "delete from participant", "delete from log", "update log set detail = '{}'",
            "update payout set amount_minor = 1", "delete from payout",
            "update staff set operator = true", "insert into staff (name, operator) values ('x', true)",
            "update study set keys_id = 'x'", "delete from study", "create table more (id int)",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(statement)
