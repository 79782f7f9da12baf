"""Before somebody has said what they see, no byte of the explanation reaches them."""

import re
from pathlib import Path
from typing import Any

from sqlalchemy import text

from support.study.small_study import read_protocol
from support.study.web_study import asked, browser, person, web_app
from theodolite.study_material.material import PICTURES, read_material
from theodolite_study.assignments import AFTER_ROLES, assignment
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.participants import participant
from theodolite_study.web.item_views import item_view

ADDRESS = re.compile(r'(?:href|src|action|data-[a-z]+)\s*=\s*["\']([^"\']+)["\']')


def crawled(client: Any, who: Any, start: str) -> dict[str, Any]:
    """Everything that can be reached from a page by its addresses."""
    waiting, found = [start], {}
    while waiting:
        path = waiting.pop()
        if path in found or not path.startswith("/") or path.startswith("/static"):
            continue
        found[path] = answer = asked(client, "GET", path, who)
        if answer.status_code == 303:
            waiting.append(answer.headers["location"])
        elif answer.headers.get("content-type", "").startswith("text/html"):
            waiting += ADDRESS.findall(answer.text)
    return found


def telling(folder: Path) -> tuple[set[bytes], set[str]]:
    """Contents of explanations, and words that would tell about them."""
    contents, words = set(), {"gradcam", "beak", "paw", "asset/map", "same_", "different_"}
    for one in read_material(folder).instances:
        for shown in (one.shown, one.same, one.different):
            if shown is None:
                continue
            for file in (shown.map, shown.picture if shown is not one.shown else None):
                if file:
                    contents.add((folder / PICTURES / file).read_bytes())
            words |= {file.split(".")[0] for file in (shown.map, shown.picture) if file}
    return contents, words


def test_nothing_of_the_explanation_before(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    app = web_app(database, folder, instances=2, training=2, votes=3, quota=2)
    contents, words = telling(folder)
    questions = [question.text for question in read_protocol(folder).questions.values()]
    with browser(app) as client:
        keys = Keys.read(folder)
        for stage, start in (("leased", "/a/{}"), ("training", "/training/1")):
            who = person(database, keys, stage)
            page = start.format(who.item)
            reached = crawled(client, who, page)
            assert page in reached and f"{page}/asset/picture" in reached
            for role in AFTER_ROLES:
                answer = asked(client, "GET", f"{page}/asset/{role}", who)
                assert answer.status_code in (404, 409)
                reached[f"{page}/asset/{role}"] = answer
                assert asked(client, "HEAD", f"{page}/asset/{role}", who).status_code in (404, 409)
            for path, answer in reached.items():
                assert answer.content not in contents, path
                if answer.headers.get("content-type", "").startswith("text/html"):
                    strange = [word for word in words if word in answer.text]
                    assert not strange, (path, strange)
            assert not [asks for asks in questions if asks in reached[page].text]
        with database.owning() as connection:
            assert not connection.execute(text("select count(revealed_at) from practice")).scalar()
            seen = text(
                "select count(*) from event where kind in ('revealed', 'explanation served')"
            )
            assert not connection.execute(seen).scalar()


def test_afterwards_all_of_it(database: Database, tmp_path: Path) -> None:
    """The same search finds what it looks for when it is there."""
    folder = tmp_path / "s"
    app = web_app(database, folder, instances=1, votes=3, training=1, quota=1)
    contents, _ = telling(folder)
    with browser(app) as client:
        who = person(database, Keys.read(folder), "revealed")
        reached = crawled(client, who, f"/a/{who.item}")
        assert len({answer.content for answer in reached.values()} & contents) == 5


def test_templates_are_not_even_given_it(database: Database, tmp_path: Path) -> None:
    app = web_app(database, tmp_path / "s", instances=1, votes=3, training=1, quota=1)
    site, keys = app.state.site, Keys.read(tmp_path / "s")
    for stage, there in (("leased", False), ("revealed", True)):
        who = person(database, keys, stage)
        assert who.id is not None
        item = assignment(database, who.id, who.item)
        view = item_view(site, item, participant(database, who.id))
        assert bool(view.explanation) is bool(view.questions) is bool(view.key) is there
    site.database.close()
