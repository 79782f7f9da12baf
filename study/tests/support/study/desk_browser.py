"""A desk and people who have signed in to it, without a browser that runs scripts."""

import html
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import uvicorn
from starlette.testclient import TestClient

from support.study.stepped_study import SteppedStudy
from theodolite_study.desk.app import create_desk
from theodolite_study.desk.sessions import SESSION, begin_session
from theodolite_study.keys import Keys
from theodolite_study.serve.settings import Settings

ORIGIN = "https://desk.example.org"
HEADERS = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}

HOSTILE = "<script>alert(1)</script>"
SECRET_ANSWER = "a horn of no use"


class DeskWorld:
    """A database with studies, and the desk's application on it."""

    def __init__(self, url: str, folder: Path, origin: str = ORIGIN) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.keys = Keys.create(folder / "keys.json")
        self.settings = Settings(url, folder, origin, behind_proxy=True)
        self.app = create_desk(self.settings)
        self.visitor = TestClient(self.app, base_url=ORIGIN, headers=HEADERS)

    def study(self, slug: str, **settings: Any) -> SteppedStudy:
        return SteppedStudy(self.connection, slug=slug, **settings)

    def account(self, name: str, *, operator: bool = False) -> int:
        row = self.connection.execute(
            "insert into staff (name, operator) values (%s, %s) on conflict (name) do update"
            " set operator = excluded.operator returning id", (name, operator),
        ).fetchone()  # fmt: skip
        return int(row[0])  # type: ignore[index]

    def browser(
        self, name: str, *, slug: str = "", role: str = "", operator: bool = False
    ) -> TestClient:
        """Somebody's browser, signed in; with a role in a study if one is named."""
        staff_id = self.account(name, operator=operator)
        if role:
            self.connection.execute(
                "insert into member (study_id, staff_id, role)"
                " select id, %s, %s from study where slug = %s"
                " on conflict (study_id, staff_id) do update set role = excluded.role",
                (staff_id, role, slug),
            )
        made = TestClient(self.app, base_url=ORIGIN, headers=HEADERS)
        made.cookies.set(SESSION, self.session(name), domain="desk.example.org")
        return made

    def session(self, name: str) -> str:
        """A new session of somebody."""
        return begin_session(self.connection, self.account_id(name))

    def account_id(self, name: str) -> int:
        row = self.connection.execute("select id from staff where name = %s", (name,)).fetchone()
        return int(row[0])  # type: ignore[index]

    def close(self) -> None:
        self.connection.close()


def hidden(page: Any) -> dict[str, str]:
    """The hidden fields of the first forms of a page."""
    fields = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text)
    return {name: html.unescape(value) for name, value in fields}


def send(browser: TestClient, page_address: str, form_address: str, **fields: Any) -> Any:
    """A form of a page, sent with what proves it."""
    csrf = hidden(browser.get(page_address))["csrf"]
    return browser.post(form_address, data={"csrf": csrf} | fields)


@contextmanager
def served_desk(url: str, folder: Path) -> Iterator[tuple[DeskWorld, str]]:
    """The same on a real port, for real browsers; and its origin."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        origin = f"http://localhost:{bound.getsockname()[1]}"
        world = DeskWorld(url, folder, origin)
        config = uvicorn.Config(world.app, log_level="error", lifespan="on", access_log=False)
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        runs = threading.Thread(target=server.run, args=([bound],), daemon=True)
        runs.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield world, origin
        finally:
            server.should_exit = True
            runs.join(10)
            world.close()


def played(world: DeskWorld, slug: str) -> SteppedStudy:
    """A study with somebody who finished, and somebody who is inside."""
    study = world.study(slug, instances=4, votes=2, quota=2, least_items=2)
    world.connection.execute(
        "update study set title = %s, keys_id = %s where id = %s",
        (f"Study {slug} {HOSTILE}", world.keys.id, study.study),
    )
    world.connection.execute(
        "update instance set shown = jsonb_set(shown, '{shown,predicted}', '\"cat\"')"
        " where study_id = %s", (study.study,),
    )  # fmt: skip
    ann, ben = study.person(f"ann {slug}").begins(), study.person(f"ben {slug}").begins()
    for _ in range(2):
        item = ann.next()["item"]
        assert ann.says(item, SECRET_ANSWER)["word"] == "ok"
        ann.item(item)
        ann.rates(item)
    assert ann.leaves()["outcome"] == "finished"
    ben.votes(ben.next()["item"])
    world.connection.execute(
        "update payout set sealed_submission = %s where study_id = %s",
        (world.keys.encrypt(f"submission-{slug}", slug), study.study),
    )
    return study


def home(study: SteppedStudy) -> str:
    return f"/studies/{study.slug}"
