"""Requests made from the description of our addresses: whatever comes, nothing breaks."""

import warnings
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from support.study.web_study import ORIGIN, Person, browser, person, web_app
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.sessions import begin, digest_of
from theodolite_study.staff import invite_staff
from theodolite_study.web.settings import Limits
from theodolite_study.web.staff_asking import SESSION

SOME = settings(
    max_examples=3, deadline=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


class Staff(Person):
    """Somebody of the staff."""

    @property
    def cookies(self) -> dict[str, str]:
        return {SESSION: self.token}


def test_nothing_breaks(database: Database, tmp_path: Path) -> None:
    limits = Limits(pool=3, posts_burst=10_000, landings_burst=10_000)
    app = web_app(database, tmp_path / "s", instances=2, training=1, votes=50, limits=limits)
    with warnings.catch_warnings():  # a route for GET and HEAD has one name
        warnings.filterwarnings("ignore", "Duplicate Operation ID", UserWarning)
        schema = schemathesis.openapi.from_dict(app.openapi())
    keys = Keys.read(tmp_path / "s")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 50
    with browser(app) as client:
        who = person(database, keys, "revealed")
        for operation in operations:
            if operation.method.upper() == "POST":
                who = person(database, keys, "revealed")  # the last one may have gone on
            if operation.method.upper() != "HEAD" and "/admin" not in operation.path:
                fuzzed(client, operation, who)
        for operation in operations:
            if operation.method.upper() != "HEAD" and "/admin" in operation.path:
                fuzzed(client, operation, staff(database, keys))


def staff(database: Database, keys: Keys) -> Staff:
    """Somebody with a session of the staff: the last one may have logged out."""
    invite_staff(database, "small", "eve", keys)
    with database.owning() as connection:
        number = connection.execute(text("select id from staff")).scalar_one()
    token = begin(database, staff_id=number)
    return Staff(None, token, keys.csrf(digest_of(token)), 0)


def fuzzed(client: Any, operation: Any, who: Any) -> None:
    @SOME
    @given(data=st.data())
    def run(data: Any) -> None:
        case = data.draw(operation.as_strategy())
        sent = case.as_transport_kwargs(base_url=ORIGIN)
        headers = {**dict(sent.get("headers") or {}), "origin": ORIGIN, "x-csrf": who.csrf}
        headers = {name: str(value) for name, value in headers.items()}
        fields = dict(sent["data"]) if isinstance(sent.get("data"), dict) else None
        client.cookies.clear()
        client.cookies.update(who.cookies)
        answer = client.request(
            sent["method"], sent["url"].replace("/a/0", f"/a/{who.item}"),
            data=None if fields is None else fields | {"csrf": who.csrf},
            json=sent.get("json"), params=sent.get("params"), headers=headers,
            follow_redirects=False,
        )  # fmt: skip
        assert answer.status_code < 500, (operation.path, answer.status_code, answer.text)

    run()
