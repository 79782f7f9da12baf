"""A study from nothing without a shell: made at the desk in a browser, walked by people, paid."""

import re
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pyotp
import uvicorn
from starlette.testclient import TestClient

from support.study.page_walker import PageWalker
from support.study.prolific_double import SECRET, STUDY, TOKEN, ProlificDouble, doubled
from support.study.rehearsed import job_beside
from theodolite.ext.studies import write_json
from theodolite_study.demo.material import write_demo_material
from theodolite_study.designer.design_pages import PAGES
from theodolite_study.designer.study_archive import write_archive
from theodolite_study.desk.accounts import make_enroll_link
from theodolite_study.desk.app import create_desk
from theodolite_study.export.export_check import verify_export
from theodolite_study.export.verify import verify
from theodolite_study.keys import Keys
from theodolite_study.model.pasta import build_pasta
from theodolite_study.money.rehearsal import compute_balance
from theodolite_study.new_study import DEMO_ETHICS, DEMO_TEXTS
from theodolite_study.operate.background_tasks import ExportTask
from theodolite_study.serve.app import create_app
from theodolite_study.serve.settings import Limits, Settings

SLUG = "whole"
HOME = "https://study.example.org"
PASSPHRASE = "violet kettle onward maple"
SCREENING = [
    {"when": {"block": "device", "op": "eq", "value": "none"}},
    {"when": {"block": "device", "op": "eq", "value": "phone"}, "outcome": "wrong_device"},
]
DOOR = {"name": "device", "kind": "choice", "options": ["desk", "phone", "none"]}
CODES = {"finished": "CDONE", "no_consent": "CNO", "screened_out": "COUT"}
WAYS = ("finished", "stopped", "declined", "screened_out", "wrong_device", "failed_practice",
        "failed_checks", "timed_out", "returned", "withdrawn")  # fmt: skip
"""Ways out that people choose; then people come until the study is full."""


@dataclass
class WholeStudy:
    """The database, the folder, the desk in a browser, and the server of participants."""

    url: str
    folder: Path
    real: int
    """Explanations that are rated."""
    votes: int
    quota: int
    double: ProlificDouble = field(default_factory=ProlificDouble)
    met: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.connection = psycopg.connect(self.url, autocommit=True)
        self.keys = Keys.create(self.folder / "keys.json")
        settings = Settings(self.url, self.folder, HOME, limits=Limits(
            posts_rate=1e3, looks_rate=1e3, newcomers_rate=1e3, codes_rate=1e3))  # fmt: skip
        self.app = create_app(settings)
        headers = {"origin": HOME, "sec-fetch-site": "same-origin"}
        self.people = TestClient(self.app, base_url=HOME, headers=headers)

    def folder_of_study(self) -> Path:
        """A part of the demo's material and a study.yaml, with a door of its own, as an archive."""
        folder = self.folder.with_name("material")
        made = write_demo_material(folder)
        real = [one for one in made.instances if one.kind == "real"][: self.real]
        rest = [one for one in made.instances if one.kind != "real"]
        part = made.model_copy(update={"instances": [*real, *rest]})
        write_json(folder / "instances.json", part.model_dump(mode="json", exclude_none=True))
        instrument = build_pasta().stored() | {"door": [{"blocks": [DOOR]}]}
        write_json(folder / "asked.json", instrument)
        door = {"device.text": "Your device?"} | {f"device.option.{o}": o for o in DOOR["options"]}
        texts = {language: DEMO_TEXTS.get(language, {}) | door for language in ("en", "de")}
        write_json(folder / "study.yaml", {
            "slug": SLUG, "title": "What do you see?", "contact": "ada@example.org",
            "languages": ["de"], "texts": texts, "instrument": "asked.json", "minutes": 20,
            "votes": self.votes, "quota": self.quota, "ethics": DEMO_ETHICS, "screening": SCREENING,
            "pay": {"reward": 400, "floor": 50, "screenout": 30, "currency": "GBP"},
            "checks": {"every": 2, "allowed": 0, "then": "screen_out"}, "training": {"attempts": 1},
            "access": {"kind": "prolific", "signed": False, "codes": CODES},
        })  # fmt: skip
        write_archive(folder, folder.with_suffix(".zip"))
        return folder.with_suffix(".zip")

    def comes(self) -> PageWalker:
        self.double.status = "ACTIVE"  # they were sent before the study was paused there
        name = self.double.reserve()
        assert name is not None
        self.double.starts(name)
        return PageWalker(self.people, self.connection, SLUG, name)

    def plays(self, way: str) -> str:
        """Somebody comes and leaves in this way; the outcome that the database says."""
        person = self.comes()
        if not person.arrives():
            self.double.submits(person.name, "return")
            self.met["full"] += 1
            return "full"
        if way == "declined":
            person.declines()
            self.double.submits(person.name, "return")
        else:
            person.agrees()
            getattr(self, f"_{way}", self._finished)(person)
        self.met[way] += 1
        return way

    def _finished(self, person: PageWalker) -> None:
        person.walks()
        self.double.submits(person.name, "approved")

    def _stopped(self, person: PageWalker) -> None:
        person.walks(1)
        person.stops()
        self.double.submits(person.name, "stopped")

    def _screened_out(self, person: PageWalker) -> None:
        person.walks(device="none")
        self.double.submits(person.name, "other")

    def _wrong_device(self, person: PageWalker) -> None:
        person.walks(device="phone")
        self.double.submits(person.name, "return")

    def _failed_practice(self, person: PageWalker) -> None:
        person.walks(right=False)
        self.double.submits(person.name, "other")

    def _failed_checks(self, person: PageWalker) -> None:
        person.walks(1)
        person.walks(right=False)
        self.double.submits(person.name, "other")

    def _timed_out(self, person: PageWalker) -> None:
        person.walks(1)
        self.double.times_out(person.name)

    def _returned(self, person: PageWalker) -> None:
        person.walks(1)
        self.double.returns(person.name)

    def _withdrawn(self, person: PageWalker) -> None:
        person.walks(1)
        person.withdraws()
        self.double.submits(person.name, "other")

    def one(self, query: str, *values: Any) -> Any:
        row = self.connection.execute(query, values).fetchone()
        return None if row is None else row[0]

    def until(self, query: str, seconds: float = 60.0) -> None:
        """Wait until a query finds nothing any more."""
        ends = time.monotonic() + seconds
        while self.one(query):
            assert time.monotonic() < ends, self.connection.execute(query).fetchall()
            time.sleep(0.05)

    def write_exports(self) -> None:
        """What the process of the job does with exports that wait."""
        task = ExportTask(self.url, self.folder)
        task(self.connection)
        assert task._writing is not None
        task._writing[1].result(60)
        task(self.connection)

    def close(self) -> None:
        self.connection.close()


