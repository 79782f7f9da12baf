"""Every route of the participants' server: headers, forms of others, other people's items, hostile words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from starlette.routing import Route

from support.study.served_studies import ORIGIN, PersonBrowser, ServedStudies
from theodolite_study.serve.security import HEADERS, HEALTH_ROUTES, WEBHOOK_ROUTES

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"


@pytest.fixture(scope="module")
def place(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedStudies]:
    made = ServedStudies(module_database_url, Path(tmp_path_factory.mktemp("served")))
    with made.client:
        yield made
    made.connection.close()


def routes(place: ServedStudies) -> list[tuple[str, str]]:
    """Method and address of every route, for somebody who knows an item's number."""
    asked = []
    for route in place.app.routes:
        assert isinstance(route, Route)
        address = re.sub(r"\{item:int\}|\{number:int\}", "1", route.path)
        address = address.replace("{slug}", "safe").replace("{stage}", "about")
        address = re.sub(r"\{\w+\}", "x", address)
        asked += [(method, address) for method in route.methods or ()]
    return sorted(asked)


def test_every_answer_has_the_headers(place: ServedStudies) -> None:
    place.study("safe")
    somebody = place.browser()
    somebody.agrees("safe")
    stranger = place.browser()
    assert len(routes(place)) > 30
    for browser in (stranger, somebody):
        for method, address in routes(place):
            answer = browser._ask(method, address, follow_redirects=False)
            for name, value in HEADERS.items():
                assert answer.headers[name] == value, (method, address, name)
            assert answer.headers["strict-transport-security"]
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers
            if answer.content and method != "HEAD":
                assert "charset" in answer.headers["content-type"], (method, address)
            for cookie in answer.headers.get_list("set-cookie"):
                assert cookie.startswith("__Host-") and "HttpOnly" in cookie and "Secure" in cookie
                assert "samesite=lax" in cookie.lower() and "domain" not in cookie.lower()


def test_forms_of_others_are_refused_everywhere(place: ServedStudies) -> None:
    study = place.study("forms")
    somebody = place.browser()
    somebody.agrees("forms")
    before = place.one("select count(*) from log where study_id = %s", study.study)
    for method, address in routes(place):
        if method != "POST" or address in (*HEALTH_ROUTES, *WEBHOOK_ROUTES):
            continue
        for headers in ({"origin": "https://evil.example", "sec-fetch-site": "cross-site"}, {}):
            data = {"csrf": "made up", "words": "x", "q1": "3"}
            answer = somebody._ask("POST", address, data=data, headers=headers)
            assert answer.status_code in (400, 401, 403, 404, 409, 415), (address, answer.text)
    assert place.one("select count(*) from log where study_id = %s", study.study) == before
    assert somebody.get("/s/forms", headers={"host": "evil.example"}).status_code == 400


def test_what_is_somebody_elses_is_not_here(place: ServedStudies) -> None:
    place.study("own")
    ann, bob = place.browser(), place.browser()
    item = ann.agrees("own").url.path
    bob.agrees("own")
    for address in (item, item.replace("/a/", "/a/9")):
        assert bob.get(address).status_code == 404
        for step in ("own", "ratings", "release"):
            bob.get("/stop")
            fields = {"words": "x", "q1": "3", "regions_nothing": "yes"}
            assert bob.post(f"{address}/{step}", **fields).status_code == 404, step
        csrf = re.search(r'name="csrf" value="([^"]+)"', bob.get("/stop").text)
        assert csrf is not None
        headers, number = {"x-csrf": csrf[1]}, int(address.split("/")[-1])
        for path, sent in ((f"{address}/draft", {"q1": 2}), ("/alive", {"item": number})):
            answer = bob._ask("POST", path, json=sent, headers=headers)
            assert answer.status_code == 404, (path, answer.text)
    assert ann.get(item).status_code == 200


def said_raw(browser: PersonBrowser) -> str:
    """The page, of which nothing hostile is alive."""
    text = str(browser.page.text)
    assert (
        "<script>alert" not in text
        and "<img src=x" not in text
        and "onerror=alert(2)>" not in (text.replace("&gt;", ""))
    )
    assert "49" not in re.findall(r"&gt;(\d+)", text)
    return text


def test_hostile_words_stay_words(place: ServedStudies) -> None:
    """In the researcher's texts, in labels and in what people write."""
    study = place.study("hostile", instances=1, votes=1, quota=1)
    place.run("alter table wording disable trigger wording_frozen")
    place.run("update wording set body = %s where version_id = %s", HOSTILE, study.version)
    place.run("alter table wording enable trigger wording_frozen")
    shown: Any = place.one("select shown from instance where study_id = %s", study.study)
    shown["shown"]["predicted"] = HOSTILE
    shown["task"] = {"instruction": HOSTILE}
    place.run("update instance set shown = %s where study_id = %s", Jsonb(shown), study.study)
    browser = place.browser()
    browser.get("/s/hostile")
    assert "&lt;script&gt;" in said_raw(browser)
    browser.post("/s/hostile/begin")
    said_raw(browser)
    browser.post("/consent")
    assert "&lt;script&gt;" in said_raw(browser)
    item = browser.page.url.path
    browser.post(f"{item}/own", words=HOSTILE, regions_nothing="yes")
    assert place.one("select b.answers ->> 'words' from baseline b join assignment a on a.id ="
                     " b.assignment_id where a.version_id = %s", study.version) == HOSTILE  # fmt: skip
    assert "&lt;script&gt;" in said_raw(browser)
    browser.post(f"{item}/ratings", q1="3")
    assert browser.page.url.path == "/done"
    said_raw(browser)
    browser.get(f"/s/hostile?lang={HOSTILE}")
    said_raw(browser)
    answer = browser.get(f"/s/{HOSTILE}")
    assert answer.status_code == 404
    said_raw(browser)
    assert ORIGIN.startswith("https://")


def test_no_page_has_a_script_or_a_style_of_its_own(place: ServedStudies) -> None:
    place.study("plain")
    browser = place.browser()
    for page in (browser.get("/s/plain"), browser.agrees("plain"), browser.get("/stop")):
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page.text)
