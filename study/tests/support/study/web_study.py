"""A study on a server in this process, and people at each of its steps."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import text
from starlette.testclient import TestClient

from support.study.small_study import answers_for, opened, said, study_folder
from theodolite_study import sessions
from theodolite_study.answers import Ratings
from theodolite_study.assignments import reveal, store_baseline
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.participants import arrive, consent, decline, finish
from theodolite_study.platforms.identity import Identity
from theodolite_study.rankings import store_rankings
from theodolite_study.sessions import digest_of
from theodolite_study.votes import submit
from theodolite_study.web.app import create_app
from theodolite_study.web.cookies import SESSION
from theodolite_study.web.settings import Limits, Settings

ORIGIN = "https://study.test"
STAGES = (
    "nobody", "landed", "consented", "training", "idle", "leased", "revealed", "finished",
    "ranked", "declined", "screened_out",
)  # fmt: skip
_names = count()


def web_app(
    database: Database, folder: Path, *, limits: Limits | None = None, webhook: str | None = None,
    **study: Any,
) -> Any:  # fmt: skip
    """An application for a small study that is open; its pool is closed by `browser`."""
    opened(database, study_folder(folder, **study))
    settings = Settings(
        database.url, folder, ORIGIN, webhook_secret=webhook, limits=limits or Limits(pool=3)
    )
    return create_app(settings)


@contextmanager
def browser(app: Any, count: int = 1) -> Iterator[Any]:
    """One browser, or a list of them: each with cookies of its own."""
    made = [TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) for _ in range(count)]
    try:
        with made[0]:  # one loop for all
            for other in made[1:]:
                other.portal = made[0].portal
            yield made[0] if count == 1 else made
    finally:
        app.state.site.database.close()


def routes_of(app: Any) -> set[tuple[str, str]]:
    """Method and path of everything that the application answers."""

    def walk(routes: Any) -> Iterator[tuple[str, str]]:
        for route in routes:
            inner = getattr(route, "effective_candidates", None)
            if inner is not None:
                yield from walk(inner())
            else:
                yield from ((method, route.path) for method in route.methods)

    return set(walk(app.routes))


@dataclass(frozen=True)
class Person:
    """Somebody with a session."""

    id: UUID | None
    token: str
    csrf: str
    item: int
    """Their own item, if they have one; else one that is somebody else's."""

    @property
    def cookies(self) -> dict[str, str]:
        return {SESSION: self.token} if self.token else {}


def person(database: Database, keys: Keys, stage: str, *, others_item: int = 0) -> Person:
    """Somebody who got as far as a stage. The study has quota 1 and one practice item."""
    if stage == "nobody":
        return Person(None, "", "", others_item)
    who = arrive(database, "small", Identity("link", f"n{next(_names)}"), keys).participant.id
    token = sessions.begin(database, participant_id=who)
    item = _brought(database, keys, who, stage) or others_item
    return Person(who, token, keys.csrf(digest_of(token)), item)


def _brought(database: Database, keys: Keys, who: UUID, stage: str) -> int:
    if stage == "landed":
        return 0
    if stage == "declined":
        decline(database, who)
        return 0
    consent(database, who, keys)
    if stage == "consented":
        return 0
    if stage in ("training", "screened_out"):
        _set_state(database, who, stage)
        return 0
    _set_state(database, who, "active")
    return 0 if stage == "idle" else _at_item(database, who, stage)


def _set_state(database: Database, who: UUID, state: str) -> None:
    """Without the steps that lead there: they have tests of their own."""
    with database.owning() as connection:
        changed = text("update participant set state = :state where id = :id")
        connection.execute(changed, {"state": state, "id": who})