@contextmanager
def served_desk(study: WholeStudy) -> Iterator[str]:
    """The desk on loopback, and the link that sets up an account."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        origin = f"http://localhost:{found.getsockname()[1]}"
        app = create_desk(Settings(study.url, study.folder, origin, participants_origin=HOME))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        runs = threading.Thread(target=server.run, args=([found],), daemon=True)
        runs.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield make_enroll_link(study.connection, study.keys, origin, "ada")
        finally:
            server.should_exit = True
            runs.join(10)


class DeskPlayer:
    """A researcher with a browser and no shell."""

    def __init__(self, page: Any, study: WholeStudy) -> None:
        self.page, self.study = page, study
        page.set_default_timeout(20_000)
        self.wrong: list[str] = []
        page.on("console", lambda said: self.wrong.append(f"{page.url}: {said.text}"))

    def signs_up(self, link: str) -> None:
        self.page.goto(link)
        secret = self.page.locator(".code").inner_text().replace(" ", "")
        self.page.fill("#code", pyotp.TOTP(secret).now())
        self.page.fill("#passphrase", PASSPHRASE)
        self.press("Set up")
        self.home = re.match(r"https?://[^/]+", self.page.url)[0]  # type: ignore[index]

    def goes(self, name: str) -> None:
        answer = self.page.goto(f"{self.home}{name}")
        assert answer.status == 200, (name, answer.status)

    def design(self, name: str = "") -> None:
        self.goes(f"/studies/{SLUG}/design{name}")

    def press(self, name: str, within: str = "main") -> None:
        with self.page.expect_navigation():
            self.page.locator(within).get_by_role("button", name=name, exact=True).first.click()
        failed = self.page.locator(".errors")
        assert not failed.count(), failed.first.inner_text()

    def fill(self, fields: Mapping[str, str]) -> None:
        for name, value in fields.items():
            found = self.page.locator(f'[name="{name}"]').first
            tag = found.evaluate("e => e.tagName + (e.type || '')")
            if tag == "INPUTcheckbox":
                found.set_checked(value == "yes")
            elif tag.startswith("SELECT"):
                found.select_option(value)
            else:
                found.fill(value)

    def makes_the_study(self) -> None:
        """A study folder, uploaded."""
        self.goes("/new")
        self.page.set_input_files("#file", self.study.folder_of_study())
        self.press("Upload")

    def joins_prolific(self) -> None:
        self.goes(f"/studies/{SLUG}/pay")
        self.page.locator("details summary").first.click()
        self.fill({"external_id": STUDY, "token": TOKEN, "secret": SECRET})
        self.press("Save")

    def looks(self, rules: str) -> list[str]:
        """What is wrong with the designer's pages on a phone: rules of axe, and what is cut off."""
        wrong = []
        self.page.set_viewport_size({"width": 360, "height": 740})
        number = self.study.one("select id from instance limit 1")
        more = (f"/material/{number}",)
        for name in (*(name for name, _ in PAGES), *more):
            self.design(name)
            self.page.evaluate(rules)
            found = self.page.evaluate("axe.run().then(r => r.violations.map(v => v.id))")
            wide = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
            wrong += [f"{name}: {what}" for what in [*found, *(["wide"] if wide else [])]]
        self.page.set_viewport_size({"width": 1280, "height": 800})
        return wrong

    def previews(self) -> PageWalker:
        """Somebody of the staff walks through the draft by its link, as far as the first item."""
        self.design("/preview")
        link = self.page.get_by_role("link", name="Deutsch").get_attribute("href")
        person = PageWalker(self.study.people, self.study.connection, SLUG, "preview")
        person.get(link)
        (form,) = [one for one in person.forms() if "preview" in one.action]
        person.sends(form)
        person.agrees()
        person.walks(1)
        return person

    def pilots(self, people: int) -> str:
        """Open for a few, let them walk, read the report, discard."""
        self.design("/pilot")
        self.fill({"people": str(people)})
        self.press("Begin")
        for _ in range(people):
            self.study.plays("finished")
        self.design("/pilot")
        report = str(self.page.locator("dl.facts").inner_text())
        self.press("Discard: leave its votes out, make a new draft")
        return report

    def opens(self) -> None:
        self.design("/open")
        self.page.get_by_label("A new round").check()
        self.press("Open version 2")

    def exports(self) -> Path:
        self.goes(f"/studies/{SLUG}/export")
        self.press("Make an export")
        self.study.write_exports()
        self.goes(f"/studies/{SLUG}/export")
        with self.page.expect_download() as wanted:
            self.page.get_by_role("link", name="Everything as one archive").click()
        target = self.study.folder.with_name("downloaded")
        wanted.value.save_as(target.with_suffix(".zip"))
        shutil.unpack_archive(target.with_suffix(".zip"), target)
        (folder,) = target.iterdir()
        return folder

    def closes(self) -> None:
        self.goes(f"/studies/{SLUG}/close")
        self.fill({"name": SLUG})
        self.press("Close for good")


