"""A study with every kind of block and explanation on a real server, and people with a browser."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import uvicorn
from PIL import Image

from support.study.stepped_study import SteppedStudy
from theodolite.ext.studies import IMAGES, Explained, Instance, Material, sha256_of
from theodolite_study.keys import Keys
from theodolite_study.locale.default_texts import load_default_texts
from theodolite_study.model.instrument import Instrument
from theodolite_study.serve.app import create_app
from theodolite_study.serve.settings import Limits, Settings
from theodolite_study.store.material import add_material

SIZE = (320, 240)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
STATUS = "Failed to load resource"
"""What the console says about each answer of 400 and more: refusals are not faults of a page."""
REQUESTED: list[tuple[str, str]] = []
"""What browsers asked a server for: methods and paths."""
LANGUAGES = ("en", "de", "fr", "en-XA", "ar-XB")
ABOUT = [
    {"name": "age", "kind": "number", "least": 1, "most": 120, "required": False},
    {"name": "job", "kind": "choice", "options": ["art", "law"], "other": True, "required": False},
    {"name": "sure", "kind": "slider", "required": True},
    {"name": "why", "kind": "comment", "show_if": {"block": "sure", "op": "gt", "value": 60}},
]
BEFORE = [
    {"name": "words", "kind": "text", "most": 400},
    {"name": "regions", "kind": "regions", "shapes": ["box"], "most": 5},
]
AFTER = [
    {"name": "note", "kind": "note"},
    {"name": "q1", "kind": "likert"},
    {"name": "q2", "kind": "likert", "points": 4, "labels": "all"},
    {"name": "q5", "kind": "likert"},
    {"name": "q6", "kind": "likert"},
    {"name": "better", "kind": "comparison", "of": ["shown", "same"], "tie": True},
]
END = [{"name": "q7", "kind": "ranking", "items": ["i0", "i1", "i2", "i3", "i4"]}]
NEEDS = {"q5": "same", "q6": "different", "better": "same"}
INSTRUMENT = {
    name: [{"blocks": blocks}] for name, blocks in
    (("about", ABOUT), ("before", BEFORE), ("after", AFTER), ("end", END))
} | {"door": []}  # fmt: skip
TEXTS = {
    "contact": "ann@example.org", "age.text": "How old are you?", "job.text": "What do you do?",
    "job.option.art": "Art", "job.option.law": "Law", "job.option.other": "Something else",
    "sure.text": "How sure are you of things?", "sure.low": "never", "sure.high": "always",
    "why.text": "Why so sure?", "note.text": "Take your time.",
    "q2.text": "Would you show it to a friend?", "q2.point.1": "no", "q2.point.2": "rather not",
    "q2.point.3": "rather yes", "q2.point.4": "yes", "better.text": "Which explanation is better?",
    "better.option.shown": "Explanation of the first image", "better.option.tie": "No difference",
    "better.option.same": "Explanation of the changed image",
}  # fmt: skip
WORDS = [("The", 0.0), (" film", 0.1), (" was", 0.0), (" not", -0.9), (" good", 0.7), (", but", -0.2),
         (" the", 0.0), (" music", 0.4), (" saved", 0.3), (" it", 0.0), (".", 0.0)]  # fmt: skip
ROW = [("age", "41", 0.3), ("income per year", "32,000", -0.8), ("children", "2", 0.1)]


def drawn(folder: Path, number: int, *, colors: bool = False) -> str:
    """An image of a disc, or colors to be laid over it."""
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    disc = np.hypot(x - 120 - 20 * number, y - 110) < 70
    near = np.clip(1 - np.hypot(x - 120 - 20 * number, y - 110) / 120, 0, 1)[..., None]
    low, high = ([245, 244, 244], [177, 40, 36]) if colors else ([205, 214, 196], [120, 88, 60])
    share = near if colors else disc[..., None]
    pixels = (np.array(low) * (1 - share) + np.array(high) * share).astype(np.uint8)
    (folder / IMAGES).mkdir(exist_ok=True, parents=True)
    draft = folder / IMAGES / "draft.png"
    Image.fromarray(pixels).save(draft)
    name = f"{sha256_of(draft)}.png"
    draft.rename(folder / IMAGES / name)
    return name


def material(folder: Path) -> Material:
    """A map with twins, concepts, a text and a row of a table."""
    file = [drawn(folder, n) for n in range(3)]
    over = [drawn(folder, n, colors=True) for n in range(3)]
    maps = [Explained(image=file[n], predicted=("horse", "horse", "cow")[n], map=over[n])
            for n in range(3)]  # fmt: skip
    bars = {"long mane": 0.7, "horns": -0.3, "four legs": 0.2}
    parts: dict[str, dict[str, Explained]] = {
        "map": {"shown": maps[0], "same": maps[1], "different": maps[2]},
        "bars": {"shown": Explained(image=file[0], predicted="horse", concepts=bars)},
        "words": {"shown": Explained(predicted="bad review", tokens=WORDS)},
        "row": {"shown": Explained(predicted="no loan", table=ROW)},
    }
    made = [Instance(key=key, image_key=key, technique="t", **part)
            for key, part in parts.items()]  # fmt: skip
    return Material(instances=made)


@dataclass
class PeopleStudy:
    """A study whose pages are looked at; `kinds` says which explanations it has."""

    connection: psycopg.Connection[Any]
    folder: Path
    slug: str
    kinds: tuple[str, ...] = ("map", "bars", "words", "row")
    quota: int = 4
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.study = SteppedStudy(
            self.connection, instances=0, slug=self.slug, quota=self.quota, votes=40,
            instrument=Instrument.model_validate(INSTRUMENT).stored(), settings={"needs": NEEDS, "minutes": 10}, languages=LANGUAGES,
        )  # fmt: skip
        run = self.connection.execute
        all_of_it = material(self.folder)
        mine = [one for one in all_of_it.instances if one.key in self.kinds]
        add_material(self.connection, self.study.study, Material(instances=mine), self.folder)
        run("insert into slot (study_id, instance_id, slot_no, rnd) select study_id, id, n, random()"
            " from instance, generate_series(1, 40) n where study_id = %s", [self.study.study])  # fmt: skip
        run("update door set available = st_available(version_id)")
        run("alter table wording disable trigger wording_frozen")
        for language in LANGUAGES:
            body = load_default_texts(language if language in ("de", "fr") else "en")
            for key, words in (body | TEXTS | self.texts).items():
                run("update wording set body = %s where version_id = %s and key = %s and language = %s",
                    (words, self.study.version, key, language))  # fmt: skip

    def one(self, query: str, *values: Any) -> Any:
        return self.study.one(query, *values)


@contextmanager
def served(url: str, folder: Path) -> Iterator[str]:
    """The address of a server in a thread."""
    if not (folder / "keys.json").is_file():
        Keys.create(folder / "keys.json")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        origin = f"http://localhost:{found.getsockname()[1]}"
        limits = Limits(pool=3, posts_rate=1e3, looks_rate=1e3)
        app = create_app(Settings(url, folder, origin, limits=limits))

        async def noted(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                REQUESTED.append((scope["method"], scope["path"]))
            await app(scope, receive, send)

        server = uvicorn.Server(
            uvicorn.Config(noted, log_level="error", access_log=False, timeout_graceful_shutdown=1)
        )
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        runs = threading.Thread(target=server.run, args=([found],), daemon=True)
        runs.start()
        while not server.started:
            time.sleep(0.02)
        try:
            yield origin
        finally:
            server.should_exit = True
            runs.join(10)


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
    origin: str
    wrong: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note faults of scripts, broken rules about content, and dialogs."""
        page = self.page
        page.set_default_timeout(15000)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        page.on(
            "console",
            lambda said: STATUS in said.text or self.wrong.append(f"{page.url}: {said.text}"),
        )

    @property
    def path(self) -> str:
        return str(self.page.url.removeprefix(self.origin).partition("?")[0])

    def main(self) -> None:
        """Press the button that goes on."""
        with self.page.expect_navigation():
            self.page.locator("main .main").first.click()

    def begins(self, slug: str, language: str = "en") -> None:
        self.page.goto(f"{self.origin}/s/{slug}?lang={language}")
        for _ in ("landing", "consent", "code"):
            self.main()

    def about(self) -> None:
        self.page.fill("[name=sure]", "70")
        self.main()

    def says(self, text: str = "its mane") -> None:
        """Answer the first stage of an item; there is nothing to mark."""
        self.page.fill("[name=words]", text)
        if self.page.locator("[name=regions_nothing]").count():
            self.page.check("[name=regions_nothing]")
        self.main()

    def rates(self) -> None:
        for group in self.page.locator(".question:not([data-kind=note]) fieldset").all():
            group.locator("label").nth(1).click()
        self.main()

    def ranks(self) -> None:
        for _ in range(5):
            self.page.locator(".pool .place").first.click()
        self.main()


@contextmanager
def somebody(browser: Any, origin: str, **window: Any) -> Iterator[Person]:
    """A person; whatever went wrong in their window fails the test."""
    wide = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = browser.new_context(**(wide | window))
    person = Person(context.new_page(), origin)
    person.watch()
    yield person
    context.close()
    assert person.wrong == []
