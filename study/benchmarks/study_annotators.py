"""Scripted annotators over HTTP, and whoever kills the server under their hands."""

import asyncio
import json
import os
import random
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

QUESTIONS = re.compile(r'name="(q[1-6])"')
WORDS = ("ears", "a long tail", "its fur", "the wheels", "a roof and a door", "leaves")


@dataclass
class Seen:
    """What all annotators saw, to be held against the tables afterwards."""

    acknowledged: dict[int, dict[str, int]] = field(default_factory=dict)
    early: int = 0
    peeks: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """Answers that should never be given: 5xx other than 503."""
    busy: int = 0
    lost: int = 0
    """Connections that broke: the server or the database was killed."""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    done: int = 0
    again: Counter[str] = field(default_factory=Counter)
    """Pages that had to be loaded again at the door, by status."""

    def took(self, route: str, seconds: float) -> None:
        self.seconds.setdefault(route, []).append(seconds)


@dataclass(frozen=True)
class Behaviour:
    """How people behave, in shares of items; seconds are means."""

    peek: float = 0.2
    abandon: float = 0.03
    away: float = 40.0
    twice: float = 0.1
    other: float = 0.03
    think: float = 0.0
    """Seconds for one item in all."""
    patience: float = 1800.0


class Refused(Exception):
    """An answer that ends this step: the annotator asks for the next item."""