def play(study: WholeStudy, browser: Any, *, each: int, pilot: int, rules: str = "") -> list[str]:
    """The whole of it; what is wrong afterwards.

    Args:
        study: An empty database and folder.
        browser: For the researcher.
        each: People for each way out; then people come until the study is full.
        pilot: People of the pilot.
        rules: The text of axe, to look at the designer's pages.
    """
    with study.people, served_desk(study) as link, doubled(study.double) as host:
        ada = DeskPlayer(browser.new_page(), study)
        ada.signs_up(link)
        ada.makes_the_study()
        wrong = ada.looks(rules) if rules else []
        preview = ada.previews()
        if "Vorschau" not in preview.page.text or study.one("select count(*) from place"):
            wrong.append("the preview")
        ada.joins_prolific()
        study.connection.execute("select op_note('backup', '{}')")
        with job_beside(study.url, study.keys, host):
            if f"Votes\n{pilot * study.quota}" not in ada.pilots(pilot):
                wrong.append("the report of the pilot")
            ada.opens()
            ways = [way for way in WAYS for _ in range(each)]
            Random(25).shuffle(ways)  # noqa: S311
            wrong += [way for way in ways if study.plays(way) != way]
            study.until("select 1 from participant where outcome is null and not preview")
            while study.plays("finished") != "full":
                pass
            study.until("select 1 from payout where state not in ('confirmed', 'void') limit 1")
        folder = ada.exports()
        ada.closes()
    return [*wrong, *_problems(study, folder), *ada.wrong]


def _problems(study: WholeStudy, folder: Path) -> list[str]:
    """What does not hold after a study has closed."""
    number = study.one("select id from study where slug = %s", SLUG)
    outcomes = {way for (way,) in study.connection.execute(
        "select distinct outcome from participant where not preview")}  # fmt: skip
    books = compute_balance(study.connection, study.keys, number, study.double.paid())
    wrong = [f"nobody {way}" for way in {*WAYS} - {"declined", "withdrawn"} - outcomes]
    wrong += [] if books.holds() else [f"{books}"]
    if not study.one("select bool_and(state = 'filled') from slot where round = 2"):
        wrong.append("seats of the second round")
    if study.one("select state from study") != "closed":
        wrong.append("the study is not closed")
    return [*wrong, *verify_export(folder), *verify(study.connection, number).problems]
