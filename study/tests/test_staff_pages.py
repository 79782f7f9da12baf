"""Staff pages: set up an account by its link, look at the study, change it; strangers cannot."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyotp
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from support.study.small_study import active, all_rated, opened, study_folder
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.staff import enrolling, invite_staff
from theodolite_study.web.app import create_app
from theodolite_study.web.settings import Settings

ORIGIN = "https://study.example.org"
PASSPHRASE = "nine quiet lanterns drift"


class Browser:
    """Keeps cookies and the hidden field of the last page."""

    def __init__(self, client: TestClient) -> None:
        self.client, self.csrf, self.page = client, "", ""

    def get(self, path: str) -> int:
        answer = self.client.get(path)
        self.page = answer.text
        found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer.status_code

    def post(self, path: str, **data: str) -> tuple[int, str]:
        answer = self.client.post(
            path, data={"csrf": self.csrf, **data}, headers={"Origin": ORIGIN}
        )
        self.page = answer.text
        return answer.status_code, answer.headers.get("location", "")


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Path:
    made = study_folder(tmp_path / "s", instances=3, votes=2)
    opened(database, made)
    return made


@pytest.fixture
def browser(database: Database, folder: Path) -> Iterator[Browser]:
    app = create_app(Settings(database.url, folder, ORIGIN))
    with TestClient(app, base_url=ORIGIN, follow_redirects=False) as client:
        yield Browser(client)
    app.state.site.database.close()


def logged_in(browser: Browser, database: Database, folder: Path, name: str = "eve") -> str:
    """By the link of the command line; the secret of the phone."""
    keys = Keys.read(folder)
    token = invite_staff(database, "small", name, keys)
    secret = enrolling(database, "small", token, keys).secret
    assert browser.get(f"/admin/enrol/{token}") == 200
    assert secret[:4] in browser.page
    given = {"token": token, "passphrase": PASSPHRASE, "code": pyotp.TOTP(secret).now()}
    assert browser.post("/admin/enrol", **given) == (303, "/admin")
    return secret


@pytest.mark.parametrize("path", ["/admin", "/admin/people", "/admin/log"])
def test_strangers_are_led_to_the_login(browser: Browser, path: str) -> None:
    answer = browser.client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/login")


@pytest.mark.parametrize("path", ["state", "quota", "lift", "invalidate", "preview", "logout"])
def test_strangers_change_nothing(browser: Browser, path: str) -> None:
    browser.get("/admin/login")
    assert browser.post(f"/admin/{path}", state="closed")[0] == 401


def test_a_participant_is_a_stranger_here(browser: Browser) -> None:
    browser.get("/s/small")
    browser.post("/s/small/begin")
    assert browser.get("/admin") == 303


def test_progress_people_log(browser: Browser, database: Database, folder: Path) -> None:
    keys = Keys.read(folder)
    all_rated(database, active(database, keys, "ann"))
    logged_in(browser, database, folder)
    assert browser.get("/admin") == 200
    assert "50 % of the votes are in" in browser.page and "gradcam" in browser.page
    assert "1 or more new people" in browser.page
    assert browser.get("/admin/people") == 200
    with database.owning() as connection:
        pseudonym = connection.execute(text("select pseudonym from participant")).scalar_one()
        number = connection.execute(text("select id from participant")).scalar_one()
    assert pseudonym in browser.page
    assert browser.get("/admin/log") == 200
    assert "vote" in browser.page and pseudonym in browser.page and str(number) not in browser.page
    assert "ann" not in re.sub(r"<[^>]*>", " ", browser.page).split()


def test_what_staff_change_is_changed_and_logged(
    browser: Browser, database: Database, folder: Path
) -> None:
    keys = Keys.read(folder)
    all_rated(database, active(database, keys, "ann"))
    logged_in(browser, database, folder)
    browser.get("/admin")
    assert browser.post("/admin/state", state="paused") == (303, "/admin")
    browser.get("/admin")
    assert "Open the study" in browser.page
    assert browser.post("/admin/state", state="open")[0] == 303
    assert browser.post("/admin/quota", quota="7")[0] == 303
    with database.owning() as connection:
        pseudonym = connection.execute(text("select pseudonym from participant")).scalar_one()
        assert connection.execute(text("select quota from study")).scalar_one() == 7
    assert browser.post("/admin/invalidate", pseudonym=pseudonym, reason="no")[0] == 422
    assert browser.post("/admin/invalidate", pseudonym="nobody", reason="a machine")[0] == 404
    assert browser.post("/admin/invalidate", pseudonym=pseudonym, reason="a machine")[0] == 303
    browser.get("/admin/log")
    for said in ("study became", "quota", "votes taken out", "a machine", "eve"):
        assert said in browser.page


def test_a_preview_takes_no_seat(browser: Browser, database: Database, folder: Path) -> None:
    logged_in(browser, database, folder)
    browser.get("/admin")
    assert browser.post("/admin/preview") == (303, "/s/small")
    assert browser.get("/s/small") in (200, 303)
    with database.owning() as connection:
        assert connection.execute(text("select preview from participant")).scalar_one()
        assert connection.execute(
            text("select count(*) from slot where state <> 'open'")
        ).scalar_one() == 0  # fmt: skip
    browser.get("/admin")
    assert "Nobody yet" in browser.page


def test_forms_of_other_pages_and_sites_are_refused(
    browser: Browser, database: Database, folder: Path
) -> None:
    logged_in(browser, database, folder)
    browser.get("/admin")
    bad = browser.client.post("/admin/state", data={"csrf": "x", "state": "closed"},
                              headers={"Origin": ORIGIN})  # fmt: skip
    assert bad.status_code == 403
    foreign = browser.client.post(
        "/admin/state", data={"csrf": browser.csrf, "state": "closed"},
        headers={"Origin": "https://evil.example"},
    )  # fmt: skip
    assert foreign.status_code == 403
    with database.owning() as connection:
        assert connection.execute(text("select state from study")).scalar_one() == "open"


def test_login_and_logout(browser: Browser, database: Database, folder: Path) -> None:
    secret = logged_in(browser, database, folder)
    browser.get("/admin")
    kept = browser.client.cookies["__Host-theodolite-staff"]
    assert browser.post("/admin/logout") == (303, "/admin/login")
    browser.client.cookies.set("__Host-theodolite-staff", kept, domain="study.example.org")
    assert browser.get("/admin") == 303  # the old session is over on the server too
    browser.client.cookies.clear()
    browser.get("/admin/login")
    wrong = {"name": "eve", "passphrase": PASSPHRASE, "code": "000000"}
    assert browser.post("/admin/login", **wrong)[0] == 422
    assert "do not fit together" in browser.page
    with database.owning() as connection:
        connection.execute(text("update staff set totp_last_step = 0"))
    right = wrong | {"code": pyotp.TOTP(secret).now()}
    answer = browser.client.post("/admin/login", data={"csrf": browser.csrf, **right},
                                 headers={"Origin": ORIGIN})  # fmt: skip
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    for flag in ("__Host-theodolite-staff=", "HttpOnly", "Secure", "SameSite=strict", "Path=/"):
        assert flag.lower() in cookie.lower()
    assert browser.get("/admin") == 200


def test_staff_of_another_study_are_strangers_here(
    browser: Browser, database: Database, folder: Path, tmp_path: Path
) -> None:
    """One database, two studies: neither a session nor a passphrase goes along."""
    secret = logged_in(browser, database, folder)
    kept = browser.client.cookies["__Host-theodolite-staff"]
    there = study_folder(tmp_path / "o", instances=1, slug="other")
    opened(database, there)
    app = create_app(Settings(database.url, there, ORIGIN))
    with TestClient(app, base_url=ORIGIN, follow_redirects=False) as client:
        other = Browser(client)
        client.cookies.set("__Host-theodolite-staff", kept, domain="study.example.org")
        assert other.get("/admin") == 303
        other.get("/admin/login")
        assert other.post("/admin/state", state="closed")[0] == 401
        with database.owning() as connection:
            connection.execute(text("update staff set totp_last_step = 0"))
        given = {"name": "eve", "passphrase": PASSPHRASE, "code": pyotp.TOTP(secret).now()}
        assert other.post("/admin/login", **given)[0] == 422
        assert "do not fit together" in other.page
    app.state.site.database.close()
    assert browser.get("/admin") == 200


def test_many_logins_as_one_account_are_slowed_down(browser: Browser) -> None:
    browser.get("/admin/login")
    found = []
    while 429 not in found and len(found) < 20:
        # as long as it is no passphrase, it costs nothing to look at
        answer = browser.post("/admin/login", name="bob", passphrase="x" * 129, code="1")
        found.append(answer[0])
    assert found == [422] * 10 + [429]
    assert browser.post("/admin/login", name="Bob", passphrase="x" * 129, code="1")[0] == 429
    assert browser.post("/admin/login", name="ann", passphrase="x" * 129, code="1")[0] == 422
