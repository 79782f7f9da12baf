"""The pages in a real browser: every way of answering leads through the whole study."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from support.study.study_browser import Person, World, small_world, somebody
from theodolite_study import tables
from theodolite_study.database import Database


@pytest.fixture(scope="module")
def world(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with small_world(one_database, tmp_path_factory.mktemp("pages") / "s") as made:
        yield made


def tab_to(person: Person, selector: str) -> None:
    """Press Tab until something has the focus. Nothing on the way may keep it."""
    for _ in range(60):
        person.page.keyboard.press("Tab")
        if person.page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    pytest.fail(f"{selector} cannot be reached with Tab on {person.page.url}")


def go_on(person: Person) -> None:
    tab_to(person, "main .main")
    with person.page.expect_navigation():
        person.page.keyboard.press("Enter")


def item_by_keys(person: Person) -> None:
    keys = person.page.keyboard
    tab_to(person, "#text")
    keys.type("its ears")
    tab_to(person, "#add-frame")
    keys.press("Enter")
    for key in ("ArrowRight", "Shift+ArrowDown", "Control+ArrowLeft", "Alt+Shift+ArrowUp"):
        keys.press(key)
    go_on(person)
    for group in person.page.locator(".rating").all():
        tab_to(person, f"#{group.get_attribute('id')} input")
        keys.press("2")
    go_on(person)


def order_at_first(person: Any) -> list[int]:
    """Items of question 7 as they stand: another order for each person."""
    fields = person.page.locator("#q7 select").all()
    return [int((one.get_attribute("name") or "").split("_")[1]) for one in fields]


def test_the_whole_study_by_keyboard_alone(world: World) -> None:
    with somebody(world, None) as person:
        for _ in ("landing", "consent", "code", "about you", "practice"):
            go_on(person)
        item_by_keys(person)
        assert person.page.locator("h1").inner_text() == "That was right."
        go_on(person)
        go_on(person)
        item_by_keys(person)
        item_by_keys(person)
        assert person.path == "/post"
        first = order_at_first(person)
        tab_to(person, '#q7 li:nth-child(2) [data-move="-1"]')
        person.page.keyboard.press("Enter")
        person.page.keyboard.press("ArrowDown")
        person.page.keyboard.press("ArrowDown")
        go_on(person)
        assert person.path == "/finish"
    # centre and half of 320 x 240, then: 1 right, 10 down, 1 narrower, 10 lower
    assert world.rows(tables.baseline)[-1].boxes == [
        {"x": 81.0, "y": 70.0, "width": 159.0, "height": 110.0}
    ]
    assert world.rows(tables.post_study)[-1].answers["q7"] == [first[i] for i in (0, 2, 1, 3, 4)]
    assert len(world.rows(tables.vote)) == 2


def test_half_an_answer_is_kept_and_comes_back(world: World) -> None:
    with somebody(world, "picture") as person:
        page = person.page
        page.fill("#text", "half a thought")
        page.click("#add-frame")
        page.get_by_text("Saved", exact=True).wait_for()
        page.reload()
        assert page.locator("#text").input_value() == "half a thought"
        assert page.locator(".frame:not(.sketch)").count() == 1
        person.main()
        page.locator("#q3 label").nth(3).click()
        page.get_by_text("Saved", exact=True).wait_for()
        page.reload()
        assert page.locator("#q3-4").is_checked()


def test_what_is_missing_is_said_with_a_way_to_it(world: World) -> None:
    with somebody(world, "practice") as person:
        page = person.page
        page.click("button.main")
        page.get_by_role("link", name="Say it in your own words").click()
        assert page.evaluate("document.activeElement.id") == "text"
        person.say()
        page.locator("#q1 label").first.click()
        page.click("button.main")
        links = page.locator("#errors a")
        assert links.first.inner_text() == "Question 2 has no answer yet"
        links.first.press("Enter")
        assert page.evaluate("document.activeElement.name") == "q2"


def test_old_tabs_reloads_and_the_back_button_do_no_harm(world: World) -> None:
    with somebody(world, "picture") as person:
        page, address = person.page, person.page.url
        other = page.context.new_page()
        other.goto(address)
        person.say("first")
        other.fill("#text", "second")
        other.click("button.main")
        with other.expect_navigation():
            other.click("button.main")
        assert "stays as it was" in other.locator("main").inner_text()
        with other.expect_navigation():
            other.get_by_role("link", name="Go on with the study").click()
        assert other.url == address
        page.bring_to_front()  # nothing is drawn in a tab behind
        page.reload()
        person.rate()
        other.bring_to_front()
        other.locator(".rating").first.wait_for()
        Person(other, "").rate({"q1": 5})
        assert "stay" in other.locator("main").inner_text()
        page.bring_to_front()
        second = page.url
        page.go_back()
        assert page.url == second
        page.reload()
        person.say()
        person.rate()
        assert person.path == "/post"
    with world.database.owning() as connection:
        twice = "select count(*) from vote group by participant_id, instance_id having count(*) > 1"
        assert connection.execute(text(twice)).all() == []


def test_a_lost_connection_and_a_busy_server_are_tried_again(world: World) -> None:
    before = len(world.rows(tables.vote))
    with somebody(world, "picture") as person:
        person.say()
        seen: list[str] = []

        def trouble(route: Any) -> None:
            seen.append(f"{route.request.resource_type} {route.request.post_data}")
            if len(seen) == 1:
                route.abort()
            elif len(seen) == 2:
                route.fulfill(status=503, headers={"Retry-After": "1"})
            else:
                route.continue_()

        person.page.route("**/ratings", trouble)
        person.rate()
        assert len(seen) == 3
        assert len(set(seen)) == 1
    assert len(world.rows(tables.vote)) == before + 1


def test_somebody_who_was_away_is_warned_and_keeps_the_picture(world: World) -> None:
    with somebody(world, "picture") as person:
        page = person.page
        page.clock.install()
        page.reload()
        page.route("**/heartbeat", lambda route: route.abort())
        page.clock.fast_forward("26:30")
        page.get_by_text("kept for you for").wait_for()
        page.unroute("**/heartbeat")
        page.get_by_role("button", name="I am still here").click()
        page.locator("#lease").wait_for(state="hidden")


def test_who_lost_a_picture_is_told(world: World) -> None:
    with somebody(world, "picture") as person:
        page = person.page
        page.clock.install()
        page.reload()
        page.route("**/heartbeat", lambda route: route.fulfill(
            json={"lease_seconds": 0, "lost": True}))  # fmt: skip
        page.clock.fast_forward("01:30")
        page.get_by_text("went to somebody else; your answers are still stored").wait_for()
        assert page.get_by_role("button", name="I am still here").count() == 0
        page.fill("#text", "its ears")
        page.clock.fast_forward("00:05")
        page.get_by_text("Saved", exact=True).wait_for()
        assert page.locator("#lease").is_visible()  # a draft that is kept is no seat


def test_without_scripts_everything_but_drawing_works(world: World) -> None:
    with somebody(world, None, java_script_enabled=False) as person:
        page = person.page
        for _ in ("landing", "consent", "code", "about you", "practice"):
            person.main()
        for _ in range(3):
            page.fill("#text", "its ears")
            for name, value in (("x", 10), ("y", 20), ("width", 30), ("height", 40)):
                page.fill(f"[name=box_{name}_0]", str(value))
            person.main()
            person.rate()
            if "/feedback" in page.url:
                person.main()
                person.main()
        first = order_at_first(person)
        page.select_option(f"[name=q7_{first[0]}]", "2")
        person.main()
        assert "each place once" in page.locator("#errors").inner_text()
        page.select_option(f"[name=q7_{first[1]}]", "1")
        person.main()
        assert page.url.endswith("/finish")
    assert world.rows(tables.baseline)[-1].boxes == [
        {"x": 10.0, "y": 20.0, "width": 30.0, "height": 40.0}
    ]
    assert world.rows(tables.post_study)[-1].answers["q7"][:2] == [first[1], first[0]]
