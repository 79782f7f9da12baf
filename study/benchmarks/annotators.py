"""People who take part in a study as browsers let them: pages, images, drafts, ratings.

A vote with maps and twins is 13 requests: page, image, own answer, page, six images (those of
the cache are not asked for again), draft, sign of life, ratings.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvloop
from browsers import IMAGE, Answer, Browser, Traffic, filled, form

Outcome = TypeVar("Outcome")
ITEM = re.compile(r"/a/(\d+)$")
ON_THE_WAY = ("/stage/about", "/stage/door", "/stage/end")


@dataclass(frozen=True)
class Behavior:
    """What people do, in shares of items; seconds are means."""

    think: float = 0.0
    """Seconds for one item in all."""
    peek: float = 0.0
    """Tries to see the explanation before the own answer."""
    abandon: float = 0.0
    """Goes away in the middle of an item, for `away` seconds."""
    away: float = 10.0
    twice: float = 0.0
    """A double click on the last button."""
    other: float = 0.0
    """Sends other ratings afterwards."""
    skip: float = 0.0
    stop: float = 0.0
    withdraw: float = 0.0


@dataclass
class Witness:
    """What people saw, to be held against the tables afterwards."""

    traffic: Traffic = field(default_factory=Traffic)
    acknowledged: dict[int, dict[str, int]] = field(default_factory=dict)
    """Ratings that the server took, by item."""
    taken_back: set[int] = field(default_factory=set)
    """Items of people who withdrew."""
    peeks: int = 0
    early: int = 0
    addresses: dict[str, str] = field(default_factory=dict)
    """The last address that anybody was given for a file."""
    ended: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@dataclass
class Annotator:
    """One person with a browser."""

    browser: Browser
    slug: str
    witness: Witness
    behavior: Behavior = Behavior()
    hidden: dict[str, set[str]] = field(default_factory=dict)
    """For each image the files that nobody may see before their own answer."""
    items: list[int] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    """Files of explanations that were shown, which further ones may share."""
    left: str = ""
    """How, if by oneself."""

    @property
    def chance(self) -> random.Random:
        """The same for the same person."""
        return self.browser.chance

    async def begins(self) -> Answer:
        """From the door to the first item."""
        page = await self.comes()
        for _ in range(12):
            if ITEM.search(page.path):
                return page
            page = await self._onward(page)
        raise AssertionError(f"no item after {page.path}: {page.status}")

    async def works(self) -> str:
        """From the door to the end: how it ended."""
        page = await self.comes()
        for _ in range(100_000):
            if page.status in (400, 401, 403, 404, 409, 422):
                page = await self._after_refusal(page)
            elif ITEM.search(page.path):
                page = await self.item(page)
            elif page.path.startswith("/wait"):
                await asyncio.sleep(self.chance.uniform(0.2, 1.0))
                page = await self.browser.go("GET", "/next")
            elif page.path.startswith("/done"):
                return self._ended("done")
            elif page.path.startswith("/s/") and form(page.text, "/begin") is None:
                return self._ended("full")
            else:
                page = await self._onward(page)
        raise AssertionError("an endless study")

    async def comes(self) -> Answer:
        """The first page, with its styles."""
        page = await self.browser.go("GET", f"/s/{self.slug}")
        await self.browser.load(page.text)
        return page

    def _ended(self, how: str) -> str:
        self.witness.ended[how] = self.witness.ended.get(how, 0) + 1
        return how

    async def _after_refusal(self, page: Answer) -> Answer:
        """An answer was lost on its way, or the item is another's: as people do, from the start."""
        if "__Host-theodolite" not in self.browser.cookies:
            await asyncio.sleep(0.2)
            return await self.browser.go("GET", f"/s/{self.slug}")
        if not self.browser.lost_answer and page.status in (401, 422):
            self.witness.faults.append(f"{page.status} at {page.path}: {page.text[-300:]}")
            return Answer("/done", 200, [], b"")
        return await self.browser.go("GET", "/next")

    async def _onward(self, page: Answer) -> Answer:
        """Send the form of the page, or follow its link."""
        for ends in ("/begin", "/consent", *ON_THE_WAY):
            found = form(page.text, ends)
            if found is not None:
                return await self.browser.post(found[0], filled(found[1], self.chance))
        link = re.search(r'href="(/(?:next|go))"', page.text)
        return await self.browser.go("GET", link[1] if link else "/next")

    async def item(self, page: Answer) -> Answer:
        """All requests of one item; the page that comes next."""
        number = int(ITEM.search(page.path)[1])  # type: ignore[index]
        await self.browser.load(page.text)
        own = form(page.text, "/own")
        if own is not None:
            if self.chance.random() < self.behavior.peek:
                await self.peeks(page.text)
            await self._thinks()
            if self.chance.random() < self.behavior.skip:
                return await self._skips(page)
            page = await self.browser.post(own[0], filled(own[1], self.chance))
            if not ITEM.search(page.path) or page.status != 200:
                return page
            await self.browser.load(page.text)
        rating = form(page.text, "/ratings")
        if rating is None:
            return await self.browser.go("GET", "/next")
        self._remember(page.text)
        await self._half(page, number)
        if self.chance.random() < self.behavior.abandon:
            await asyncio.sleep(self.behavior.away * self.chance.uniform(0.5, 1.5))
        await self._thinks()
        return await self._rates(number, *rating)

    async def _half(self, page: Answer, number: int) -> None:
        """What a page's script sends meanwhile."""
        csrf = re.findall(r'name="csrf" value="([^"]+)"', page.text)[0]
        headers = {"Content_Type": "application/json", "X_CSRF": csrf}
        await self.browser.ask(
            "POST", f"/a/{number}/draft", json.dumps({"answers": {"q1": 3}}), **headers
        )
        await self.browser.ask("POST", "/alive", json.dumps({"item": int(number)}), **headers)

    async def _rates(self, number: int, action: str, inside: str) -> Answer:
        fields = filled(inside, self.chance)
        ratings = {name: int(v) for name, v in fields.items() if re.fullmatch(r"q\d", name)}
        second = None
        if self.chance.random() < self.behavior.twice:
            other = Browser(self.browser.port, self.browser.traffic, self.chance)
            other.cookies = dict(self.browser.cookies)
            second = asyncio.create_task(other.post(action, fields))
        page = await self.browser.post(action, fields)
        if second is not None:
            await second
            await other.close()
        if page.status == 200:
            self.witness.acknowledged[number] = ratings
            self.items.append(number)
            if self.chance.random() < self.behavior.other:
                await self._sends_others(number, action, fields, ratings)
            if self.chance.random() < self.behavior.withdraw:
                return await self._withdraws()
            if self.chance.random() < self.behavior.stop:
                return await self._stops(page)
        return page

    async def _sends_others(
        self, number: int, action: str, fields: dict[str, str], ratings: dict[str, int]
    ) -> None:
        changed = {name: str(value % 5 + 1) for name, value in ratings.items()}
        answer = await self.browser.post(action, fields | changed)
        if answer.status < 400:
            self.witness.faults.append(f"other ratings were taken for item {number}")

    async def _skips(self, page: Answer) -> Answer:
        found = form(page.text, "/release")
        assert found is not None
        return await self.browser.post(found[0], filled(found[1], self.chance) | {"reason": "x"})

    async def _stops(self, page: Answer) -> Answer:
        page = await self.browser.go("GET", "/stop")
        found = form(page.text, "/stop")
        if found is None:
            return page
        self.left = "stopped"
        return await self.browser.post("/stop", filled(found[1], self.chance))

    async def _withdraws(self) -> Answer:
        page = await self.browser.go("GET", "/withdraw")
        found = form(page.text, "/withdraw")
        if found is None:
            return page
        gone = await self.browser.post("/withdraw", filled(found[1], self.chance) | {"paid": "yes"})
        if gone.status == 200 or self.browser.lost_answer:
            self.witness.taken_back.update(self.items)
            self.left = "withdrawn"
            return Answer("/done", 200, [], b"")
        self.witness.faults.append(f"{gone.status} at a withdrawal")
        return gone

    def _remember(self, page: str) -> None:
        for address in IMAGE.findall(page):
            self.witness.addresses[address.rpartition("/")[2]] = address
            self.known.add(address.rpartition("/")[2])

    async def peeks(self, page: str) -> None:
        """Nothing of the explanation is named or given before the own answer."""
        (address, *_) = IMAGE.findall(page)
        before, _, file = address.rpartition("/")
        for other in self.hidden.get(file, set()) - self.known:
            self.witness.early += other.partition(".")[0] in page
            for tried in {f"{before}/{other}", self.witness.addresses.get(other, "")} - {""}:
                self.witness.peeks += 1
                answer = await self.browser.ask("GET", tried)
                self.witness.early += answer.status == 200

    async def _thinks(self) -> None:
        if self.behavior.think:
            await asyncio.sleep(min(self.chance.expovariate(2 / self.behavior.think),
                                    2 * self.behavior.think))  # fmt: skip


def run_people(people: Coroutine[Any, Any, Outcome]) -> Outcome:
    """By the event loop that costs least."""
    return uvloop.run(people)


@dataclass(frozen=True)
class Crowd:
    """So many people at once, for a time; they come over the first `spread` seconds."""

    people: int
    seconds: float
    behavior: Behavior = Behavior()
    spread: float = 0.0
    seed: int = 0


async def taking_part(port: int, slug: str, crowd: Crowd) -> tuple[Witness, float]:
    """What they saw, and the seconds that it took."""
    witness, begun = Witness(), time.monotonic()
    chances = [random.Random(crowd.seed + k) for k in range(crowd.people)]
    browsers = [Browser(port, witness.traffic, chance) for chance in chances]

    async def one(k: int) -> None:
        await asyncio.sleep(crowd.spread * k / crowd.people)
        await Annotator(browsers[k], slug, witness, crowd.behavior).works()

    tasks = [asyncio.create_task(one(k)) for k in range(crowd.people)]
    done, waiting = await asyncio.wait(
        tasks, timeout=crowd.seconds, return_when=asyncio.FIRST_EXCEPTION
    )
    wall = time.monotonic() - begun
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()
    for browser in browsers:
        await browser.close()
    return witness, wall
