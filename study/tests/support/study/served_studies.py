"""Studies behind the pages of participants, and browsers without scripts that visit them."""

import html
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jwt
import psycopg
from cryptography.hazmat.primitives.asymmetric import rsa
from psycopg.types.json import Jsonb
from starlette.testclient import TestClient

from support.study.folder_study import SIZE, image
from support.study.stepped_study import SteppedStudy
from theodolite_study.keys import Keys
from theodolite_study.serve.app import create_app
from theodolite_study.serve.settings import Limits, Settings

ORIGIN = "https://study.example.org"
HEADERS = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
PROLIFIC = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PLATFORM_STUDY = "60ffaa11bb22cc33dd44ee66"


class ServedStudies:
    """One server; its studies are made by whoever needs them."""

    def __init__(self, url: str, folder: Path, limits: Limits | None = None) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.files = [image(folder, number) for number in range(2)]
        self.keys = Keys.create(folder / "keys.json")
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PROLIFIC.public_key()))
        keys = {"keys": [public | {"kid": "k1", "use": "sig", "alg": "RS256"}]}
        (folder / "jwks.json").write_text(json.dumps(keys))
        self.app = create_app(
            Settings(url, folder, ORIGIN, limits=limits or Limits(), behind_proxy=True)
        )
        self.client = TestClient(self.app, base_url=ORIGIN, headers=HEADERS)

    def study(self, slug: str, codes: bool = True, **settings: Any) -> SteppedStudy:
        """A study that is open, each of its outcomes with a code."""
        study = SteppedStudy(self.connection, slug=slug, **settings)
        shown = {
            "shown": {"image": self.files[0], "predicted": "cat", "map": self.files[1]},
            "same": None, "sizes": {file: list(SIZE) for file in self.files},
        }  # fmt: skip
        self.run("update instance set shown = %s where study_id = %s", Jsonb(shown), study.study)
        if codes:
            self.run("alter table outcome disable trigger outcome_frozen")
            more = (
                "insert into outcome (version_id, key) select %s, key from unnest(%s::text[]) key"
            )
            ways = ["full", "wrong_device", "returned", "withdrawn"]
            self.run(more, study.version, ways)
            self.run(
                "update outcome set code = 'C' || upper(replace(key, '_', '')),"
                " pay = case key when 'full' then 'fee' else pay end where version_id = %s",
                study.version,
            )
            self.run("alter table outcome enable trigger outcome_frozen")
        return study

    def run(self, query: str, *values: Any) -> Any:
        return self.connection.execute(query, values or None)

    def one(self, query: str, *values: Any) -> Any:
        row = self.run(query, *values).fetchone()
        return None if row is None else row[0]

    def people(self, study: SteppedStudy) -> int:
        found = self.one("select count(*) from participant where study_id = %s", study.study)
        return int(found)

    def browser(self) -> "PersonBrowser":
        return PersonBrowser(self)


class PersonBrowser:
    """Somebody's browser: cookies of their own, forms as pages have them."""

    def __init__(self, place: ServedStudies) -> None:
        self.place = place
        self.cookies: dict[str, str] = {}
        self.page: Any = None

    def _ask(self, method: str, address: str, **more: Any) -> Any:
        client = self.place.client
        client.cookies.clear()
        for name, value in self.cookies.items():
            client.cookies.set(name, value, domain="study.example.org", path="/")
        self.page = client.request(method, address, **more)
        self.cookies = {cookie.name: cookie.value or "" for cookie in client.cookies.jar}
        return self.page

    def get(self, address: str, **more: Any) -> Any:
        return self._ask("GET", address, **more)

    def post(self, address: str, follow_redirects: bool = True, **fields: Any) -> Any:
        """A form of the page that is seen, with these fields."""
        hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', self.page.text)
        assert "csrf" in dict(hidden), self.page.text
        data = {name: html.unescape(value) for name, value in hidden} | fields
        page = self._ask("POST", address, data=data, follow_redirects=follow_redirects)
        # whoever agreed sees their code, and goes on
        return self.get("/go") if page.url.path == "/code" else page

    def begins(self, slug: str, query: str = "", **fields: Any) -> Any:
        """From the first page to the consent."""
        self.get(f"/s/{slug}{query}")
        fields.setdefault("instead", "")
        if not fields["instead"]:
            del fields["instead"]
        return self.post(f"/s/{slug}/begin", **fields)

    def agrees(self, slug: str, query: str = "") -> Any:
        self.begins(slug, query)
        assert self.page.url.path == "/consent", self.page.text
        return self.post("/consent")

    def rates(self, value: int = 3) -> Any:
        """The whole of an item."""
        item = self.page.url.path
        assert item.startswith(("/a/", "/practice/")) or item == "/practice", self.page.text
        if item == "/practice":
            item = "/practice/1"
        self.post(f"{item}/own", words="x", regions_nothing="yes")
        return self.post(f"{item}/ratings", q1=str(value))


def prolific_link(slug: str, person: str = "5f00aa11", session: str = "", **claims: Any) -> str:
    """The link of the platform, signed."""
    session = session or f"sub{person}"
    inside = {"PROLIFIC_PID": person, "STUDY_ID": PLATFORM_STUDY, "SESSION_ID": session}
    now = int(time.time())
    said = {
        "iss": "https://www.prolific.com", "aud": f"{ORIGIN}/s/{slug}", "iat": now,
        "exp": now + 600, "sub": session, "prolific": inside,
    }  # fmt: skip
    key = claims.pop("key", PROLIFIC)
    token = jwt.encode(said | claims, key, algorithm="RS256", headers={"kid": "k1"})
    return f"?prolific_token={token}"


@contextmanager
def served_studies(url: str, folder: Path, **more: Any) -> Iterator[ServedStudies]:
    place = ServedStudies(url, folder, **more)
    try:
        with place.client:
            yield place
    finally:
        place.connection.close()
