"""Pages of participants: made from the database alone, one call a request."""

import hashlib
import html
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from starlette.testclient import TestClient

from support.study.folder_study import SIZE, image
from support.study.stepped_study import CONSENT, INSTRUMENT, SteppedStudy
from theodolite_study.keys import Keys
from theodolite_study.model.markdown import extract_consent
from theodolite_study.serve.app import create_app
from theodolite_study.serve.database_calls import StepCalls
from theodolite_study.serve.images import ImageAddresses
from theodolite_study.serve.settings import Settings

_numbers = count()
ORIGIN = "https://study.example.org"
HEADERS = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}


class Served:
    """A study, its folder of images and a browser without scripts."""

    def __init__(self, url: str, folder: Path, **settings: Any) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.study = SteppedStudy(self.connection, **settings)
        self.files = [image(folder, number) for number in range(3)]
        shown = {
            "shown": {"image": self.files[0], "predicted": "cat", "map": self.files[1]},
            "same": None, "sizes": {file: list(SIZE) for file in self.files},
        }  # fmt: skip
        self.connection.execute("update instance set shown = %s", [Jsonb(shown)])
        Keys.create(folder / "keys.json")
        self.app = create_app(Settings(url, folder, ORIGIN))
        self.browser = TestClient(self.app, base_url=ORIGIN, headers=HEADERS)

    def get(self, address: str) -> Any:
        return self.browser.get(address)

    def post(self, page: Any, address: str, **fields: Any) -> Any:
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        assert "csrf" in hidden, page.text
        hidden = {name: html.unescape(value) for name, value in hidden.items()}
        after = self.browser.post(address, data=hidden | fields)
        return self.get("/go") if after.url.path == "/code" else after

    def begins(self) -> Any:
        page = self.post(self.get("/s/s"), "/s/s/begin")
        assert page.url.path == "/consent"
        return self.post(page, "/consent")

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def served(database_url: str, tmp_path: Path) -> Iterator[Served]:
    place = Served(database_url, tmp_path, instances=2, votes=2, quota=2)
    with place.browser:
        yield place
    place.close()


def test_a_whole_walk_without_scripts(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    step = StepCalls.step

    async def counted(self: StepCalls, name: str, *values: Any, **named: Any) -> dict[str, Any]:
        calls.append(name)
        return await step(self, name, *values, **named)

    monkeypatch.setattr(StepCalls, "step", counted)
    page = served.begins()
    for number in (1, 2):
        assert "First: what do you see?" in page.text
        assert f"{number} of 2" in page.text
        assert served.files[1] not in page.text, "nothing of the explanation"
        item = page.url.path
        calls.clear()
        page = served.get(item)
        page = served.post(page, f"{item}/own", words=" a horn ", regions_nothing="yes")
        assert "Now the explanation" in page.text and served.files[1] in page.text
        for address in re.findall(r'src="(/p/[^"]+)"', page.text):
            assert served.get(address).headers["content-type"] == "image/png"
        csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]  # type: ignore[index]
        kept = served.browser.post(f"{item}/draft", json={"q1": 2}, headers={"x-csrf": csrf})
        assert kept.json()["lost"] is False
        page = served.post(page, f"{item}/ratings", q1="4")
        assert calls[:5] == ["st_item", "st_baseline", "st_item", "st_draft", "st_rate"]
    assert page.url.path == "/done"
    assert "Thank you. You are done." in page.text and "£4.00" in page.text
    own = served.study.one("select answers from baseline limit 1")
    assert own == {"words": "a horn", "regions": []}
    assert served.study.one("select count(*) from vote where counted") == 2
    assert served.study.broken() == []


def test_the_bytes_of_the_consent_are_those_of_the_record(served: Served) -> None:
    page = served.post(served.get("/s/s?lang=de"), "/s/s/begin")
    shown = extract_consent(page.content)
    assert shown == CONSENT
    served.post(page, "/consent")
    recorded = served.study.one("select form_sha256 from consent")
    assert hashlib.sha256(shown).digest() == recorded
    assert served.study.one("select language from consent") == "de"


def test_a_consent_that_was_not_shown_is_not_taken(served: Served) -> None:
    page = served.post(served.get("/s/s"), "/s/s/begin")
    for digest in ("00" * 32, "zz", ""):
        assert served.post(page, "/consent", digest=digest).status_code == 409
    assert served.study.one("select count(*) from consent") == 0