def _at_item(database: Database, who: UUID, stage: str) -> int:
    item = next_assignment(database, who)
    if stage == "leased":
        return item.id
    store_baseline(database, who, item.id, said())
    reveal(database, who, item.id)
    if stage == "revealed":
        return item.id
    submit(database, who, item.id, Ratings(answers_for(item), uuid4()))
    finish(database, who)
    if stage == "ranked":
        orders = {"q7": list(range(5)), "q8": list(range(6)), "q9": list(range(6))}
        store_rankings(database, who, orders)
    return item.id


def place(database: Database, who: Person) -> Any:
    """All that decides what a person can do next."""
    asked_for = """
        select p.state, count(s.token_sha256), count(r.participant_id),
            (select string_agg(concat(a.state, a.baseline_at, a.revealed_at), ',' order by a.id)
             from assignment a where a.participant_id = p.id),
            (select count(*) from practice where participant_id = p.id)
        from participant p left join session s on s.participant_id = p.id
        left join post_study r on r.participant_id = p.id where p.id = :id group by p.id
    """
    with database.owning() as connection:
        return connection.execute(text(asked_for), {"id": who.id}).one_or_none()


def rows(database: Database, *, seen: bool = True) -> dict[str, str]:
    """A digest of each table. Without ``seen``, what looking at an explanation leaves is left out."""
    left_out = {
        "session": "- 'last_seen'",
        "assignment": "" if seen else "- 'revealed_at'",
        "practice": "" if seen else "- 'revealed_at'",
        "slot": "" if seen else "- 'lease_expires_at'",
    }
    found = {}
    with database.owning() as connection:
        names = connection.execute(
            text("select tablename from pg_tables where schemaname = 'public'")
        ).scalars()
        for name in sorted(names):
            some = " where kind not in ('revealed', 'explanation served')"
            where = some if name == "event" and not seen else ""
            content = f"(to_jsonb(t) {left_out.get(name, '')})::text"
            all_of_it = f"md5(string_agg({content}, '|' order by {content}))"
            query = f"select {all_of_it} from {name} t{where}"
            found[name] = connection.execute(text(query)).scalar()
    return found


def address(template: str, who: Person, role: str = "picture") -> str:
    """A path with its parts filled in."""
    if template.startswith("/a/"):
        template = template.replace("{number}", str(who.item))
    filled = template.replace("{number}", "1").replace("{role}", role)
    return filled.replace("{slug}", "small").replace("{name:path}", "study.css")


FORMS: dict[str, dict[str, str]] = {
    "baseline": {"text": "its ears", "boxes": '[{"x":1,"y":2,"width":5,"height":6}]'},
    "ratings": {f"q{i}": "3" for i in range(1, 7)} | {"key": str(uuid4())},
    "demographics": {"country": "DE"},
    "release": {"reason": "broken"},
    "post": {f"q{q}_{i}": str(i + 1) for q, n in ((7, 5), (8, 6), (9, 6)) for i in range(n)},
}
SCRIPTS = ("draft", "heartbeat")


def asked(
    client: Any, method: str, path: str, who: Person, *, csrf: str | None = None,
    headers: dict[str, str] | None = None,
) -> Any:  # fmt: skip
    """Send a request as this person's page would."""
    client.cookies.clear()
    for name, value in who.cookies.items():
        client.cookies.set(name, value)
    token = who.csrf if csrf is None else csrf
    sent: dict[str, Any] = {"headers": dict(headers or {}), "follow_redirects": False}
    if method == "POST":
        sent["headers"] = {"origin": ORIGIN} | sent["headers"]
        last = path.rsplit("/", 1)[1]
        if last in SCRIPTS:
            sent["json"] = {"text": "half"} if last == "draft" else {}
            sent["headers"]["x-csrf"] = token
        else:
            sent["data"] = FORMS.get(last, {}) | {"csrf": token}
    return client.request(method, path, **sent)


def outcome(response: Any) -> str:
    """A status, or where it leads."""
    if response.status_code == 303:
        return ">" + re.sub(r"\d+", "N", response.headers["location"])
    return str(response.status_code)
