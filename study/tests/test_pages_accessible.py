"""Everybody can use every page: checked by rules, in light and dark, on a telephone and a screen."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from support.study.study_browser import Person, World, small_world, somebody
from theodolite_study.database import Database

LOOKS = [(1280, "light", True), (1280, "dark", False), (360, "light", False), (360, "dark", True)]
"""Width, colours, whether all rules are checked or only those that colours and widths change."""
CHANGING = ["color-contrast", "target-size"]
COVERED = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const place = one.getBoundingClientRect();
  const x = place.left + place.width / 2, y = place.top + Math.min(place.height / 2, 20);
  const top = document.elementFromPoint(x, y);
  const seen = top !== null && (one.contains(top) || top.contains(one) || top.closest("label") === one.closest("label"));
  return seen ? null : `${one.outerHTML.slice(0, 80)} is under ${top?.outerHTML.slice(0, 80)}`;
}"""


@pytest.fixture(scope="module")
def world(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with small_world(one_database, tmp_path_factory.mktemp("pages") / "s") as made:
        yield made


@pytest.fixture(scope="module")
def rules() -> str:
    """The rules of axe."""
    pytest.importorskip("axe_playwright_python")
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def broken(page: Any, rules: str) -> list[str]:
    """What is wrong with a page as it is now, in all looks."""
    found = []
    if not page.evaluate("'axe' in window"):
        page.evaluate(rules)
    for width, colours, everything in LOOKS:
        page.set_viewport_size({"width": width, "height": 740})
        page.emulate_media(color_scheme=colours)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        options["rules"] = {"target-size": {"enabled": True}}
        if not everything:
            options = {"runOnly": CHANGING, "resultTypes": ["violations"]}
        said = page.evaluate("options => axe.run(document, options)", options)
        name = f"{page.url} {width} {colours}"
        found += [f"{name}: {one['id']} {one['nodes'][0]['html']}" for one in said["violations"]]
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [f"{name}: {over} pixels too wide"] if over > 0 else []
    return found


def item(person: Person, rules: str) -> list[str]:
    """Both stages of an item, each also with everything open and with what is missing."""
    page = person.page
    page.click("#add-frame")
    page.click("button.main")
    found = broken(page, rules)
    page.fill("#text", "its ears")
    person.main()
    page.click("button.main")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    return found + broken(page, rules)


def test_rules_find_what_is_wrong(world: World, rules: str) -> None:
    with somebody(world, None) as person:
        person.page.evaluate("document.querySelector('main').append(new Image())")
        assert any("image-alt" in one for one in broken(person.page, rules))


def test_pages_up_to_the_study_break_no_rule(world: World, rules: str) -> None:
    with somebody(world, None) as person:
        page, found = person.page, []
        for _ in ("landing", "consent", "code", "about you", "practice"):
            found += broken(page, rules)
            person.main()
        person.say()
        person.rate({"q3": 1})
        assert page.locator("h1").inner_text() == "That was not quite it."
        for _ in ("feedback", "practice once more"):
            found += broken(page, rules)
            person.main()
        assert found == [], "\n".join(found)


def test_pages_of_the_study_break_no_rule(world: World, rules: str) -> None:
    with somebody(world, "picture") as person:
        page, found = person.page, []
        for _ in ("a map", "concepts"):
            found += item(person, rules)
            person.rate()
        assert person.path == "/post"
        for _ in ("rankings", "finish"):
            found += broken(page, rules)
            if person.path == "/post":
                person.main()
        assert found == [], "\n".join(found)


def test_ways_out_break_no_rule(world: World, rules: str) -> None:
    with somebody(world, "consent") as person:
        page, found = person.page, []
        for address in ("/withdraw", "/nowhere"):
            page.goto(world.origin + address)
            found += broken(page, rules)
        page.goto(f"{world.origin}/withdraw")
        person.main()
        found += broken(page, rules)
        page.goto(f"{world.origin}/withdraw")
        page.fill("#code-field", "wrong")
        person.main()
        assert page.locator("#errors a").count() == 1
        assert found + broken(page, rules) == [], "\n".join(found)


def test_nothing_lies_over_what_has_the_focus(world: World) -> None:
    phone = {"viewport": {"width": 360, "height": 740}}
    with somebody(world, "practice", **phone) as person:
        page, covered = person.page, []
        for way in ("Tab", "Shift+Tab"):
            for _ in range(14):
                page.keyboard.press(way)
                covered.append(page.evaluate(COVERED))
        person.say()
        for way in ("Tab", "Shift+Tab"):
            for _ in range(18):
                page.keyboard.press(way)
                covered.append(page.evaluate(COVERED))
        covered = [one for one in covered if one]
        assert covered == [], covered
