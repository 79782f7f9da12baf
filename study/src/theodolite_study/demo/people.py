"""Scripted people, who take part through the real pages. Used by `study demo --people` and walks.

Their taste is known: the effect of each method, a habit of each person, and noise. The comparison
of methods has to find these effects again.
"""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from theodolite.ext.studies import Instance, read_material
from theodolite_study.demo.page_forms import FormReader, PageForm

FILE = re.compile(r"/p/\d+/[\w-]+/([0-9a-f]{64}\.\w+)")
NAME = re.compile(r"^(__Host-[\w-]+)=([^;]*)")
MIDDLE = 3.0
HABIT, NOISE = 0.4, 0.6
TRIES = 60
"""How often a request is sent again while a part of the study restarts."""


@dataclass(frozen=True)
class Crowd:
    """People who take part in a study, and what they like."""

    origin: str
    slug: str
    folder: Path
    """Study folder, from which they know which method made an explanation."""
    effects: Mapping[str, float]
    """By how many points a method is liked better than the middle of the scale."""
    seed: int = 0

    def send(self, manners: Sequence[str], *, first: int = 0, together: int = 4) -> Counter[str]:
        """Send one person for each entry of ``manners``; return how often each outcome came.

        Args:
            manners: "finish"; "abandon" after Begin; "drop out" in the middle of an item.
            first: Number of the first person, whose habit follows from it.
            together: Number of people at the same time.
        """
        known = read_material(self.folder).instances
        with ThreadPoolExecutor(together) as pool:
            people = [
                pool.submit(ScriptedPerson(self, number, known).take_part, manner)
                for number, manner in enumerate(manners, first)
            ]
            return Counter(person.result() for person in people)


@dataclass
class ScriptedPerson:
    """A scripted participant with cookies and preferences."""

    crowd: Crowd
    number: int
    known: Sequence[Instance]
    cookies: dict[str, str] = field(default_factory=dict)
    path: str = ""
    page: str = ""

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([self.crowd.seed, self.number])
        self._habit = self._random.normal(0, HABIT)

    def take_part(self, manner: str = "finish") -> str:
        """Go through the study; return "finished", "full", or what the manner says."""
        self.get(f"/s/{self.crowd.slug}")
        begin = [form for form in self.forms() if form.id == "begin"]
        if not begin:
            return "full"
        self.send(begin[0])
        if self.path != "/consent":
            return "full"
        if manner == "abandon":
            return "abandoned"
        (agree,) = [form for form in self.forms() if form.id == "agree"]
        self.send(agree, tick=FormReader(self.page).ticks)
        if self.path != "/code":
            return "full"
        self.get("/go")
        return self._walk(2 if manner == "drop out" else None)

    def _walk(self, votes: int | None) -> str:
        answers = 0
        while self.path not in ("/done", "/closed"):
            answer = [form for form in self.forms() if form.id == "answer"]
            if not answer:
                self._go_on()
                continue
            answers += answer[0].action.endswith("/own") and answer[0].action.startswith("/a/")
            if votes is not None and answers >= votes:
                return "dropped out"
            self.send(answer[0], **self._answer(answer[0]))
        return "finished"

    def _go_on(self) -> None:
        """Leave a page that asks nothing: feedback after practice, or waiting for items."""
        if self.path == "/wait":
            time.sleep(1.0)
            self.get("/next")
        else:
            ends = [form for form in self.forms() if form.action == "/practice/end"]
            if ends:
                self.send(ends[0])
            else:
                self.get("/practice")

    def _answer(self, form: PageForm) -> dict[str, Any]:
        explanation = self._recognize()
        check = explanation.check if explanation else None
        fields: dict[str, Any] = dict.fromkeys(form.texts, "the shape in the middle")
        places: Counter[str] = Counter()
        for name in form.choices:
            ranking, line, _ = name.partition(".")
            if line:
                places[ranking] += 1
                fields[name] = str(places[ranking])
            elif name in form.required:
                rated = check.ratings.get(name) if check else None
                fields[name] = str(rated or self._rate(explanation))
        for name, value in form.boxes.items():
            if check and check.box:
                block = name.removesuffix("_nothing")
                for part, number in check.box.model_dump().items():
                    fields[f"{block}_{part}_0"] = str(number)
            else:
                fields[name] = value
        return fields

    def _rate(self, explanation: Instance | None) -> int:
        effect = self.crowd.effects.get(explanation.technique, 0.0) if explanation else 0.0
        liked = MIDDLE + effect + self._habit + self._random.normal(0, NOISE)
        return int(np.clip(np.rint(liked), 1, 5))

    def _recognize(self) -> Instance | None:
        """Return the explanation of the page, by its image files."""
        files = set(FILE.findall(self.page))
        complete = [item for item in self.known if set(item.images()) <= files]
        part = [item for item in self.known if item.check and item.shown.image in files]
        first = part[0] if part else None
        return max(complete, key=lambda item: len(set(item.images())), default=first)

    def forms(self) -> list[PageForm]:
        """Return the forms of the open page."""
        return FormReader(self.page).forms

    def send(self, form: PageForm, **fields: Any) -> None:
        """Send a form, and follow where it leads."""
        self._request("POST", form.action, urlencode({**form.hidden, **fields}, doseq=True))

    def get(self, address: str) -> None:
        """Open a page, and follow where it leads."""
        self._request("GET", address, None)

    def _request(self, method: str, address: str, body: str | None) -> None:
        for _ in range(TRIES):
            status, headers, text = self._ask(method, address, body)
            if status in (429, 503):
                time.sleep(min(float(headers.get("retry-after") or 0.5), 2.0))
            elif status in (302, 303):
                method, address, body = "GET", urlsplit(headers["location"]).path, None
            elif status in (200, 409):
                self.path, self.page = address.partition("?")[0], text
                return
            else:
                raise RuntimeError(f"{method} {address}: {status}\n{text[-2000:]}")
        raise RuntimeError(f"{method} {address}: no answer")

    def _ask(self, method: str, address: str, body: str | None) -> tuple[int, dict[str, str], str]:
        """Send one request; a connection that breaks counts as a part that restarts."""
        origin = urlsplit(self.crowd.origin)
        wire = HTTPConnection(origin.hostname or "", origin.port or 80, timeout=30)
        headers = {"origin": self.crowd.origin, "sec-fetch-site": "same-origin",
                   "cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}  # fmt: skip
        if body is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        try:
            wire.request(method, address, body, headers)
            answer = wire.getresponse()
            for cookie in answer.headers.get_all("set-cookie") or ():
                match = NAME.match(cookie)
                if match:
                    self.cookies[match[1]] = match[2].strip('"')
            text = answer.read().decode()
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, text
        except (OSError, HTTPException):
            return 503, {}, ""
        finally:
            wire.close()
