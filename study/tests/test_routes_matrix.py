"""Every route, for everybody: one table of who gets what, held against the routes themselves."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import text

from support.study.web_study import (
    ORIGIN,
    STAGES,
    Person,
    address,
    asked,
    browser,
    outcome,
    person,
    place,
    routes_of,
    rows,
    web_app,
)
from theodolite_study import sessions
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.staff import invite_staff
from theodolite_study.web import cookies
from theodolite_study.web.staff_asking import SESSION

STEPS = {
    "H": ">/s/small", "C": ">/consent", "K": ">/code", "D": ">/demographics", "T": ">/training",
    "t": ">/training/N", "f": ">/training/N/feedback", "N": ">/next", "A": ">/a/N", "P": ">/post",
    "F": ">/finish", "E": ">/ended", "W": ">/withdrawn",
}  # fmt: skip
"""Where answers lead; numbers are answers themselves."""
# stages:                             nobody landed cons. train. idle leased reve. fini. rank. decl. scr.
TABLE = """
GET  /                                H    H    H    H    H    H    H    H    H    H    H
GET  /a/{number}                      H    C    D    T    404  200  200  P    F    E    E
GET  /a/{number}/asset/{role}         401  404  404  404  404  200  200  200  200  404  404
GET  /code                            H    C    200  200  200  200  200  200  200  E    E
GET  /consent                         H    200  D    T    N    A    A    P    F    E    E
GET  /demographics                    H    C    200  T    N    A    A    P    F    E    E
GET  /ended                           H    C    D    T    N    A    A    P    F    200  200
GET  /finish                          H    C    D    T    N    A    A    P    200  E    E
GET  /healthz                         200  200  200  200  200  200  200  200  200  200  200
GET  /next                            H    C    D    T    200  A    A    P    F    E    E
GET  /post                            H    C    D    T    N    A    A    200  F    E    E
GET  /readyz                          200  200  200  200  200  200  200  200  200  200  200
GET  /s/{slug}                        200  200  D    T    N    A    A    P    F    E    E
GET  /s/{slug}/again                  200  C    D    T    N    A    A    P    F    E    E
GET  /static/{name:path}              200  200  200  200  200  200  200  200  200  200  200
GET  /training                        H    C    D    200  N    A    A    P    F    E    E
GET  /training/{number}               H    C    D    200  N    A    A    P    F    E    E
GET  /training/{number}/asset/{role}  401  404  404  200  200  200  200  200  200  404  404
GET  /training/{number}/feedback      H    C    D    t    N    A    A    P    F    E    E
GET  /withdraw                        200  200  200  200  200  200  200  200  200  200  200
GET  /withdrawn                       200  C    D    T    N    A    A    P    F    E    E
POST /a/{number}/baseline             401  409  409  409  404  A    A    A    A    409  404
POST /a/{number}/draft                401  409  409  409  404  200  200  200  200  409  404
POST /a/{number}/heartbeat            401  409  409  409  404  200  200  200  200  409  404
POST /a/{number}/ratings              401  409  409  409  404  409  P    409  409  409  404
POST /a/{number}/release              401  409  409  409  404  P    P    409  409  409  404
POST /consent                         401  K    K    K    K    K    K    K    K    409  409
POST /decline                         401  E    409  409  409  409  409  409  409  E    409
POST /demographics                    401  409  T    T    N    A    A    P    F    409  409
POST /logout                          401  H    H    H    H    H    H    H    H    H    H
POST /next                            401  409  409  409  A    A    A    P    F    409  409
POST /next/finish                     401  409  409  409  N    A    A    P    F    409  409
POST /platform/prolific/webhook       404  404  404  404  404  404  404  404  404  404  404
POST /post                            401  409  409  409  409  409  409  F    F    409  409
POST /s/{slug}/begin                  401  C    D    T    N    A    A    P    F    E    E
POST /training/end                    401  409  409  409  N    A    A    P    F    409  409
POST /training/{number}/baseline      401  409  409  t    t    t    t    t    t    409  409
POST /training/{number}/ratings       401  409  409  409  409  409  409  409  409  409  409
POST /withdraw                        401  W    W    W    W    W    W    W    W    W    W
"""
STAFF = "/admin"
STAFF_FORMS: dict[str, dict[str, str]] = {
    "/admin/login": {"name": "eve", "passphrase": "x", "code": "000000"},
    "/admin/enrol": {"token": "x", "passphrase": "x", "code": "000000"},
    "/admin/logout": {},
    "/admin/state": {"state": "paused"},
    "/admin/quota": {"quota": "7"},
    "/admin/lift": {"row": "1"},
    "/admin/invalidate": {"pseudonym": "p0", "reason": "a machine"},
    "/admin/preview": {},
}
"""What staff send: a form that would be taken."""
FOR_ALL = {"/admin/login": 422, "/admin/enrol": 404}
"""Where staff come in: what a stranger gets who has no right credentials."""
STAFF_PAGES = {
    "/admin/login": "200", "/admin/enrol/{token}": "404", "/admin": ">/admin/login",
    "/admin/people": ">/admin/login", "/admin/log": ">/admin/login",
}  # fmt: skip
"""What strangers see of staff's pages."""


