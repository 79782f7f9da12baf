"""What holds for every request: headers, where it comes from, how much, how often, how slowly."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from support.study.served_studies import HEADERS, ORIGIN, ServedStudies, served_studies
from support.study.stepped_study import template_database
from theodolite.errors import EvidenceError
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.serve.arrival_limits import get_network
from theodolite_study.serve.run import serve
from theodolite_study.serve.settings import Limits, Settings

FORM = {"content-type": "application/x-www-form-urlencoded"}
LIMITS = Limits(
    body_seconds=0.5, readers=3, in_flight=4, posts_rate=0.001, posts_burst=40, looks_rate=0.001,
    looks_burst=60, newcomers_rate=0.001, newcomers_burst=5, landings_rate=0.001,
    landings_burst=30, codes_rate=0.001, codes_burst=3,
)  # fmt: skip
ALWAYS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self' https://app.prolific.com https://www.mturk.com "
        "https://workersandbox.mturk.com; base-uri 'none'; object-src 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=31536000",
    "x-frame-options": "DENY",
}


@pytest.fixture(scope="module")
def place(
    cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedStudies]:
    create_database(cluster, "limits", template_database(cluster))
    folder = tmp_path_factory.mktemp("limits")
    with served_studies(cluster.database("limits"), folder, limits=LIMITS) as made:
        made.study("small", instances=9, votes=9)
        yield made


def sent(place: ServedStudies, address: str, method: str = "POST", **more: Any) -> Any:
    place.client.cookies.clear()
    return place.client.request(method, address, follow_redirects=False, **more)


def test_headers_of_all_answers_faults_among_them(
    place: ServedStudies, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.run("truncate bucket")
    ann = place.browser()
    ann.begins("small")

    async def broken(*values: Any, **named: Any) -> None:
        raise RuntimeError("what somebody wrote")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(type(place.app.state.site), "version", broken)
        fault = ann.get("/consent")
    assert fault.status_code == 500 and "what somebody wrote" not in fault.text
    number = caplog.text.split("fault ")[1].split()[0]
    assert number in fault.text
    head = [sent(place, path, "HEAD") for path in ("/s/small", "/healthz", "/next", "/go")]
    assert [answer.status_code for answer in head] == [200, 200, 405, 405], "no step by a look"
    answers = [
        fault, *head, sent(place, "/nothing", "GET"), sent(place, "/next", "DELETE"),
        sent(place, "/a/x", "GET"), sent(place, f"/a/{2**70}", "GET"),
        sent(place, "/practice/99999999999", "GET"), sent(place, "/static/../app.py", "GET"),
        sent(place, "/", "GET", headers={"host": "evil.test"}), sent(place, "/readyz", "GET"),
        sent(place, "/static/pages.css", "GET"), sent(place, "/go", "GET"),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers[5:]] == [
        404, 405, 404, 404, 404, 404, 400, 200, 200, 401,
    ]  # fmt: skip
    for answer in answers:
        assert ALWAYS.items() <= dict(answer.headers).items(), answer.url
        assert "camera=()" in answer.headers["permissions-policy"]
        kept = "public" if "pages.css" in str(answer.url) else "no-store"
        assert answer.headers["cache-control"].startswith(kept)


def test_forms_of_others_are_refused_everywhere(place: ServedStudies) -> None:
    place.run("truncate bucket")
    ann, bob = place.browser(), place.browser()
    ann.agrees("small")
    bob.begins("small")
    item = ann.page.url.path
    before = place.one("select (select count(*) from baseline), (select count(*) from consent)")
    posts = [
        route.path.replace("{item:long}", item.split("/")[-1]).replace("{slug}", "small")
        .replace("{number:short}", "1").replace("{stage}", "end")
        for route in place.app.routes if "POST" in getattr(route, "methods", ())
        and "webhook" not in route.path and "preview" not in route.path
    ]  # fmt: skip
    assert len(posts) >= 13
    foreign: list[dict[str, str]] = [
        {"origin": "https://evil.test", "sec-fetch-site": "same-origin"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"origin": "null"}, {"sec-fetch-site": "same-site"},
    ]  # fmt: skip
    fields = {"csrf": place.keys.make_form_token(b"x" * 32), "words": "x", "q1": "3"}
    for number, path in enumerate(posts):
        own = {"cookie": "; ".join(f"{n}={v}" for n, v in ann.cookies.items()) + str(number)}
        bad = {k: v for k, v in HEADERS.items() if k not in ("origin", "sec-fetch-site")}
        for headers in foreign:
            place.client.headers = httpx.Headers(bad)
            assert sent(place, path, data=fields, headers=headers).status_code == 403, path
        place.client.headers = httpx.Headers(HEADERS)
        json_ = path.endswith(("draft", "alive"))
        more = {"json": {}, "headers": own | {"x-csrf": "no"}} if json_ else {
            "data": fields, "headers": own}  # fmt: skip
        assert sent(place, path, **more).status_code == 403, path
    after = place.one("select (select count(*) from baseline), (select count(*) from consent)")
    assert after == before
    assert bob.get(item).status_code == 404, "somebody else's item"


def test_too_much_and_what_does_not_fit(place: ServedStudies) -> None:
    place.run("truncate bucket")
    ann = place.browser()
    ann.agrees("small")
    item = ann.page.url.path

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"a" * (1 << 16)

    assert sent(place, f"{item}/own", content=pieces(), headers=FORM).status_code == 413
    for said in ("-1", "9" * 400, "x", str(1 << 21)):
        answer = sent(place, f"{item}/own", content=b"", headers=FORM | {"content-length": said})
        assert answer.status_code == 413
    form = ann.page
    for words in ("\ufffe" * 3000, ""):
        ann.page = form
        ann.post(f"{item}/own", words=words, regions_nothing="yes")
        assert ann.page.status_code == 422, words[:5]
    ann.page = form
    assert ann.post(f"{item}/own", **{f"f{n}": "1" for n in range(400)}).status_code == 422
    csrf = {"x-csrf": form.text.split('name="csrf" value="')[1].split('"')[0]}
    as_json = csrf | {"content-type": "application/json"}
    for content in (b"[" * 9000, b"{", b"[]", b'{"words":"\\u0000"}', b'{"w":"\\ud800"}', b"\xff"):
        got = ann._ask("POST", f"{item}/draft", content=content, headers=as_json)
        assert got.status_code == 422, content[:9]
    assert ann._ask("POST", f"{item}/draft", data={"a": "1"}, headers=csrf).status_code == 415
    assert ann._ask("POST", f"{item}/own", json={}, headers=csrf).status_code == 415


def test_who_sends_slowly_is_not_waited_for(place: ServedStudies) -> None:
    async def slowly() -> AsyncIterator[bytes]:
        yield b"text="
        await asyncio.sleep(30)
        yield b"late"

    async def crowd() -> tuple[list[int], float]:
        transport = httpx.ASGITransport(place.app)
        headers = HEADERS | FORM
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as one:
            began = time.monotonic()
            sending = [one.post("/decline", content=slowly()) for _ in range(5)]
            answers = await asyncio.gather(*sending)
            return sorted(a.status_code for a in answers), time.monotonic() - began

    statuses, seconds = asyncio.run(crowd())
    assert statuses == [408] * 3 + [503] * 2 and seconds < 10


def test_one_session_is_not_too_quick(place: ServedStudies) -> None:
    place.run("truncate bucket")
    ann, bob = place.browser(), place.browser()
    ann.begins("small")
    bob.begins("small")
    looks = [ann.get("/consent").status_code for _ in range(LIMITS.looks_burst + 3)]
    assert looks[0] == 200 and looks[-2:] == [429, 429]
    assert int(ann.page.headers["retry-after"]) > 100
    assert bob.get("/consent").status_code == 200
    posts = [ann._ask("POST", "/consent", data={}).status_code for _ in range(43)]
    assert posts[0] == 415 and posts[-1] == 429


def test_newcomers_of_one_network_and_of_all(place: ServedStudies) -> None:
    """Limits that all processes share; when many come, they wait and are not refused."""
    place.run("truncate bucket")

    def comes(address: str) -> Any:
        ann = place.browser()
        place.client.headers["x-forwarded-for"] = f"6.6.6.6, {address}"
        try:
            return ann.begins("small")
        finally:
            del place.client.headers["x-forwarded-for"]

    assert [comes("10.0.0.1").status_code for _ in range(5)] == [200] * 5
    refused = comes("10.0.0.77")
    assert refused.status_code == 429 and refused.headers["retry-after"]
    assert comes("10.0.1.1").status_code == 200, "another network"
    before = place.one("select count(*) from participant")
    place.run("update bucket set tokens = 0 where key = 'newcomers'")
    waiting = comes("10.0.2.1")
    assert waiting.status_code == 503 and "You are not refused" in waiting.text
    assert waiting.headers["retry-after"] == "5" and "url=/s/small" in waiting.headers["refresh"]
    assert place.one("select count(*) from participant") == before
    assert place.one("select bool_and(octet_length(key) = 32 or key = 'newcomers') from bucket")
    place.run("truncate bucket")
    codes = []
    for _ in range(4):
        ann = place.browser()
        ann.get("/withdraw")
        codes.append(ann.post("/withdraw", code="0000").status_code)
    assert codes == [404, 404, 404, 429]


@pytest.mark.parametrize(
    ("seen", "forwarded", "proxy", "place_"),
    [
        ("10.1.2.3", "8.8.8.8", False, "10.1.2.0/24"), ("10.1.2.3", "8.8.8.8", True, "8.8.8.0/24"),
        ("10.1.2.3", "1.1.1.1, 2001:db8:5:6::7", True, "2001:db8:5::/48"),
        ("::ffff:10.1.2.3", "", False, "10.1.2.0/24"), ("10.1.2.3", "nonsense", True, "unknown"),
    ],
)  # fmt: skip
def test_only_our_proxy_says_where_somebody_comes_from(
    seen: str, forwarded: str, proxy: bool, place_: str
) -> None:
    from starlette.requests import Request  # noqa: PLC0415

    scope = {
        "type": "http",
        "client": (seen, 1),
        "headers": [(b"x-forwarded-for", forwarded.encode())],
    }
    assert get_network(Request(scope), behind_proxy=proxy) == place_


def test_nothing_listens_off_this_machine_without_a_proxy(place: ServedStudies) -> None:
    settings: Settings = place.app.state.site.settings
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):  # noqa: S104
        with pytest.raises(EvidenceError, match="behind-proxy"):
            serve(settings, host=host, port=1)


def test_keys_are_for_one_purpose_each(place: ServedStudies) -> None:
    labels = ("csrf", "images", "previews", "networks")
    made = {place.keys.derive_key(label) for label in labels}
    assert len(made) == len(labels) and place.keys.forms not in made
    assert all(len(key) == 32 for key in made)
