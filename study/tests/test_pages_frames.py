"""Frames on the picture: by mouse, without dragging, by finger, in windows of all shapes."""

import json
from collections.abc import Iterator

import pytest

from support.study.study_browser import World, small_world, somebody
from theodolite_study import tables
from theodolite_study.database import Database

NARROW = {"width": 360, "height": 740}
PLACES = """() => {
  const picture = document.querySelector(".picture"), place = picture.getBoundingClientRect();
  const scale = Math.min(place.width / 320, place.height / 240);
  const [across, down] = getComputedStyle(picture).objectPosition.split(" ").map(parseFloat);
  const left = place.left + (place.width - 320 * scale) * across / 100;
  const top = place.top + (place.height - 240 * scale) * down / 100;
  const layer = document.querySelector(".frames, .own .over").getBoundingClientRect();
  return [[left, top, scale], [layer.left, layer.top, layer.width, layer.height]];
}"""


@pytest.fixture(scope="module")
def world(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with small_world(one_database, tmp_path_factory.mktemp("pages") / "s") as made:
        yield made


def test_an_item_by_clicks_without_dragging(world: World) -> None:
    with somebody(world, "picture") as person:
        page = person.page
        place = page.locator(".frames").bounding_box()
        for right, down in ((0.25, 0.25), (0.75, 0.5)):
            page.mouse.click(
                place["x"] + right * place["width"], place["y"] + down * place["height"]
            )
        page.get_by_label("Left of frame 1").fill("20")
        page.click("#add-frame")
        page.get_by_label("Remove frame 2").click()
        page.fill("#text", "its ears")
        person.main()
        assert page.locator(".own rect.over").count() == 1
        person.rate()
    box = world.rows(tables.baseline)[-1].boxes[0]
    assert box == pytest.approx({"x": 20, "y": 60, "width": 160, "height": 60}, abs=1)


def test_a_frame_is_dragged_moved_and_taken_by_a_corner(world: World) -> None:
    with somebody(world, "practice") as person:
        page = person.page
        place = page.locator(".frames").bounding_box()

        def drag(*points: tuple[float, float]) -> None:
            for number, (right, down) in enumerate(points):
                page.mouse.move(place["x"] + right * place["width"] / 320,
                                place["y"] + down * place["height"] / 240, steps=3)  # fmt: skip
                if number == 0:
                    page.mouse.down()
            page.mouse.up()

        drag((200, 150), (100, 50))
        drag((150, 100), (160, 110))
        drag((210, 160), (260, 200))
        held = json.loads(page.locator("[name=boxes]").input_value())
        wanted = {"x": 110, "y": 60, "width": 150, "height": 140}
        assert held == [pytest.approx(wanted, abs=2)]


def test_a_finger_sets_two_corners_and_scrolls(world: World) -> None:
    phone = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
    with somebody(world, "practice", **phone) as person:
        page = person.page
        place = page.locator(".frames").bounding_box()
        for part in (0.2, 0.6):
            page.touchscreen.tap(
                place["x"] + part * place["width"], place["y"] + part * place["height"]
            )
        held = json.loads(page.locator("[name=boxes]").input_value())
        wanted = {"x": 64, "y": 48, "width": 128, "height": 96}
        assert held == [pytest.approx(wanted, abs=2)]
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_frames_lie_on_the_picture_in_every_window(world: World) -> None:
    with somebody(world, "practice") as person:
        page = person.page
        found = []
        for stage in ("before", "after"):
            if stage == "after":
                page.fill("#text", "all of it")
                page.click("#add-frame")
                for name, value in (("Left", 0), ("Top", 0), ("Width", 320), ("Height", 240)):
                    page.get_by_label(f"{name} of frame 1").fill(str(value))
                person.main()
                page.get_by_role("button", name="My frames").click()
            for wide, high in ((1280, 800), (1280, 420), (640, 400), (360, 740), (700, 950)):
                page.set_viewport_size({"width": wide, "height": high})
                page.wait_for_timeout(50)
                (left, top, scale), layer = page.evaluate(PLACES)
                wanted = [left, top, 320 * scale, 240 * scale]
                if layer != pytest.approx(wanted, abs=1.0):
                    found.append((stage, wide, high, wanted, layer))
        assert found == []
