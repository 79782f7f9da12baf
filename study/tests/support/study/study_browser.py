"""A study on a real server, and people who come to it with a real browser."""

import secrets
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import pytest
import uvicorn
from sqlalchemy import select

from support.study import small_study
from theodolite_study.answers import Ratings, questions_of
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.participants import arrive, consent, describe_oneself, here
from theodolite_study.platforms.identity import Identity
from theodolite_study.practice import (
    practice_answer,
    practice_baseline,
    practice_end,
    practice_progress,
    practice_reveal,
)
from theodolite_study.sessions import begin
from theodolite_study.web.app import create_app
from theodolite_study.web.cookies import SESSION
from theodolite_study.web.settings import Limits, Settings

Stage: TypeAlias = Literal["consent", "practice", "picture"]

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
STATUS = "Failed to load resource"
"""What the console says about each answer of 400 and more: refusals are not faults of a page."""


@contextmanager
def served(database_url: str, folder: Path) -> Iterator[str]:
    """The address of a server for the study of a folder."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        origin = f"http://localhost:{found.getsockname()[1]}"
        app = create_app(
            Settings(database_url, folder, origin, limits=Limits(pool=3, posts_rate=1e3))
        )
        config = uvicorn.Config(
            app, log_level="error", lifespan="off", access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        runs = threading.Thread(target=server.run, args=([found],), daemon=True)
        runs.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield origin
        finally:
            server.should_exit = True
            runs.join(10)
            app.state.site.database.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """One browser for all people."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Person:
    """Somebody with a window of their own. What went wrong in it is noted."""

    page: Any
    home: str
    wrong: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        """Note faults of scripts, broken rules about content, and dialogs."""
        page.set_default_timeout(8000)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        page.on(
            "console",
            lambda said: STATUS in said.text or self.wrong.append(f"{page.url}: {said.text}"),
        )

    @property
    def path(self) -> str:
        """Where they are."""
        return str(self.page.evaluate("location.pathname"))

    def main(self) -> None:
        """Press the button that goes on."""
        with self.page.expect_navigation():
            self.page.locator("main .main:visible").first.click()

    def say(self, text: str = "its ears") -> None:
        """Answer the first stage without a frame."""
        self.page.fill("#text", text)
        self.page.click("button.main")  # once asks for frames
        self.main()

    def rate(self, answers: dict[str, int] | None = None) -> None:
        """Answer all questions of the second stage."""
        for group in self.page.locator(".rating").all():
            value = (answers or {}).get(group.get_attribute("id"), 2)
            group.locator("label").nth(value - 1).click()
        self.main()


@dataclass(frozen=True)
class World:
    """A server, its tables and a browser."""

    database: Database
    keys: Keys
    origin: str
    browser: Any

    def rows(self, table: Any) -> list[Any]:
        """All of a table, in the order in which they came."""
        with self.database.owning() as connection:
            return list(connection.execute(select(table)))

    def session(self, stage: Stage) -> dict[str, Any]:
        """The cookie of somebody new who has come as far as that."""
        who = arrive(self.database, "small", Identity("link", secrets.token_hex(8)), self.keys)
        person = who.participant.id
        if stage != "consent":
            consent(self.database, person, self.keys)
            describe_oneself(self.database, person, {})
        if stage == "picture":
            protocol = here(self.database, person).protocol
            for number in range(1, practice_progress(self.database, person).of + 1):
                practice_baseline(self.database, person, number, small_study.said())
                item = practice_reveal(self.database, person, number)
                asked = questions_of(protocol, item.instance)
                given = Ratings(dict.fromkeys(asked, 2), uuid4())
                practice_answer(self.database, person, number, given)
            practice_end(self.database, person)
        token = begin(self.database, participant_id=person)
        # only an https address can set such a cookie; localhost is sent it all the same
        return {
            "name": SESSION,
            "value": token,
            "url": self.origin.replace("http:", "https:"),
            "secure": True,
        }


@contextmanager
def small_world(database: Database, folder: Path) -> Iterator[World]:
    """One practice item, a map with twins and a list of concepts; room for many people."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_study, "SIZE", (320, 240))
        small_study.study_folder(folder, instances=2, training=1, votes=40)
    keys = small_study.opened(database, folder)
    with served(database.url, folder) as origin, chromium() as browser:
        yield World(database, keys, origin, browser)


@contextmanager
def somebody(world: World, stage: Stage | None, **window: Any) -> Iterator[Person]:
    """A person; whatever went wrong in their window fails the test."""
    wide = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = world.browser.new_context(**(wide | window))
    if stage is not None:
        context.add_cookies([world.session(stage)])
    person = Person(context.new_page(), f"{world.origin}/s/small")
    context.on("page", person.watch)
    person.watch(person.page)
    person.page.goto(person.home)
    if stage in ("practice", "picture"):
        person.main()
    yield person
    context.close()
    assert person.wrong == []
