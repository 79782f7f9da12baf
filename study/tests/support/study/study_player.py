"""One person goes through a study over HTTP, by the forms on its pages and nothing else."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

BOXES = '[{"x": 1, "y": 2, "width": 5, "height": 6}]'
BUSY = (429, 503)


@dataclass
class Form:
    """A form as a browser without scripts would send it."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    """Radio groups: what can be chosen."""


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._area: str | None = None
        self._option = False
        self._chosen = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "form":
            self._form = Form(given["action"])
            self.forms.append(self._form)
        if self._form is None:
            return
        name = given.get("name", "")
        if tag == "input" and name:
            self._input(name, given)
        elif tag == "select":
            self._select, self._chosen = name, False
        elif tag == "option" and self._select:
            self._option = "selected" in given or not self._chosen
            if self._option:
                self._chosen = self._chosen or "selected" in given
                self._form.fields[self._select] = given.get("value", "")
                self._option = "value" not in given
        elif tag == "textarea":
            self._area = name
            self._form.fields[name] = ""

    def _input(self, name: str, given: dict[str, str]) -> None:
        assert self._form is not None
        if given.get("type") == "radio":
            self._form.choices.setdefault(name, []).append(given["value"])
            if "checked" in given:
                self._form.fields[name] = given["value"]
        else:
            self._form.fields[name] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._form is not None and self._area:
            self._form.fields[self._area] += data
        if self._form is not None and self._select and self._option and data.strip():
            self._form.fields[self._select] = data.strip()
            self._option = False

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None


def forms_of(page: str) -> dict[str, Form]:
    """The forms of a page by where they go."""
    reader = _Forms()
    reader.feed(page)
    return {form.action: form for form in reader.forms}


def links_of(page: str) -> list[str]:
    reader = _Forms()
    reader.feed(page)
    return reader.links


def rated(form: Form, page: str) -> dict[str, str]:
    """3 to everything that is asked, and 2 to question 3, which small studies check."""
    return {name: "2" if name == "q3" else "3" for name in form.choices}


@dataclass
class Player:
    """A browser without scripts. ``client`` is of httpx, or a TestClient."""

    client: Any
    origin: str = "https://study.test"
    rate: Callable[[Form, str], dict[str, str]] = rated
    text: str = "its ears"
    patience: float = 20.0
    path: str = ""
    page: str = ""
    status: int = 0
    visited: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)

    def get(self, path: str) -> Any:
        """Open a page, wherever it leads."""
        return self._arrived(lambda: self._send("GET", path), path)

    def send(self, action: str, **fields: str) -> Any:
        """Send a form of the page that is open."""
        form = forms_of(self.page)[action]
        return self.post(action, form.fields | fields)

    def post(self, action: str, fields: dict[str, str]) -> Any:
        """Send fields as a page of ours would."""
        return self._arrived(lambda: self._send("POST", action, fields), action)

    def _send(self, method: str, path: str, fields: dict[str, str] | None = None) -> Any:
        until = time.monotonic() + self.patience
        while True:
            response = self.client.request(
                method, path, data=fields, follow_redirects=False,
                headers={} if method == "GET" else {"origin": self.origin},
            )  # fmt: skip
            if response.status_code not in BUSY or time.monotonic() > until:
                return response
            time.sleep(min(float(response.headers["retry-after"]), 0.2))

    def _arrived(self, send: Callable[[], Any], path: str) -> Any:
        response = send()
        for _ in range(10):
            self.visited.append(f"{response.request.method} {path} {response.status_code}")
            if "x-receipt" in response.headers:
                self.receipts.append(response.headers["x-receipt"])
            if response.status_code != 303:
                self.path, self.page, self.status = path, response.text, response.status_code
                return response
            path = response.headers["location"]
            response = self._send("GET", path)
        raise AssertionError(f"round and round: {self.visited[-10:]}")

    def step(self) -> bool:
        """Do what the open page asks for; False at the end."""
        forms, path = forms_of(self.page), self.path
        if path in ("/finish", "/ended"):
            return False
        if path == "/code":
            self.get("/demographics")
        elif path == "/training":
            self.get(next(one for one in links_of(self.page) if one.startswith("/training/")))
        elif path.endswith("/feedback") and "/training/end" not in forms:
            self.get("/training")
        elif f"{path}/baseline" in forms:
            self.send(f"{path}/baseline", text=self.text, boxes=BOXES)
        elif f"{path}/ratings" in forms:
            form = forms[f"{path}/ratings"]
            self.send(f"{path}/ratings", **self.rate(form, self.page))
        else:
            own = [a for a in forms if a in (path, f"{path}/begin", "/training/end", "/next")]
            assert own, f"nothing to do on {path} ({self.status})"
            self.send(own[0])
        assert self.status == 200, (self.path, self.status, self.page)
        return True


def local_client(origin: str, timeout: float = 10.0) -> Any:
    """A client that keeps Secure cookies on http://127.0.0.1 too, as browsers do."""
    import httpx  # noqa: PLC0415

    kept: dict[str, str] = {}

    def with_cookies(request: Any) -> None:
        if kept:
            request.headers["cookie"] = "; ".join(f"{name}={kept[name]}" for name in kept)

    def keep(response: Any) -> None:
        for given in response.headers.get_list("set-cookie"):
            name, _, value = given.split(";")[0].partition("=")
            kept[name] = value.strip('"')

    hooks = {"request": [with_cookies], "response": [keep]}
    return httpx.Client(base_url=origin, timeout=timeout, event_hooks=hooks)


def play(client: Any, *, slug: str = "small", query: str = "", **settings: Any) -> Player:
    """From the landing page to the end; the player tells where it went."""
    player = Player(client, **settings)
    player.get(f"/s/{slug}{query}")
    while player.step():
        pass
    return player
