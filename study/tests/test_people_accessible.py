"""Everybody can use every page: by rules, in three languages, narrow and wide, light and dark."""

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest

import theodolite_study.serve
from support.study.people_browser import PeopleStudy, Person, chromium, served, somebody

LOOKS = [(1280, "light", True), (1280, "dark", False), (360, "light", False), (360, "dark", False)]
"""Width, colors, whether all rules are checked or only those that colors and widths change."""
FULL = bool(os.environ.get("THEODOLITE_FULL"))
"""All rules in all looks and languages; else each width and each color scheme once."""
CHANGING = ["color-contrast", "target-size"]
PAYLOADS = (
    "<script>alert({n})</script>", '"><img src=x onerror=alert({n})>', "'><svg onload=alert({n})>",
    "</textarea><script>alert({n})</script>", "</title><script>alert({n})</script>",
    "{{{{ {n} * 7 }}}}<!--", "' autofocus onfocus=alert({n}) x='", "<a href=javascript:alert({n})>x</a>",
)  # fmt: skip
NAMED = ("title", "welcome", "instructions", "thanks", "contact", "words.text", "regions.text", "q1.text",
         "q1.low", "q5.high", "q2.point.1", "better.option.same", "q7.item.i0", "job.option.art",
         "outcome.finished")  # fmt: skip
HOSTILE = {key: PAYLOADS[n % len(PAYLOADS)].format(n=1000 + n) for n, key in enumerate(NAMED)}


@pytest.fixture(scope="module")
def world(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Any]]:
    folder = tmp_path_factory.mktemp("people")
    connection = psycopg.connect(module_database_url, autocommit=True)
    PeopleStudy(connection, folder, "all")
    PeopleStudy(connection, folder, "xss", kinds=("map",), quota=1, texts=HOSTILE)
    with served(module_database_url, folder) as origin, chromium() as browser:
        yield origin, browser
    connection.close()


@pytest.fixture(scope="module")
def rules() -> str:
    """The rules of axe."""
    pytest.importorskip("axe_playwright_python")
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def broken(page: Any, *, most: bool) -> list[str]:
    """What is wrong with a page as it is now, in all looks or in the last alone."""
    found = []
    looks = LOOKS if FULL else [LOOKS[0], LOOKS[-1]]
    for width, colors, everything in looks if most else looks[-1:]:
        page.set_viewport_size({"width": width, "height": 740})
        page.emulate_media(color_scheme=colors)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        options["rules"] = {"target-size": {"enabled": True}}
        if not (everything or FULL):
            options = {"runOnly": CHANGING, "resultTypes": ["violations"]}
        said = page.evaluate("options => axe.run(document, options)", options)
        name = f"{page.url} {width} {colors}"
        found += [f"{name}: {one['id']} {one['nodes'][0]['html']}" for one in said["violations"]]
        found += too_wide(page)
    return found


def too_wide(page: Any) -> list[str]:
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [f"{page.url}: {over} pixels too wide"] if over > 0 else []


def walked(person: Person, look: Any) -> None:
    """All pages of the study with all kinds; each is looked at, also with what is missing."""
    page = person.page
    for _ in ("landing", "consent", "code"):
        look()
        person.main()
    page.click("button.main")  # nothing was answered
    look()
    person.about()
    while person.path.startswith("/a/"):
        if page.locator("[data-add]").count():
            page.locator("[data-add]").first.click()
        page.click("button.main")
        look()
        assert page.locator("#look mark, #look .bar").count() == 0, "only what is explained"
        person.says()
        if page.locator(".tokens").count():
            assert page.locator("mark.against sub").first.inner_text() == "−4", "not by color alone"
        elif page.locator("#look td").count() == 9:
            assert page.locator(".weights tr").nth(1).inner_text().split("\t")[-1] == "−0.80"
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        look()
        person.rates()
    page.locator(".pool .place").first.click()
    look()
    page.goto(f"{person.origin}/stop")
    look()
    page.goto(f"{person.origin}/withdraw")
    look()
    page.goto(f"{person.origin}/stage/end")
    person.ranks()
    look()


@pytest.mark.parametrize("language", ["en", "de", "fr"] if FULL else ["en", "de"])
def test_pages_break_no_rule(world: tuple[str, Any], rules: str, language: str) -> None:
    origin, browser = world
    found: list[str] = []
    with somebody(browser, origin) as person:
        page = person.page
        page.goto(f"{origin}/s/all?lang={language}")

        def look() -> None:
            page.evaluate(rules)
            found.extend(broken(page, most=FULL or language == "en"))
            assert page.locator("html").get_attribute("lang") == language

        walked(person, look)
        assert person.path == "/done"
    assert found == [], "\n".join(found)


def test_longer_words_fit_and_lines_from_the_right_mirror(world: tuple[str, Any]) -> None:
    origin, browser = world
    found: list[str] = []
    phone = {"viewport": {"width": 360, "height": 740}}
    with somebody(browser, origin, **phone) as person:
        person.page.goto(f"{origin}/s/all?lang=en-XA")
        walked(person, lambda: found.extend(too_wide(person.page)))
    with somebody(browser, origin, **phone) as person:
        page = person.page
        page.goto(f"{origin}/s/all?lang=ar-XB")
        for _ in ("landing", "consent", "code"):
            person.main()
        assert page.locator("html").get_attribute("dir") == "rtl"
        for locator in ("#block-job .choice input >> nth=0", "h1"):
            box = page.locator(locator).bounding_box()
            assert box["x"] + box["width"] > 330, "lines begin at the right"
        found += too_wide(page)
    assert found == []


def test_hostile_texts_and_answers_are_text(world: tuple[str, Any]) -> None:
    origin, browser = world
    seen: list[str] = []
    with somebody(browser, origin) as person:
        page = person.page
        page.goto(f"{origin}/s/xss?lang=en")

        def look() -> None:
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            seen.append(page.evaluate("document.title + document.body.textContent"))
            assert page.locator("script:not([src]), [onerror], [onload], [onfocus]").count() == 0
            assert page.locator("a[href^=javascript]").count() == 0

        look()
        for _ in ("landing", "consent", "code"):
            person.main()
        look()
        page.fill("[name=job_other]", PAYLOADS[0].format(n=1))
        person.about()
        page.fill("[name=words]", PAYLOADS[3].format(n=2))
        page.wait_for_selector("#saved:has-text('Saved')")
        page.reload()
        assert page.locator("[name=words]").input_value() == PAYLOADS[3].format(n=2)
        look()
        person.says(PAYLOADS[1].format(n=3))
        look()
        person.rates()
        page.click("button.main")  # a list of what is missing
        look()
        person.ranks()
        look()
    everything = "\n".join(seen)
    assert [key for key, text in HOSTILE.items() if text not in everything] == []


def test_no_page_and_no_script_goes_around_escaping() -> None:
    folder = Path(str(theodolite_study.serve.__file__)).parent
    banned = {
        ".j2": ("|safe", "| safe", "Markup", "autoescape false", " style=", " onclick", "http:"),
        ".js": ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                "DOMParser", "srcdoc", "new Function", "http:", "https:"),
    }  # fmt: skip
    sources = [one for one in folder.rglob("*") if one.suffix in banned]
    assert len(sources) > 20
    found = [f"{one.name}: {word}" for one in sources for word in banned[one.suffix]
             if word in one.read_text(encoding="utf-8")]  # fmt: skip
    assert found == []