class Annotator:
    """One browser with a cookie."""

    def __init__(
        self, http: aiohttp.ClientSession, origin: str, slug: str, seen: Seen, seed: int,
        behaviour: Behaviour,
    ) -> None:  # fmt: skip
        self.http, self.origin, self.slug, self.seen = http, origin, slug, seen
        self.random = random.Random(seed)
        self.behaviour = behaviour
        self.cookies: dict[str, str] = {}
        self.csrf = ""

    async def request(
        self, method: str, path: str, data: dict[str, str] | None = None, *, asset: bool = False
    ) -> tuple[int, str, bytes]:
        """Until it is answered: lost connections and 503 are tried again with the same content."""
        headers = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin"}
        route = re.sub(r"\d+", "{id}", path.split("?")[0])
        for attempt in range(200):
            # by hand: jars keep secure cookies back from http, which browsers allow on localhost
            headers["Cookie"] = "; ".join(f"{n}={v}" for n, v in self.cookies.items())
            begun = time.perf_counter()
            try:
                async with self.http.request(
                    method, self.origin + path, data=data, headers=headers, allow_redirects=False
                ) as answer:
                    body = await answer.read()
                    status = answer.status
                    location = answer.headers.get("Location", "")
                    given = {name: one.value for name, one in answer.cookies.items()}
            except (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError):
                self.seen.lost += 1
                await asyncio.sleep(min(0.1 * 1.5**attempt, 2) * self.random.uniform(0.5, 1.5))
                continue
            self.cookies |= given
            if status in (503, 429):
                self.seen.busy += 1
                wait = float(answer.headers.get("Retry-After", 1))
                if route.endswith("next") and status == 503:
                    return status, location, body
                await asyncio.sleep(min(wait, 2) * self.random.uniform(0.3, 1.3))
                continue
            self.seen.took(f"{method} {route}", time.perf_counter() - begun)
            if status >= 500:
                self.seen.faults[f"{status} {method} {route}"] += 1
                await asyncio.sleep(1)
                continue
            if not asset and status == 200:
                found = re.search(rb'name="csrf" value="([^"]+)"', body)
                if found:
                    self.csrf = found[1].decode()
            return status, location, body
        raise TimeoutError(f"no answer to {method} {path}")

    async def get(self, path: str) -> tuple[int, str, bytes]:
        return await self.request("GET", path)

    async def post(self, path: str, **data: str) -> tuple[int, str, bytes]:
        return await self.request("POST", path, {"csrf": self.csrf, **data})

    async def come_in(self) -> None:
        """Landing, consent, a few words about oneself; until the study itself."""
        await self.get(f"/s/{self.slug}")
        status, place, body = await self.post(f"/s/{self.slug}/begin")
        for _ in range(60):
            if status >= 400:  # an answer was lost on its way: as a person would, load the page
                self.seen.again[f"{status} {place or 'at the door'}"] += 1
                await asyncio.sleep(self.random.uniform(0.1, 0.5))
                status, place, body = await self.get(f"/s/{self.slug}")
            elif status in (302, 303):
                status, place, body = await self.get(place)
            elif b'action="/next"' in body:
                return
            elif b"/begin" in body:
                status, place, body = await self.post(f"/s/{self.slug}/begin")
            elif b'action="/consent"' in body:
                status, place, body = await self.post("/consent")
            elif b'action="/demographics"' in body:
                status, place, body = await self.post("/demographics")
            else:
                links = re.findall(rb'href="(/(?:demographics|training|code)[^"]*)"', body)
                assert links, body[:500]
                status, place, body = await self.get(links[0].decode())
        raise AssertionError("the study was never reached")

    async def work(self) -> int:
        """All items that there are for one person."""
        await self.come_in()
        items, until = 0, time.monotonic() + self.behaviour.patience
        while time.monotonic() < until:
            status, place, body = await self.post("/next")
            if status == 503:
                await asyncio.sleep(self.random.uniform(0.5, 2))
                continue
            if status == 303 and place.startswith("/a/"):
                try:
                    await self.item(int(place.split("/")[2]))
                    items += 1
                except Refused:
                    await asyncio.sleep(0.05)
                continue
            if status == 303 and place.startswith("/wait"):
                await asyncio.sleep(self.random.uniform(0.5, 2))
                continue
            if status in (200, 303):
                self.seen.done += 1
                return items
            if status in (403, 409):
                await self.get("/")
                continue
            raise AssertionError((status, place, body[:300]))
        return items

    async def item(self, number: int) -> None:
        path = f"/a/{number}"
        status, _, body = await self.get(path)
        if status != 200:
            raise Refused
        if b'name="text"' in body:
            if self.random.random() < self.behaviour.peek:
                await self.peek(path)
            await self.think()
            boxes = json.dumps([{"x": 1, "y": 1, "width": 5, "height": 4}])
            text = self.random.choice(WORDS)
            status, _, _ = await self.post(f"{path}/baseline", text=text, boxes=boxes, client="{}")
            if status != 303:
                raise Refused
            status, _, body = await self.get(path)
        if status != 200 or b'name="key"' not in body:
            raise Refused
        if b"/asset/map" in body:
            await self.request("GET", f"{path}/asset/map", asset=True)
        if self.random.random() < self.behaviour.abandon:
            await asyncio.sleep(self.behaviour.away * self.random.uniform(0.5, 1.5))
        await self.think()
        await self.rate(number, body.decode())

    async def rate(self, number: int, page: str) -> None:
        key = re.search(r'name="key" value="([^"]+)"', page)
        assert key is not None
        answers = {name: self.random.randint(1, 5) for name in set(QUESTIONS.findall(page))}
        form = {name: str(value) for name, value in answers.items()}
        further = {"key": key[1], "durations": "{}", "client": "{}"}
        sends = 2 if self.random.random() < self.behaviour.twice else 1
        results = await asyncio.gather(
            *(self.post(f"/a/{number}/ratings", **form, **further) for _ in range(sends))
        )
        for status, _, _ in results:
            if status == 303:
                self.seen.acknowledged[number] = answers
        if self.random.random() < self.behaviour.other and results[0][0] == 303:
            changed = {name: str(value % 5 + 1) for name, value in answers.items()}
            status, _, _ = await self.post(f"/a/{number}/ratings", **changed, **further)
            if status == 303:
                self.seen.faults["another vote was taken for the same item"] += 1

    async def peek(self, path: str) -> None:
        """Nothing of the explanation may come before the own answer."""
        for role in ("map", "same_map", "different_picture"):
            self.seen.peeks += 1
            status, _, body = await self.request("GET", f"{path}/asset/{role}", asset=True)
            if status == 200 and body:
                self.seen.early += 1

    async def think(self) -> None:
        if self.behaviour.think:
            await asyncio.sleep(self.random.expovariate(2 / self.behaviour.think))


def children(pid: int) -> list[int]:
    """Worker processes of a server, without the one that keeps track of shared things."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat[1]) == pid and stat[0] != "Z" and b"resource_tracker" not in command:
            found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill_one(pids: list[int], rng: random.Random) -> bool:
    """SIGKILL to one of them."""
    if not pids:
        return False
    try:
        os.kill(rng.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
