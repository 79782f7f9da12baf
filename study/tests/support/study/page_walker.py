"""People who take part by the pages of the participants' server, without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from starlette.testclient import TestClient

from support.study.prolific_double import STUDY
from theodolite_study.demo.page_forms import FormReader, PageForm

OWN_WORDS = "a tower"


@dataclass
class PageWalker:
    """Somebody whom the double of Prolific sent, with cookies of their own."""

    browser: TestClient
    connection: psycopg.Connection[Any]
    slug: str
    name: str
    cookies: dict[str, str] = field(default_factory=dict)
    page: Any = None

    def get(self, address: str) -> Any:
        return self._sent("GET", address)

    def _sent(self, method: str, address: str, fields: Mapping[str, Any] | None = None) -> Any:
        self.browser.cookies.clear()
        for name, value in self.cookies.items():
            self.browser.cookies.set(name, value, domain=self.browser.base_url.host)
        self.page = self.browser.request(method, address, data=fields)
        self.cookies = dict(self.browser.cookies)
        assert self.page.status_code == 200, (address, self.page.status_code, self.page.text)
        return self.page

    @property
    def path(self) -> str:
        return str(self.page.url.path)

    def forms(self) -> list[PageForm]:
        return FormReader(self.page.text).forms

    def sends(self, form: PageForm, **fields: Any) -> Any:
        return self._sent("POST", form.action, form.hidden | fields)

    def arrives(self) -> bool:
        """Whether there is room."""
        ids = f"PROLIFIC_PID=p{self.name}&STUDY_ID={STUDY}&SESSION_ID={self.name}"
        self.get(f"/s/{self.slug}?{ids}")
        begin = [form for form in self.forms() if form.id == "begin"]
        if begin:
            self.sends(begin[0])
        return self.path == "/consent"

    def agrees(self) -> None:
        (form,) = [form for form in self.forms() if form.id == "agree"]
        self.sends(form, tick=FormReader(self.page.text).ticks)
        assert self.path == "/code", "before the first item"
        self.get("/go")

    def declines(self) -> None:
        (form,) = [form for form in self.forms() if form.action == "/decline"]
        self.sends(form)

    def walks(self, votes: int = 10**6, *, device: str = "desk", right: bool = True) -> None:
        """From page to page until the end, or until so many votes were given."""
        given = 0
        while self.path not in ("/done", "/wait") and given < votes:
            if self.path.startswith("/practice") and not self._answer_forms():
                self._after_practice()
                continue
            (form,) = self._answer_forms()
            given += form.action.startswith("/a/") and form.action.endswith("/ratings")
            self.sends(form, **self._answers(form, device, right=right))

    def _answer_forms(self) -> list[PageForm]:
        return [form for form in self.forms() if form.id == "answer"]

    def _after_practice(self) -> None:
        ends = [form for form in self.forms() if form.action == "/practice/end"]
        if ends:
            self.sends(ends[0])
        else:
            self.get("/practice")

    def _answers(self, form: PageForm, device: str, *, right: bool) -> dict[str, str]:
        check = self._check(form.action)
        ratings = {name: str(value) for name, value in (check.get("ratings") or {}).items()}
        fields = {name: device if name == "device" else OWN_WORDS for name in form.texts}
        place = 0
        for name, values in form.choices.items():
            if "." in name:  # a line of a list that is put in order
                place = place + 1 if name.partition(".")[0] == getattr(self, "_list", "") else 1
                self._list = name.partition(".")[0]
                fields[name] = str(place)
            elif name == "device":
                fields[name] = device
            elif name in ratings:
                fields[name] = ratings[name] if right else _other(values, ratings[name])
            elif name not in ("age_band", "gender"):
                fields[name] = "3" if "3" in values else values[0]
        box = check.get("box")
        for name, value in form.boxes.items():
            if box and right:
                own = name.removesuffix("_nothing")
                fields |= {f"{own}_{part}_0": str(box[part]) for part in box}
            else:
                fields[name] = value
        return fields

    def _check(self, action: str) -> dict[str, Any]:
        """What is right beyond doubt here, as the material says."""
        kind, number = action.split("/")[1:3]
        if kind == "practice":
            query = ("select record -> 'check' from instance i join study s on s.id = i.study_id"
                     " where s.slug = %s and kind = 'training' order by place offset %s limit 1")  # fmt: skip
            row = self.connection.execute(query, (self.slug, int(number) - 1)).fetchone()
        elif kind == "a":
            row = self.connection.execute(
                "select record -> 'check' from instance i join assignment a on a.instance_id = i.id"
                " where a.id = %s", (int(number),),
            ).fetchone()  # fmt: skip
        else:
            row = None
        return dict(row[0] or {}) if row else {}

    def stops(self) -> None:
        self.get("/stop")
        self.sends(self.forms()[0])

    def withdraws(self) -> None:
        self.get("/withdraw")
        (form,) = [form for form in self.forms() if form.action == "/withdraw"]
        self.sends(form, **({"paid": "yes"} if "paid" in form.choices else {}))


def _other(values: list[str], one: str) -> str:
    return next(value for value in values if value != one)