def test_declining_keeps_what_the_page_says(served: Served) -> None:
    page = served.post(served.get("/s/s"), "/s/s/begin")
    said = served.post(page, "/decline")
    assert "One fingerprint" in said.text
    assert served.study.one("select count(*) from participant") == 0
    assert served.study.one("select count(*) from declined") == 1
    assert served.get("/next").status_code == 401


def test_an_untouched_ranking_cannot_be_sent(database_url: str, tmp_path: Path) -> None:
    end = [{"blocks": [{"name": "q7", "kind": "ranking", "items": ["i0", "i1", "i2"]}]}]
    asked = INSTRUMENT | {"end": end}
    place = Served(database_url, tmp_path, instances=1, votes=2, quota=1, instrument=asked)
    with place.browser:
        page = place.begins()
        item = page.url.path
        page = place.post(page, f"{item}/own", words="x", regions_nothing="yes")
        page = place.post(page, f"{item}/ratings", q1="1")
        assert page.url.path == "/stage/end"
        assert page.text.count(" selected>") == 0, "the list begins empty"
        assert place.post(page, "/stage/end").status_code == 422
        twice = {"q7.i0": "1", "q7.i1": "1", "q7.i2": "2"}
        assert place.post(page, "/stage/end", **twice).status_code == 422
        page = place.post(page, "/stage/end", **{"q7.i0": "2", "q7.i1": "3", "q7.i2": "1"})
        assert page.url.path == "/done"
        assert place.study.one("select answers from answer") == {"q7": ["i2", "i0", "i1"]}
    place.close()


def test_images_are_for_one_session_and_for_a_while(served: Served) -> None:
    page = served.begins()
    (address,) = re.findall(r'src="(/p/[^"]+)"', page.text)
    assert served.get(address).status_code == 200
    other = address.replace(served.files[0], served.files[1])
    assert served.get(other).status_code == 404, "the name is signed"
    served.browser.cookies.set("__Host-theodolite", "x" * 43, domain="study.example.org", path="/")
    served.browser.cookies = {"__Host-theodolite": "x" * 43}  # type: ignore[assignment]
    assert served.get(address).status_code == 404, "the session is signed"
    addresses = ImageAddresses(b"k" * 32)
    for moment in (0.0, 4e9):
        _, _, expiry, mac, name = addresses.address("a.png", b"s", now=moment).split("/")
        assert not addresses.good(expiry, mac, name, b"s")


def test_stopping_says_what_is_paid(served: Served) -> None:
    page = served.begins()
    item = page.url.path
    page = served.post(page, f"{item}/own", words="x", regions_nothing="yes")
    served.post(page, f"{item}/ratings", q1="1")
    page = served.get("/stop")
    assert "£2.00" in page.text
    page = served.post(page, "/stop")
    assert page.url.path == "/done" and "£2.00" in page.text
    assert served.study.one("select outcome from payout") == "stopped"


def test_forms_of_other_pages_are_refused(served: Served) -> None:
    item = served.begins().url.path
    sent = {"words": "x", "regions_nothing": "yes", "csrf": "made up"}
    assert served.browser.post(f"{item}/own", data=sent).status_code == 403
    foreign = {"sec-fetch-site": "cross-site"}
    assert served.browser.post(f"{item}/own", data=sent, headers=foreign).status_code == 403
    assert served.browser.get("/s/s", headers={"host": "evil.example"}).status_code == 400
    assert served.study.one("select count(*) from baseline") == 0


def test_without_the_database_people_are_asked_to_come_back(served: Served) -> None:
    served.begins()
    ends = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
    served.connection.execute(f"{ends} and datname = current_database()")
    statuses = [served.get("/next").status_code for _ in range(6)]
    assert set(statuses) <= {200, 503} and statuses[-1] == 200


def test_practice_gives_feedback(database_url: str, tmp_path: Path) -> None:
    rule = {"training": {"attempts": 1, "pass_mark": 0.5}}
    place = Served(database_url, tmp_path, instances=1, votes=1, quota=1, training=1, settings=rule)
    with place.browser:
        page = place.begins()
        assert "Practice item" in page.text
        page = place.post(page, "/practice/1/own", words="x", regions_nothing="yes")
        page = place.post(page, "/practice/1/ratings", q1="5")
        assert "Right." in page.text
        page = place.post(page, "/practice/end")
        assert page.url.path.startswith("/a/")
    place.close()
