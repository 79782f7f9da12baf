"""A browser as far as a server sees one: kept connections, cookies, a cache, forms.

It costs little itself, so that hundreds of them run beside the server that they measure.
"""

import asyncio
import html
import random
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

LOST = (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError, IndexError)
"""What a killed server looks like from outside."""
LONGEST = 30.0
MOST_TRIES = 400
FORM = re.compile(r'<form[^>]*?\saction="([^"]+)"[^>]*>(.*?)</form>', re.S)
FIELD = re.compile(r"<(input|textarea|select)\b([^>]*)>")
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
IMAGE = re.compile(r'<img[^>]*? src="([^"]+)"')
STATIC = re.compile(r'(?:href|src)="(/static/[^"]+)"')
NAMES = ((re.compile(r"/p/.*"), "/p/{image}"), (re.compile(r"/static/.*"), "/static/{file}"),
         (re.compile(r"\d+"), "{item}"), (re.compile(r"\?.*"), ""))  # fmt: skip


@dataclass
class Traffic:
    """What all browsers of a run sent and got."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Of each answered request, by method and route."""
    faults: Counter[str] = field(default_factory=Counter)
    """Answers that should never be given: 5xx other than 503."""
    busy: int = 0
    """503, and tried again when the server said."""
    limited: int = 0
    """429."""
    broken: int = 0
    """Connections that broke."""
    answered_at: float = field(default_factory=time.monotonic)
    silence: float = 0.0
    """The longest time in which nobody got an answer from the database."""

    @property
    def requests(self) -> int:
        """Answered ones."""
        return sum(map(len, self.seconds.values()))


@dataclass(frozen=True)
class Answer:
    """To one request."""

    path: str
    status: int
    headers: list[tuple[str, str]]
    content: bytes

    def header(self, name: str) -> str:
        """The last of that name; empty where there is none."""
        return next((value for key, value in reversed(self.headers) if key == name), "")

    @property
    def text(self) -> str:
        """The content of a page."""
        return self.content.decode(errors="replace")


class Browser:
    """One person's: a kept connection, cookies, and what it may keep of styles and images."""

    def __init__(self, port: int, traffic: Traffic, chance: random.Random) -> None:
        self.port, self.traffic, self.chance = port, traffic, chance
        self.cookies: dict[str, str] = {}
        self.cache: set[str] = set()
        self.lost_answer = False
        """Whether the last answer came only after one that never did."""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def close(self) -> None:
        """The connection ends."""
        if self._streams:
            self._streams[1].close()
            self._streams = None

    async def once(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        """One request on the kept connection, or on a new one."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}",
                 f"Origin: http://127.0.0.1:{self.port}", "Sec-Fetch-Site: same-origin",
                 "Accept-Language: en",
                 "Cookie: " + "; ".join(f"{n}={v}" for n, v in self.cookies.items()),
                 *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
                 f"Content-Length: {len(body.encode())}", "", ""]  # fmt: skip
        writer.write("\r\n".join(lines).encode() + body.encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        answer = Answer(path, int(head[0].split()[1]), [(n.lower(), v) for n, v in pairs], b"")
        content = await reader.readexactly(int(answer.header("content-length") or 0))
        if answer.header("connection") == "close":
            await self.close()
        for name, value in answer.headers:
            if name == "set-cookie":
                cookie, _, kept = value.partition(";")[0].partition("=")
                self.cookies[cookie] = kept
        return Answer(path, answer.status, answer.headers, content)

    async def ask(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        """Until it is answered: what broke, or got a 503, is sent again with the same content."""
        route = path
        for pattern, name in NAMES:
            route = pattern.sub(name, route)
        self.lost_answer = False
        for attempt in range(MOST_TRIES):
            begun = time.perf_counter()
            try:
                answer = await asyncio.wait_for(self.once(method, path, body, **headers), LONGEST)
            except LOST:
                await self.close()
                self.traffic.broken += 1
                self.lost_answer = True
                await asyncio.sleep(min(0.05 * 1.3**attempt, 1) * self.chance.uniform(0.5, 1.5))
                continue
            if answer.status in (429, 503):
                self.traffic.busy += answer.status == 503
                self.traffic.limited += answer.status == 429
                assert answer.header("retry-after"), f"{answer.status} without Retry-After"
                wait = min(float(answer.header("retry-after")), 2.0)
                await asyncio.sleep(wait * self.chance.uniform(0.3, 1.3))
                continue
            self.traffic.seconds.setdefault(f"{method} {route}", []).append(
                time.perf_counter() - begun
            )
            if not route.startswith(("/p/", "/static/")):
                now = time.monotonic()
                self.traffic.silence = max(self.traffic.silence, now - self.traffic.answered_at)
                self.traffic.answered_at = now
            if answer.status >= 500:
                self.traffic.faults[f"{answer.status} {method} {route}"] += 1
                await asyncio.sleep(0.5)
                continue
            if answer.header("cache-control").find("max-age") >= 0:
                self.cache.add(path)
            return answer
        raise TimeoutError(f"no answer to {method} {route}")

    async def go(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        """To where redirects end."""
        answer = await self.ask(method, path, body, **headers)
        for _ in range(12):
            if answer.status not in (302, 303, 307):
                return answer
            answer = await self.ask("GET", answer.header("location"))
        raise AssertionError(f"too many redirects from {path}")

    async def load(self, page: str) -> None:
        """Styles, scripts and images of a page, unless they are in the cache."""
        for path in dict.fromkeys([*STATIC.findall(page), *IMAGE.findall(page)]):
            if html.unescape(path) not in self.cache:
                answer = await self.ask("GET", html.unescape(path))
                if answer.status != 200:
                    self.traffic.faults[f"{answer.status} for a part of a page"] += 1

    async def post(self, action: str, fields: Mapping[str, str]) -> Answer:
        """A form."""
        return await self.go("POST", action, urlencode(fields),
                             Content_Type="application/x-www-form-urlencoded")  # fmt: skip


def form(page: str, ends: str) -> tuple[str, str] | None:
    """The address and the inside of the form whose action ends so."""
    return next((found for found in FORM.findall(page) if found[0].endswith(ends)), None)


def filled(inside: str, chance: random.Random) -> dict[str, str]:
    """A form with something in each field: any of the radios, words, places one after the other."""
    fields: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    places: Counter[str] = Counter()
    for tag, text in FIELD.findall(inside):
        given = {name: html.unescape(value) for name, value in ATTRIBUTE.findall(text)}
        name, kind = given.get("name", ""), given.get("type", "text")
        if not name:
            continue
        if tag == "input" and kind == "hidden":
            fields[name] = given.get("value", "")
        elif tag == "input" and kind == "radio":
            choices.setdefault(name, []).append(given["value"])
        elif tag == "input" and kind == "checkbox" and name.endswith("_nothing"):
            fields[name] = "yes"
        elif tag == "textarea" and int(given.get("maxlength", 99)) > 20:
            fields[name] = chance.choice(("ears", "a long tail", "its fur", "a roof and a door"))
        elif tag == "select" and "." in name:
            places[name.partition(".")[0]] += 1
            fields[name] = str(places[name.partition(".")[0]])
    return fields | {name: chance.choice(values) for name, values in choices.items()}
