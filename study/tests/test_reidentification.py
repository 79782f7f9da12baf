"""Nobody is found again: not in an export, not in a closed study's tables."""

import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from support.study.folder_study import FolderStudy, FolderWalker, study_folder
from theodolite.ext.studies import read_parquet
from theodolite_study.export.export_check import verify_export
from theodolite_study.export.study_export import export_study
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import find_binaries
from theodolite_study.store.opening import set_study_state

IDS = ["5f0c1d2e3a4b5c6d7e8f9a0b", "60aa1d2e3a4b5c6d7e8f9abc", "WORKER-A1B2C3D4E5F6", "zoe_quick"]
GONE = "61ff1d2e3a4b5c6d7e8f9def"
SECRET_TEXT = "I-am-Jane-Roe-of-Elm-Street"


class PlatformWalker(FolderWalker):
    """Somebody of a platform, known as the server knows people."""

    words = "something"

    def arrives(self) -> dict[str, Any]:
        keys, slug = Keys.read(self.study.folder), self.study.slug  # type: ignore[attr-defined]
        self.token = uuid4().bytes + uuid4().bytes
        submission = keys.encrypt(f"session-{self.name}", slug)
        came = self.step(
            "st_arrive", slug, "prolific", keys.digest_person(slug, "prolific", self.name),
            keys.encrypt(self.name, slug), keys.digest_barred_person(slug, "prolific", self.name),
            f"p-{uuid4().hex[:10]}", submission, uuid4().bytes + uuid4().bytes, "en", self.token,
            datetime.now(timezone.utc) + timedelta(hours=1), False, None,
        )  # fmt: skip
        self.person = self.one(
            "select participant_id from session where token_sha256 = %s", self.token
        )
        self.code = keys.digest_code(keys.make_withdrawal_code(self.person))
        return came

    def says(self, item: int, words: str = "") -> dict[str, Any]:
        return super().says(item, words or self.words)


class ClosedStudy(FolderStudy):
    """A study that is over. One of its people withdrew before it closed, one after."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        super().__init__(psycopg.connect(url, autocommit=True), folder)
        self.people: dict[str, PlatformWalker] = {}
        gone = PlatformWalker(self, GONE, self.connection)
        gone.words = SECRET_TEXT
        for person in [gone, *(PlatformWalker(self, one, self.connection) for one in IDS)]:
            self.people[person.name] = person
            person.takes_part()
            if person is gone:
                person.step("st_withdraw", person.code, False)
        set_study_state(self.connection, self.study, "closed")
        last = self.people[IDS[-1]]
        last.step("st_withdraw", last.code, False)


@pytest.fixture(scope="module")
def closed(
    module_database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClosedStudy]:
    folder = study_folder(
        tmp_path_factory.mktemp("study") / "s", instances=2, votes=4, gold=1, checks={"every": 2}
    )
    study = ClosedStudy(module_database_url, folder)
    yield study
    study.connection.close()


@pytest.fixture(scope="module")
def exported(closed: ClosedStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "export"
    export_study(closed.url, closed.slug, out, images=closed.folder, csv=True)
    return out


def everything(folder: Path) -> bytes:
    """All bytes of all files, and all cells of all tables, which Parquet packs."""
    parts = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    parts += [repr(read_parquet(path)).encode() for path in folder.glob("*.parquet")]
    return b"\n".join([*parts, "\n".join(path.name for path in folder.rglob("*")).encode()])


def test_the_export_names_nobody(closed: ClosedStudy, exported: Path) -> None:
    whole, keys = everything(exported), Keys.read(closed.folder)
    assert b"something" in whole, "what was not withdrawn is there, so the scan sees it"
    inner = [str(person.person) for person in closed.people.values()]
    codes = [keys.make_withdrawal_code(person) for person in inner]
    (persons,) = closed.connection.execute(
        "select array_agg(encode(person, 'hex')) || array_agg(encode(p.bar_token, 'hex')) ||"
        " (select array_agg(idem_key::text) from vote) from participant p"
    ).fetchone() or ([],)
    secret = [*IDS, GONE, SECRET_TEXT, keys.id, "prolific", "127.0.0.1", *inner, *codes]
    secret += [one.replace("-", "") for one in inner]
    for raw in [*secret, *filter(None, persons)]:
        assert raw.encode() not in whole, raw
    for key in (keys.pepper, keys.sealing, keys.completion):
        assert key not in whole and key.hex().encode() not in whole
    assert len(read_parquet(exported / "participants.parquet")["participant"]) == 3
    assert [line for line in verify_export(exported) if not line.startswith("Fewer than 4")] == []


def test_no_time_of_day_is_in_the_export(exported: Path) -> None:
    now = datetime.now(timezone.utc)
    for path in exported.glob("*.parquet"):
        for name, values in read_parquet(path).items():
            assert not any(f"{now.year}-" in str(value) for value in values), (path.name, name)
            # no moment, in seconds, milliseconds or microseconds since 1970
            numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
            assert all(abs(v) < now.timestamp() / 10 for v in numbers), (path.name, name)


def test_the_closed_database_knows_no_ids_and_no_withdrawn_words(closed: ClosedStudy) -> None:
    dumped = subprocess.run(
        [str(find_binaries() / "pg_dump"), "--inserts", "--dbname", closed.url],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert b"something" in dumped
    # the row that says that somebody withdrew keeps its own number, and nothing else
    for raw in [*IDS, GONE, SECRET_TEXT]:
        assert raw.encode() not in dumped, raw
        assert raw.encode().hex().encode() not in dumped, raw
    assert closed.people[GONE].code.hex().encode() not in dumped
    person = Keys.read(closed.folder).digest_person(closed.slug, "prolific", GONE)
    assert person.hex().encode() not in dumped, "even with the keys nobody sees that they were here"
