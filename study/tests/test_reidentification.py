"""Nobody is found again: not in an export, not in a closed study's tables."""

import subprocess
from pathlib import Path

import pytest
from sqlalchemy import text

from support.study.played_study import Played, arrived, at_random, begun, few_resamples, taken_part
from theodolite.io.tables import read_parquet
from theodolite_study.codes import code_digest
from theodolite_study.database import Database
from theodolite_study.export import export, verify_export
from theodolite_study.lifecycle import become
from theodolite_study.local_postgres import binaries
from theodolite_study.withdrawal import withdraw

IDS = ["5f0c1d2e3a4b5c6d7e8f9a0b", "60aa1d2e3a4b5c6d7e8f9abc", "WORKER-A1B2C3D4E5F6", "zoe_quick"]
GONE = "61ff1d2e3a4b5c6d7e8f9def"
SECRET_TEXT = "I-am-Jane-Roe-of-Elm-Street"


@pytest.fixture(scope="module")
def closed(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A study that is over. One of its people withdrew before it closed, one after."""
    folder = tmp_path_factory.mktemp("study") / "s"
    made = begun(one_database, folder, instances=2, votes=4, gold=1, checks={"every": 2})
    for name in [*IDS, GONE]:
        arrived(made, name, {"age_band": "18–24", "gender": "man", "country": "IS"}, "prolific")
    taken_part(made, [GONE], at_random(), text=SECRET_TEXT)
    withdraw(one_database, made.people[GONE])
    taken_part(made, IDS, at_random())
    become(one_database, "small", "closed", staff="test")
    withdraw(one_database, made.people[IDS[-1]])
    return made


def everything(folder: Path) -> bytes:
    """All bytes of all files, and all cells of all tables, which Parquet packs."""
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in folder.glob("*.parquet"):
        found.append(repr(read_parquet(path)).encode())
    return b"\n".join([*found, "\n".join(p.name for p in folder.rglob("*")).encode()])


def raw_ids(played: Played) -> list[str]:
    """Everything that stands for a person and is not the pseudonym."""
    with played.database.owning() as connection:
        inner = [
            str(row) for row in connection.execute(text("select id from participant")).scalars()
        ]
        persons = [
            bytes(row).hex()
            for row in connection.execute(text("select person from participant")).scalars()
        ]
        idem = [str(row) for row in connection.execute(text("select idem_key from vote")).scalars()]
    codes = [played.keys.withdrawal_code(who) for who in played.people.values()]
    digests = [code_digest(code).hex() for code in codes]
    own = [str(who) for who in played.people.values()]
    return [
        *IDS,
        GONE,
        *inner,
        *own,
        *[one.replace("-", "") for one in inner],
        *persons,
        *idem,
        *codes,
        *digests,
    ]


def test_the_export_names_nobody(closed: Played, tmp_path: Path) -> None:
    with few_resamples():
        made = export(closed.database, "small", closed.folder, out=tmp_path / "out", csv=True)
    whole = everything(tmp_path / "out")
    assert b"something of real0" in whole, "what was not withdrawn is there, so the scan sees it"
    for raw in [*raw_ids(closed), SECRET_TEXT, closed.keys.id, "prolific", "127.0.0.1"]:
        assert raw.encode() not in whole, raw
    for secret in (closed.keys.pepper, closed.keys.sealing, closed.keys.completion):
        assert secret not in whole and secret.hex().encode() not in whole
    assert made.content["people"]["withdrawn"] == 2
    assert made.content["votes"]["instances_with"] == {"3": 2}
    assert len(read_parquet(tmp_path / "out" / "participants.parquet")["participant"]) == 3
    assert verify_export(tmp_path / "out") == [
        "Fewer than 4 counted votes: 2 (real0, real1) explanations."
    ]


def test_no_time_of_day_is_in_the_export(closed: Played, tmp_path: Path) -> None:
    with few_resamples():
        export(closed.database, "small", closed.folder, out=tmp_path / "out")
    with closed.database.owning() as connection:
        year = connection.execute(text("select to_char(now(), 'YYYY')")).scalar_one()
        epoch = int(connection.execute(text("select extract(epoch from now())")).scalar_one())
    for path in (tmp_path / "out").glob("*.parquet"):
        for name, values in read_parquet(path).items():
            assert not any(f"{year}-" in str(value) for value in values), (path.name, name)
            # no moment, in seconds, milliseconds or microseconds since 1970
            numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
            assert all(abs(v) < epoch / 10 for v in numbers), (path.name, name)
    for name in ("manifest.json", "agreement.json", "DATASHEET.md"):
        assert f"{year}-" not in (tmp_path / "out" / name).read_text()


def test_the_closed_database_knows_no_ids_and_no_withdrawn_words(closed: Played) -> None:
    dumped = subprocess.run(
        [str(binaries() / "pg_dump"), "--inserts", "--dbname", closed.database.url],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert b"something of real0" in dumped
    # the row that says that somebody withdrew keeps its own number, and nothing else
    for raw in [*IDS, GONE, SECRET_TEXT]:
        assert raw.encode() not in dumped, raw
        assert raw.encode().hex().encode() not in dumped, raw
    code = closed.keys.withdrawal_code(closed.people[GONE])
    assert code_digest(code).hex().encode() not in dumped
    person = closed.keys.person("small", "prolific", GONE)
    assert person.hex().encode() not in dumped, "even with the keys nobody sees that they were here"