@dataclass
class World:
    """A server with people at each step."""

    client: Any
    database: Database
    keys: Keys
    people: dict[str, Person] = field(default_factory=dict)

    def at(self, stage: str) -> Person:
        """Somebody at a stage, who stays there as long as nothing is taken from them."""
        if stage not in self.people:
            others = self.at("leased").item if stage != "leased" else 0
            self.people[stage] = person(self.database, self.keys, stage, others_item=others)
        return self.people[stage]

    def ask(self, method: str, path: str, stage: str) -> str:
        who = self.at(stage)
        sending = method == "POST"
        before = place(self.database, who) if sending else None
        found = outcome(asked(self.client, method, address(path, who), who))
        if sending and place(self.database, who) != before:
            del self.people[stage]  # they went on
        return next((letter for letter, where in STEPS.items() if where == found), found)


@pytest.fixture(scope="module")
def world(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("matrix") / "s"
    database = one_database
    app = web_app(database, folder, instances=1, training=1, votes=50, quota=1)
    with browser(app) as client:
        yield World(client, database, Keys.read(folder))


def table() -> dict[tuple[str, str], list[str]]:
    lines = [line.split() for line in TABLE.strip().splitlines()]
    return {(method, path): cells for method, path, *cells in lines}


def listed(world: World, method: str) -> list[tuple[str, str]]:
    found = [one for one in sorted(routes_of(world.client.app)) if one[0] == method]
    return [(method, path) for method, path in found if not path.startswith(STAFF)]


def test_every_route_is_in_the_table(world: World) -> None:
    assert {*listed(world, "GET"), *listed(world, "POST")} == set(table())
    methods = {method for method, _ in routes_of(world.client.app)}
    assert methods == {"GET", "HEAD", "POST"}


def test_who_gets_what_by_looking_and_nothing_changes(world: World) -> None:
    for stage in STAGES:
        world.at(stage)
    before = rows(world.database, seen=False)
    expected, found = {}, {}
    for route in listed(world, "GET"):
        expected[route] = table()[route]
        found[route] = [world.ask(*route, stage) for stage in STAGES]
    assert found == expected
    assert rows(world.database, seen=False) == before


def test_who_gets_what_by_sending(world: World) -> None:
    found = {
        route: [world.ask(*route, stage) for stage in STAGES] for route in listed(world, "POST")
    }
    assert found == {route: table()[route] for route in found}


def test_head_is_like_get_and_leaves_no_trace(world: World) -> None:
    who = person(world.database, world.keys, "leased")
    asked(world.client, "POST", f"/a/{who.item}/baseline", who)
    before = rows(world.database)
    for path in ("", "/asset/picture", "/asset/map", "/asset/same_map"):
        answer = asked(world.client, "HEAD", f"/a/{who.item}{path}", who)
        assert (answer.status_code, answer.content) == (200, b"")
    assert rows(world.database) == before
    asked(world.client, "GET", f"/a/{who.item}/asset/map", who)
    changed = {name for name, now in rows(world.database).items() if now != before[name]}
    assert changed == {"assignment", "event"}


def test_what_is_somebody_elses_is_not_here(world: World) -> None:
    ann, bob = (person(world.database, world.keys, stage) for stage in ("leased", "revealed"))
    before = rows(world.database)
    for thief, owner in ((ann, bob), (bob, ann)):
        stolen = Person(thief.id, thief.token, thief.csrf, owner.item)
        for method, path in [*listed(world, "GET"), *listed(world, "POST"), *listed(world, "HEAD")]:
            if path.startswith("/a/"):
                for role in ("picture", "map") if "{role}" in path else ("",):
                    answer = asked(world.client, method, address(path, stolen, role), stolen)
                    assert answer.status_code == 404, (method, path)
    assert rows(world.database) == before


FOREIGN: list[dict[str, str]] = [
    {"origin": "https://evil.test"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
    {"origin": ORIGIN, "sec-fetch-site": "same-site"},
    {"origin": "https://evil.test", "sec-fetch-site": "same-origin"},
]


def test_forms_of_others_are_refused_everywhere(world: World) -> None:
    who, other = (person(world.database, world.keys, "leased") for _ in range(2))
    before = rows(world.database)
    for method, template in listed(world, "POST"):
        path = address(template, who)
        if path.startswith("/platform/"):
            continue  # signed, not from a page
        for token in ("", "wrong", other.csrf):
            assert asked(world.client, method, path, who, csrf=token).status_code == 403, path
        for headers in FOREIGN:
            answer = asked(world.client, method, path, who, headers=headers)
            assert answer.status_code == 403, (path, headers)
        answer = world.client.post(path, data={"csrf": who.csrf}, follow_redirects=False)
        assert answer.status_code == 403, path  # no word of where it comes from
    assert rows(world.database) == before


def test_a_form_whose_page_sends_no_referer_is_taken(world: World) -> None:
    """Browsers say that the origin is «null» then."""
    who = person(world.database, world.keys, "landed")
    headers = {"origin": "null", "sec-fetch-site": "same-origin"}
    assert outcome(asked(world.client, "POST", "/consent", who, headers=headers)) == ">/code"


@pytest.fixture
def eve(world: World) -> tuple[str, str]:
    """The session of somebody of the staff, and the hidden field of her pages."""
    invite_staff(world.database, "small", "eve", world.keys)
    with world.database.owning() as connection:
        number = connection.execute(text("select id from staff where name = 'eve'")).scalar_one()
    token = sessions.begin(world.database, staff_id=number)
    return token, world.keys.csrf(sessions.digest_of(token))


def staff_routes(world: World, method: str) -> list[str]:
    """From the routes themselves: one that is new has to be listed."""
    return sorted(
        path
        for way, path in routes_of(world.client.app)
        if way == method and path.startswith(STAFF)
    )


def sent(world: World, path: str, cookies: dict[str, str], csrf: str | None, **headers: str) -> int:
    world.client.cookies.clear()
    for name, value in cookies.items():
        world.client.cookies.set(name, value)
    data = STAFF_FORMS[path] | ({} if csrf is None else {"csrf": csrf})
    answer = world.client.post(
        path, data=data, headers={"origin": ORIGIN} | headers, follow_redirects=False
    )
    return int(answer.status_code)


def test_every_staff_route_is_listed(world: World) -> None:
    assert staff_routes(world, "POST") == sorted(STAFF_FORMS)
    assert staff_routes(world, "GET") == staff_routes(world, "HEAD") == sorted(STAFF_PAGES)


def test_strangers_and_participants_see_no_staff_page(world: World) -> None:
    for stage in ("nobody", "leased", "finished"):
        who = world.at(stage)
        for path in staff_routes(world, "GET"):
            for method in ("GET", "HEAD"):
                found = outcome(asked(world.client, method, path.replace("{token}", "x"), who))
                assert found == STAFF_PAGES[path], (stage, method, path)


def test_strangers_and_participants_send_no_staff_form(world: World) -> None:
    before = cookies.new_before()
    strangers = {
        "nobody": ({cookies.BEFORE: before}, world.keys.csrf(cookies.before_digest(before)))
    }
    for stage in ("leased", "finished"):
        who = world.at(stage)
        strangers[stage] = (who.cookies | strangers["nobody"][0], strangers["nobody"][1])
    as_staff = {SESSION: world.at("leased").token, **strangers["nobody"][0]}
    strangers["participant as staff"] = (as_staff, strangers["nobody"][1])
    kept = rows(world.database)
    for path in staff_routes(world, "POST"):
        for who, (given, csrf) in strangers.items():
            assert sent(world, path, given, csrf) == FOR_ALL.get(path, 401), (path, who)
        for stage in ("leased", "finished"):  # a participant's own field is none of staff's
            who = world.at(stage)
            assert sent(world, path, who.cookies, who.csrf) == 403, path
    assert rows(world.database) == kept


def test_forms_of_others_are_refused_from_staff_too(world: World, eve: tuple[str, str]) -> None:
    given, right = {SESSION: eve[0]}, eve[1]
    kept = rows(world.database)
    for path in staff_routes(world, "POST"):
        for csrf in (None, "", "wrong", world.at("leased").csrf):
            assert sent(world, path, given, csrf) == 403, (path, csrf)
        for headers in FOREIGN:
            assert sent(world, path, given, right, **headers) == 403, (path, headers)
        world.client.cookies.clear()
        world.client.cookies.set(SESSION, eve[0])
        data = STAFF_FORMS[path] | {"csrf": right}
        answer = world.client.post(path, data=data, follow_redirects=False)
        assert answer.status_code == 403, path  # no word of where it comes from
    assert rows(world.database) == kept


def test_staff_themselves_are_not_refused(world: World, eve: tuple[str, str]) -> None:
    """So the refusals above are for the reason that they say."""
    expected = dict.fromkeys(STAFF_FORMS, 303) | FOR_ALL | {"/admin/invalidate": 404}
    last = sorted(STAFF_FORMS, key=lambda path: path.endswith("/logout"))
    found = {path: sent(world, path, {SESSION: eve[0]}, eve[1]) for path in last}
    become(world.database, "small", "open", staff="eve")
    assert found == expected
