"""Pages of the desk in a real browser: rules of access, narrow and wide, light and dark."""

import os
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from support.study.desk_browser import DeskWorld, served_desk
from support.study.stepped_study import template_database
from support.study.study_browser import chromium
from theodolite_study.desk.accounts import make_enroll_link
from theodolite_study.desk.sessions import SESSION
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.money.platform_link import PlatformLink, link_study

FULL = bool(os.environ.get("THEODOLITE_FULL"))
"""All rules in all looks."""
LOOKS = [(1280, "light"), (360, "dark"), (360, "light"), (1280, "dark")]
CHANGING = ["color-contrast", "target-size"]


@pytest.fixture(scope="module")
def place(
    cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[DeskWorld, str]]:
    create_database(cluster, "desk_pages", template_database(cluster))
    with served_desk(cluster.database("desk_pages"), tmp_path_factory.mktemp("desk")) as made:
        filled(made[0])
        yield made


def filled(world: DeskWorld) -> None:
    """A study with something on every page."""
    study = world.study("birds", instances=6, votes=2, quota=3, least_items=3)
    world.browser("ada", slug="birds", role="owner", operator=True)
    world.browser("grace", slug="birds", role="viewer")
    for name in ("ann", "ben", "cat"):
        person = study.person(name).begins()
        for _ in range(3):
            person.votes(person.next()["item"])
        if name != "cat":
            person.leaves()
    sealed = world.keys.encrypt("5f1a", "birds")
    world.connection.execute("update payout set sealed_submission = %s", (sealed,))
    world.connection.execute(
        "update payout set state = 'sending', tries = 2 where participant_id ="
        " (select id from participant where pseudonym = 'p-ben')"
    )
    world.connection.execute(
        "update payout set state = 'failed', why = 'not enough money' where state = 'sending'"
    )
    link = PlatformLink(study.study, "birds", "6a5f", "token", "secret")
    link_study(world.connection, world.keys, link)
    world.connection.execute(
        "update platform_link set read_at = now(), difference = '{\"unreturned\": 1}'"
    )
    world.connection.execute(
        "insert into export_request (study_id, state, ended_at, manifest_sha256)"
        " values (%s, 'done', now(), sha256('x'))", (study.study,),
    )  # fmt: skip
    folder = world.settings.folder / "exports" / "birds-1"
    folder.mkdir(parents=True)
    (folder / "aggregates.csv").write_text("a")


PAGES = [
    "/", "/studies/birds/live", "/studies/birds/people", "/studies/birds/people/p-ann",
    "/studies/birds/people/p-cat", "/studies/birds/pay", "/studies/birds/export",
    "/studies/birds/close", "/studies/birds/members", "/studies/birds/log", "/studies/birds/results",
    "/new", "/server", "/nowhere",
]  # fmt: skip


def test_pages_break_no_rule(place: tuple[DeskWorld, str]) -> None:
    pytest.importorskip("axe_playwright_python")
    rules = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    world, origin = place
    link = make_enroll_link(world.connection, world.keys, origin, "new").removeprefix(origin)
    broken: list[str] = []
    with chromium() as browser:
        visitor, owner = browser.new_context(), browser.new_context()
        secure = origin.replace("http:", "https:")
        owner.add_cookies([{"name": SESSION, "value": world.session("ada"), "url": secure}])
        for context, addresses in ((visitor, ["/sign-in", link]), (owner, PAGES)):
            page = context.new_page()
            for address in addresses:
                page.goto(origin + address)
                assert page.locator("h1").count() == 1, address
                broken += problems(page, rules)
    assert "\n".join(broken) == ""


def problems(page: Any, rules: str) -> list[str]:
    """What is wrong with a page as it is now, in all looks; all rules in the first of them."""
    page.evaluate(rules)
    found = []
    for number, (width, colors) in enumerate(LOOKS if FULL else LOOKS[:2]):
        page.set_viewport_size({"width": width, "height": 740})
        page.emulate_media(color_scheme=colors)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        options |= (
            {"runOnly": CHANGING}
            if number and not FULL
            else {"rules": {"target-size": {"enabled": True}}}
        )
        said = page.evaluate("options => axe.run(document, options)", options)
        name = f"{page.url} {width} {colors}"
        found += [f"{name}: {one['id']} {one['nodes'][0]['html']}" for one in said["violations"]]
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [f"{name}: {over} pixels too wide"] if over > 0 else []
    return found
