"""Accounts of the desk: links that are good once, passphrases, and delays that lock nobody out."""

import re
from collections.abc import Iterator
from typing import Any

import pyotp
import pytest
from argon2 import PasswordHasher
from starlette.testclient import TestClient

from support.study.desk_browser import HEADERS, ORIGIN, DeskWorld, hidden, send
from support.study.stepped_study import template_database
from theodolite_study import passwords
from theodolite_study.desk.accounts import (
    MIN_GUESSES,
    check_strength,
    make_enroll_link,
    wait_for_check,
)
from theodolite_study.desk.sessions import DEVICE, SESSION
from theodolite_study.desk.sign_in import FREE_FAILURES
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.refusals import Invalid, NothingNow

GOOD = "violet kettle onward maple"
HOME, ELSEWHERE = "198.51.100.7", "203.0.113.9"


@pytest.fixture(scope="module")
def world(cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskWorld]:
    create_database(cluster, "desk_accounts", template_database(cluster))
    url = cluster.database("desk_accounts")
    made = DeskWorld(url, tmp_path_factory.mktemp("desk"))
    with made.visitor:
        yield made
    made.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passphrases are looked at as they are, with less work."""
    monkeypatch.setattr(passwords, "HASHER", PasswordHasher(1, 8, 1))


class Somebody:
    """An account that was set up, and browsers to sign in with."""

    def __init__(self, world: DeskWorld, name: str) -> None:
        self.world, self.name = world, name
        self.link = make_enroll_link(world.connection, world.keys, ORIGIN, name)
        self.first = browser(world)
        page = self.first.get(self.link)
        self.secret = re.sub(r"\s", "", re.findall(r'class="code">([^<]+)<', page.text)[0])

    def code(self) -> str:
        """Return a current code, and let the server accept it again."""
        code = pyotp.TOTP(self.secret).now()
        self.world.connection.execute(
            "update staff set totp_last_step = 0 where name = %s", [self.name]
        )
        return code

    def enrolls(self, passphrase: str = GOOD, code: str = "") -> Any:
        page = self.first.get(self.link)
        fields = {"passphrase": passphrase, "code": code or self.code()}
        return self.first.post("/enroll", data=hidden(page) | fields)

    def signs_in(self, client: TestClient, passphrase: str = GOOD, **others: str) -> Any:
        fields = {"name": self.name, "passphrase": passphrase, "code": self.code()} | others
        return send(client, "/sign-in", "/sign-in", **fields)


def browser(world: DeskWorld, address: str = HOME) -> TestClient:
    headers = HEADERS | {"x-forwarded-for": f"10.9.9.9, {address}"}
    return TestClient(world.app, base_url=ORIGIN, headers=headers)


def came_in(page: Any) -> bool:
    return bool(page.url.path == "/" and page.status_code == 200)


def test_a_link_makes_an_account_once(world: DeskWorld) -> None:
    ann = Somebody(world, "ann")
    assert "<svg" in ann.first.get(ann.link).text
    assert ann.enrolls(code="000000").status_code == 422, "a wrong code"
    assert ann.enrolls("12345678 abcdefgh").status_code == 422
    assert came_in(ann.enrolls())
    assert browser(world).get(ann.link).status_code == 404, "used up"
    assert world.connection.execute("select count(*) from staff where name = 'ann'").fetchone() == (
        1,
    )
    assert came_in(ann.signs_in(browser(world)))
    stored = str(
        world.connection.execute("select to_jsonb(s) from staff s where name = 'ann'").fetchone()
    )
    assert GOOD not in stored and ann.secret not in stored and ann.link.split("/")[-1] not in stored


def test_a_link_is_good_for_a_day(world: DeskWorld) -> None:
    late = Somebody(world, "late")
    world.connection.execute(
        "update staff set enroll_expires_at = now() - interval '1 second' where name = 'late'"
    )
    assert browser(world).get(late.link).status_code == 404


def test_a_second_link_ends_what_was(world: DeskWorld) -> None:
    bea = Somebody(world, "bea")
    assert came_in(bea.enrolls())
    again = Somebody(world, "bea")
    assert bea.first.get("/").url.path == "/sign-in"
    assert not came_in(bea.signs_in(browser(world)))
    assert came_in(again.enrolls())
    old = pyotp.TOTP(bea.secret).now()
    assert not came_in(again.signs_in(browser(world), code=old))


@pytest.mark.parametrize(
    ("passphrase", "fits"),
    [
        ("12345678 abcdefgh", False), ("dragon monkey shadow", False),
        ("theodolite study 2026", False), ("summer2026 summer2026", False), (GOOD, True),
        ("desk.example.org 2026", False), ("quince", False),
    ],
)  # fmt: skip
def test_passphrases(passphrase: str, fits: bool) -> None:
    names = ["ann", "desk.example.org", "theodolite study", "mine"]
    if fits:
        check_strength(passphrase, names)
        return
    with pytest.raises(Invalid):
        check_strength(passphrase, names)


def test_neither_rules_nor_guesses_are_enough() -> None:
    with pytest.raises(Invalid, match="guessed too soon"):
        check_strength("dragon monkey shadow", ["ann"])
    assert MIN_GUESSES == 10**13
    with pytest.raises(Invalid, match="common word"):
        check_strength("summer2026 summer2026", ["ann"])


def test_a_code_is_good_once_and_nothing_is_told(world: DeskWorld) -> None:
    cat = Somebody(world, "cat")
    cat.enrolls()
    code = cat.code()
    fields = {"name": "cat", "passphrase": GOOD, "code": code}
    assert came_in(send(browser(world), "/sign-in", "/sign-in", **fields))
    again = send(browser(world), "/sign-in", "/sign-in", **fields)
    unknown = send(browser(world), "/sign-in", "/sign-in", **fields | {"name": "nobody"})
    wrong = cat.signs_in(browser(world), "another passphrase")
    said = {re.sub(r'value="[^"]*"', "", page.text) for page in (again, unknown, wrong)}
    assert len(said) == 1 and again.status_code == 422


def test_two_at_once_use_a_code_once(world: DeskWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    jan = Somebody(world, "jan")
    jan.enrolls()
    fields = {"name": "jan", "passphrase": GOOD, "code": jan.code()}
    monkeypatch.setattr(  # both have read the account before either of them is in
        "theodolite_study.desk.sign_in.check_code",
        lambda secret, code, last, now: passwords.check_code(secret, code, None, now),
    )
    assert came_in(send(browser(world), "/sign-in", "/sign-in", **fields))
    assert not came_in(send(browser(world), "/sign-in", "/sign-in", **fields))


def test_knowing_a_name_locks_nobody_out(world: DeskWorld) -> None:
    dan = Somebody(world, "dan")
    dan.enrolls()
    known = dan.first
    assert DEVICE in known.cookies
    known.cookies.delete(SESSION)
    eve = browser(world, ELSEWHERE)
    got = [dan.signs_in(eve, "some other words").status_code for _ in range(FREE_FAILURES + 2)]
    assert got == [422] * FREE_FAILURES + [429, 429]
    refused = dan.signs_in(eve)
    assert refused.status_code == 429, "even with the right ones"
    assert 1 <= int(refused.headers["retry-after"]) <= 11
    assert came_in(dan.signs_in(browser(world, HOME))), "from another network"
    assert came_in(dan.signs_in(known)), "from a known browser"


def test_a_known_browser_is_not_delayed_by_others_of_its_network(world: DeskWorld) -> None:
    flo = Somebody(world, "flo")
    flo.enrolls()
    flo.first.cookies.delete(SESSION)
    for _ in range(FREE_FAILURES + 1):
        flo.signs_in(browser(world, HOME), "some other words")
    assert flo.signs_in(browser(world, HOME)).status_code == 429
    assert came_in(flo.signs_in(flo.first))
    other = Somebody(world, "gil")
    other.enrolls()
    other.first.cookies.delete(SESSION)
    for _ in range(FREE_FAILURES):  # another's device is no device of this account
        flo.signs_in(other.first, "some other words")
    assert flo.signs_in(other.first).status_code == 429


def test_a_known_browser_guesses_no_faster(world: DeskWorld) -> None:
    hal = Somebody(world, "hal")
    hal.enrolls()
    hal.first.cookies.delete(SESSION)
    got = [
        hal.signs_in(hal.first, "wrong words here").status_code for _ in range(FREE_FAILURES + 1)
    ]
    assert got[-1] == 429
    assert came_in(hal.signs_in(browser(world, ELSEWHERE))), "the account is not locked"


def test_delays_grow_and_end(world: DeskWorld) -> None:
    ida = Somebody(world, "ida")
    ida.enrolls()
    eve = browser(world, ELSEWHERE)
    for _ in range(FREE_FAILURES):
        ida.signs_in(eve, "wrong words here")
    waits = []
    for _ in range(4):
        refused = ida.signs_in(eve, "wrong words here")
        waits.append(int(refused.headers["retry-after"]))
        world.connection.execute("update sign_in_failure set until = now() - interval '1 second'")
        assert ida.signs_in(eve, "wrong words here").status_code == 422
    assert waits == sorted(waits) and waits[-1] > 3 * waits[0]
    world.connection.execute("update sign_in_failure set until = now() - interval '1 second'")
    assert came_in(ida.signs_in(eve))
    left = world.connection.execute(
        "select count(*) from sign_in_failure where failures > 4"
    ).fetchone()
    assert left is not None
    stored = str(world.connection.execute("select * from sign_in_failure").fetchall())
    assert ELSEWHERE[:8] not in stored


def test_passphrases_wait_in_a_queue_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theodolite_study.desk.accounts.QUEUE_SECONDS", 0.01)
    with wait_for_check(), wait_for_check():
        with pytest.raises(NothingNow), wait_for_check():
            pass
        with wait_for_check(known=True):
            pass
    with wait_for_check():
        pass


def test_a_sign_in_of_another_page_is_not_taken(world: DeskWorld) -> None:
    client = browser(world)
    client.get("/sign-in")
    other = hidden(browser(world).get("/sign-in"))["csrf"]
    assert client.post("/sign-in", data={"csrf": other, "name": "ann"}).status_code == 403
