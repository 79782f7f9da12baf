"""Participants' pages in a real browser: by keyboard, by touch, without scripts; what is measured."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.study.people_browser import (
    REQUESTED,
    PeopleStudy,
    Person,
    chromium,
    served,
    somebody,
)

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
COVERED = """() => {
  const one = document.activeElement, place = one.getBoundingClientRect();
  if (one === document.body) return null;
  const x = place.left + place.width / 2, y = place.top + Math.min(place.height / 2, 20);
  const top = document.elementFromPoint(x, y);
  const seen = top !== null && (one.contains(top) || top.contains(one) || top.closest("label") === one.closest("label"));
  return seen ? null : `${one.outerHTML.slice(0, 80)} is under ${top?.outerHTML.slice(0, 80)}`;
}"""


@dataclass
class PeopleWorld:
    """Two studies on one server: one item each, or all kinds of explanations."""

    study: PeopleStudy
    origin: str
    browser: Any
    wire: psycopg.Connection[Any]

    def last(self, query: str) -> Any:
        return self.study.one(f"{query} order by at desc limit 1")


@pytest.fixture(scope="module")
def world(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PeopleWorld]:
    folder = tmp_path_factory.mktemp("people")
    connection = psycopg.connect(module_database_url, autocommit=True)
    study = PeopleStudy(connection, folder, "one", kinds=("map",), quota=1)
    PeopleStudy(connection, folder, "all")
    with served(module_database_url, folder) as origin, chromium() as browser:
        yield PeopleWorld(study, origin, browser, connection)
    connection.close()


def pressed(person: Person, selector: str) -> None:
    """Tab to it; nothing that has the focus lies under something else."""
    page = person.page
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate(COVERED) is None, page.evaluate(COVERED)
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab on {page.url}")


def test_a_whole_walk_by_keyboard(world: PeopleWorld) -> None:
    phone = {"viewport": {"width": 360, "height": 740}}
    with somebody(world.browser, world.origin, **phone) as person:
        page, keys = person.page, person.page.keyboard
        page.goto(f"{world.origin}/s/one")

        def goes_on(selector: str = ".main") -> None:
            pressed(person, selector)
            with page.expect_navigation():
                keys.press("Enter")

        for _ in ("landing", "consent", "code"):
            goes_on()
        pressed(person, "[type=range]")
        assert page.locator(".untouched").count() == 1, "no thumb before"
        keys.press("ArrowRight")
        assert page.locator("[name=sure]").input_value() == "51"
        assert page.locator("#block-why").is_hidden(), "a rule is anticipated"
        for _ in range(10):
            keys.press("ArrowRight")
        assert page.locator("#block-why").is_visible()
        goes_on()
        pressed(person, "[name=words]")
        keys.type("a mane")
        pressed(person, "[data-add=box]")
        keys.press("Enter")
        for key in ("ArrowRight", "Shift+ArrowDown", "Control+ArrowRight"):
            keys.press(key)
        page.wait_for_selector("#saved:has-text('Saved')")
        page.reload()
        assert page.locator("[name=words]").input_value() == "a mane", "the draft came back"
        goes_on()
        own = world.last("select answers from baseline")
        assert own == {
            "words": "a mane",
            "regions": [{"x": 81, "y": 70, "width": 161, "height": 120}],
        }
        for name in ("q1", "q2", "q5", "q6", "better"):
            pressed(person, f"[name={name}]")
            keys.press("Space")
        goes_on()
        for _ in range(5):
            pressed(person, ".pool .place")
            keys.press("Enter")
        keys.press("Enter")  # the first of the last line's buttons is the arrow up
        goes_on()
        assert person.path == "/done"
        assert world.last("select answers from answer") == {"q7": ["i0", "i1", "i2", "i4", "i3"]}
        assert world.last("select client -> 'moves' from answer") == 6
        vote = world.last("select durations || client from vote")
        assert vote["visible"] > 0 and vote["q6"] <= vote["visible"] and vote["width"] == 360
        assert vote["pointer"] in ("fine", "coarse") and vote["pasted"] is False


def test_a_whole_walk_by_touch(world: PeopleWorld) -> None:
    timeout = pytest.importorskip("playwright.sync_api").TimeoutError
    with somebody(world.browser, world.origin, **PHONE) as person:
        page = person.page
        page.goto(f"{world.origin}/s/one")
        wire = page.context.new_cdp_session(page)

        def touch(*points: tuple[float, float]) -> None:
            for number, (x, y) in enumerate(points):
                kind = "touchMove" if number else "touchStart"
                at = {"type": kind, "touchPoints": [{"x": x, "y": y}]}
                wire.send("Input.dispatchTouchEvent", at)
            wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            page.wait_for_timeout(100)  # a click follows when it is sure that no drag does

        def taps(selector: str) -> None:
            page.locator(selector).first.scroll_into_view_if_needed()
            touch(center(page.locator(selector).first))

        def goes_on() -> None:
            try:
                with page.expect_navigation(timeout=10_000):
                    taps("main .main")
            except timeout:  # on a busy machine the end of a drag can take the tap
                with page.expect_navigation():
                    taps("main .main")

        for _ in ("landing", "consent", "code"):
            goes_on()
        taps("[type=range]")
        goes_on()
        page.fill("[name=words]", "a mane")
        assert page.locator(".hint[data-pointer=touch]").is_visible()
        place = page.locator(".stage").bounding_box()
        left, top = place["x"], place["y"]
        touch((left + 40, top + 40))
        touch((left + 120, top + 110))  # two corners
        taps("[data-mode=draw]")
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.stage')).touchAction")
            == "pinch-zoom"
        )
        touch((left + 150, top + 60), (left + 180, top + 90), (left + 230, top + 130))
        assert len(json.loads(page.locator("[name=regions]").input_value())) == 2
        page.wait_for_selector("#saved:has-text('Saved')")
        goes_on()
        look = page.locator("#look .pair")
        assert look.count() == 0
        page.locator("#block-q6").evaluate("one => one.scrollIntoView({block: 'start'})")
        look.wait_for()
        assert "cow" in look.inner_text(), "the twin of the question in view"
        assert page.locator("#look").bounding_box()["height"] <= 0.45 * 740 + 1
        assert page.locator("#block-q6 legend").bounding_box()["y"] > 200, "not under the image"
        taps("[data-enlarge]")
        page.locator("dialog img").first.wait_for()
        taps("dialog button")
        for name in ("q1", "q2", "q5", "q6", "better"):
            taps(f"#block-{name} fieldset label")
        goes_on()
        assert page.locator(".order li").count() == 0, "the list begins empty"
        taps("main .main")
        assert page.locator("#errors a").inner_text().startswith("Which qualities"), "the question"
        for _ in range(5):
            taps(".pool .place")
        (x, first), (_, third) = (center(page.locator(".grip-line").nth(n)) for n in (0, 2))
        touch((x, first), (x, (first + third) / 2), (x, third + 10))
        goes_on()
        assert person.path == "/done"
        assert world.last("select answers from answer") == {"q7": ["i1", "i2", "i0", "i3", "i4"]}
        assert world.last("select client ->> 'pointer' from vote") == "coarse"


def center(found: Any) -> tuple[float, float]:
    box = found.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_whole_walk_without_scripts(world: PeopleWorld) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}
    with somebody(world.browser, world.origin, **phone) as person:
        page = person.page
        person.begins("one")
        person.about()
        for part, value in (("x", 10), ("y", 20), ("width", 30), ("height", 40)):
            page.fill(f"[name=regions_{part}_0]", str(value))
        page.fill("[name=words]", "mane")
        page.fill("[name=regions_x_0]", "900")
        person.main()
        assert page.locator("#errors a").get_attribute("href") == "#block-regions"
        assert page.locator("[name=words]").input_value() == "mane", "what was sent is still there"
        page.fill("[name=regions_x_0]", "10")
        person.main()
        assert page.locator("#block-q6 .pair img").count() == 4, "twins before their question"
        person.rates()
        for number in range(5):
            page.select_option(f"[name='q7.i{number}']", str(5 - number))
        person.main()
        assert person.path == "/done"
    assert world.last("select answers -> 'regions' from baseline") == [
        {"x": 10, "y": 20, "width": 30, "height": 40}
    ]
    assert world.last("select answers -> 'q7' from answer") == ["i4", "i3", "i2", "i1", "i0"]


def test_pasting_is_told_and_pages_are_small(world: PeopleWorld) -> None:
    with somebody(world.browser, world.origin) as person:
        page = person.page
        person.begins("all")
        person.about()
        page.evaluate(
            "document.querySelector('[name=words]').dispatchEvent(new ClipboardEvent('paste', {bubbles: true}))"
        )
        person.says("a mane")
        assert world.last("select client -> 'pasted' from baseline") is True
        assert page.locator("[name=words]").count() == 0
        person.rates()
        page.locator("[name=words]").fill("these words were filled in by a tool")
        REQUESTED.clear()
        person.says("these words were filled in by a tool")
        assert world.last("select client -> 'pasted' from baseline") is True, "a jump in length"
        loaded = [path for method, path in REQUESTED if method == "GET" and path[:3] != "/p/"]
        assert loaded == [person.path], "styles and scripts are there already"
        assert len(page.content().encode()) <= 40_000
        static = Path(__file__).parents[1] / "src/theodolite_study/serve/static"
        assert sum(one.stat().st_size for one in static.iterdir()) <= 61_000


def busy_once() -> Any:
    tries: list[int] = []

    def answer(route: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            route.fulfill(status=503, headers={"retry-after": "1"}, body="{}")
        else:
            route.continue_()

    return answer


def test_before_nothing_of_the_explanation_is_named(world: PeopleWorld) -> None:
    shown = world.study.one("select shown from instance where key = 'map' limit 1")
    files = {part[name] for part in (shown["shown"], shown["same"], shown["different"])
             for name in ("image", "map")}  # fmt: skip
    with somebody(world.browser, world.origin) as person:
        person.begins("one")
        person.page.route("**/stage/about", busy_once())
        person.about()  # a busy server gets the same form again
        answer = person.page.reload()
        told = answer.text() + json.dumps(answer.all_headers())
        named = {file for file in files if file.partition(".")[0] in told}
        assert named == {shown["shown"]["image"]}
        assert not re.search(r"\bcow\b", told)
        person.says()
        after = person.page.content()
        assert all(file in after for file in files)
