"""Hostile strings in every field of a study stay text on every page."""

from pathlib import Path
from typing import Any

import pytest

from support.study import small_study
from support.study.study_browser import World, chromium, served, somebody
from theodolite.io.text import write_json
from theodolite.study_material.material import (
    Check,
    Explained,
    Instance,
    Material,
    write_material,
)
from theodolite_study.database import Database
from theodolite_study.protocol import STUDY, Protocol, read_protocol

PAYLOADS = (
    "<script>alert({n})</script>",
    '"><img src=x onerror=alert({n})>',
    "'><svg onload=alert({n})>",
    "</textarea><script>alert({n})</script>",
    "</title><script>alert({n})</script>",
    "{{{{ {n} * 7 }}}}<!--",
    "javascript:alert({n})",
    "</script><script>alert({n})</script>\u2028",
    "' autofocus onfocus=alert({n}) x='",
    "<a href=javascript:alert({n})>x</a>",
    "<style>*{{display:none}}</style>{n}",
    "\\u003cimg src=x onerror=alert({n})\\u003e",
)
UNSEEN = ("technique",)
"""Given to the study, shown to nobody."""


class Hostile(dict[str, str]):
    """A payload of its own for each place that asks."""

    def __missing__(self, place: str) -> str:
        self[place] = PAYLOADS[len(self) % len(PAYLOADS)].format(n=1000 + len(self))
        return self[place]


def hostile_study(folder: Path, say: Hostile) -> None:
    """A small study whose every string is an attack."""
    small_study.study_folder(folder, instances=1)
    made = [
        Instance(
            key=f"{kind}{number}", picture_key=f"p{kind}{number}", technique=say["technique"],
            shown=Explained(picture=small_study.picture(folder, 7), predicted=say[f"label {kind}"],
                            concepts={say["one concept"]: 0.5, say["another"]: -0.5}),
            same=Explained(picture=small_study.picture(folder, 8), predicted=say["twin"],
                           concepts={say["concept of the twin"]: 0.1}),
            kind=kind,
            check=Check(ratings={"q1": 2}, instruction=say["instruction"], feedback=say["feedback"])
            if kind == "training" else None,
        )
        for number, kind in enumerate(("real", "training"))
    ]  # fmt: skip
    write_material(folder, Material(instances=made))
    settings: dict[str, Any] = read_protocol(folder).model_dump(mode="json")
    for name in (
        "title",
        "contact",
        "welcome",
        "consent",
        "instructions",
        "thanks",
        "before_boxes",
    ):
        settings[name] = say[name]
    settings["before_text"] = say["before_text"] + " {label}"
    for name in ("q1", "q5"):
        settings["questions"][name] = {part: say[name + part] for part in ("text", "low", "high")}
    settings["rankings"] = {"q7": {"text": say["q7"], "items": [say["first"], say["second"]]}}
    write_json(folder / STUDY, Protocol.model_validate(settings).model_dump(mode="json"))


def test_hostile_strings_are_text_everywhere(one_database: Database, tmp_path: Path) -> None:
    say, seen = Hostile(), []
    hostile_study(tmp_path / "s", say)
    keys = small_study.opened(one_database, tmp_path / "s")
    with served(one_database.url, tmp_path / "s") as origin, chromium() as browser:
        world = World(one_database, keys, origin, browser)
        with somebody(world, None) as person:

            def look() -> None:
                page = person.page
                page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                seen.append(page.evaluate("document.title + document.body.textContent"))
                assert (
                    page.locator("script:not([src]), [onerror], [onload], [onfocus]").count() == 0
                )
                assert page.locator("a[href^=javascript]").count() == 0

            for _ in ("landing", "consent", "code", "about you", "practice"):
                look()
                person.main()
            for text in (say["own words"], say["other own words"]):
                look()
                person.page.fill("#text", text)
                person.page.click("#add-frame")
                person.page.wait_for_timeout(50)
                person.page.reload()
                person.say(text)
                look()
                person.rate()
                if "/feedback" in person.page.url:
                    look()
                    person.main()
                    look()
                    person.main()
            look()
            person.page.locator("[data-move='1']").first.click()
            person.main()
            look()
    everything = "\n".join(seen).replace("\u2028", "")
    missing = [
        place for place, text in say.items()
        if place not in UNSEEN and text.replace("\u2028", "") not in everything
    ]  # fmt: skip
    assert missing == []
    assert say["technique"] not in everything


def test_no_page_and_no_script_goes_around_escaping() -> None:
    web = Path(pytest.importorskip("theodolite_study.web").__file__).parent
    banned = {
        ".j2": ("|safe", "| safe", "Markup", "autoescape false", " style=", " onclick", "http:"),
        ".js": ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                "DOMParser", "srcdoc", "new Function", "http:", "https:"),
    }  # fmt: skip
    files = [one for one in web.rglob("*") if one.suffix in banned]
    assert len(files) > 20
    found = [
        f"{one.name}: {word}"
        for one in files for word in banned[one.suffix] if word in one.read_text(encoding="utf-8")
    ]  # fmt: skip
    assert found == []
