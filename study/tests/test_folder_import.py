"""A study folder becomes a study of the database, once, in all its languages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.study.folder_study import FolderStudy, study_folder
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import read_yaml, write_json
from theodolite_study.export.data_rules import find_violations
from theodolite_study.folder_import import import_folder
from theodolite_study.keys import Keys
from theodolite_study.new_study import DEMO_ETHICS, DEMO_TEXTS
from theodolite_study.protocol import STUDY_FILE
from theodolite_study.refusals import WrongStage
from theodolite_study.store.opening import open_version

QUESTIONS = {"q1": {"text": "It is good.", "low": "no", "high": "yes"}}
INSTRUMENT = {
    "before": [{"blocks": [{"name": "words", "kind": "text"}]}],
    "after": [{"blocks": [{"name": "sure", "kind": "slider"}]}],
}


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        yield opened


def rewritten(folder: Path, **changes: Any) -> None:
    write_json(folder / STUDY_FILE, read_yaml(folder / STUDY_FILE, "study") | changes)


def written(folder: Path, **settings: Any) -> Path:
    """A folder whose study.yaml has these settings and no others."""
    made = study_folder(folder)
    given = {"slug": "small", "title": "A small study", "contact": "ann@example.org", "votes": 2,
             "pay": "none", "minutes": 40, "ethics": DEMO_ETHICS, "texts": DEMO_TEXTS}  # fmt: skip
    write_json(made / STUDY_FILE, given | settings)
    return made


def test_a_folder_is_played_to_the_end(connection: Any, tmp_path: Path) -> None:
    folder = written(
        tmp_path / "s", languages=["de", "fr"], quota=3,
        pay={"reward": 200, "currency": "EUR"}, access={"codes": {"finished": "C1"}},
        welcome="Come *in*.", questions=QUESTIONS,
    )  # fmt: skip
    study = FolderStudy(connection, folder)
    text = "select body from wording where key = %s and language = %s"
    assert study.one(text, "welcome", "en") == "Come *in*."
    assert study.one(text, "welcome", "de").startswith("Ein Computerprogramm")
    assert study.one(text, "q1.low", "en") == "no"
    assert study.one(text, "title", "fr") == "A small study"
    form = "select convert_from(shown, 'utf8') from consent_text where language = %s"
    for language, amount in (("en", "€2.00"), ("de", "2,00\xa0€"), ("fr", "2,00\xa0€")):
        shown = study.one(form, language)
        assert (
            amount in shown
            and "2099" in shown
            and "2099-12" not in shown
            and "demo@example.org" in shown
        )
    assert study.one("select currency from study") == "EUR"
    assert study.one("select code from outcome where key = 'ran_out'") == "C1"
    people = study.taken_part("ann", "bob")
    assert study.one("select count(*) from vote where counted") == 6
    assert study.one("select answers from vote limit 1") == {"q1": 4}
    rankings = {name: [f"i{n}" for n in range(many)] for name, many in
                {"q7": 5}.items()}  # fmt: skip
    people[0].step("st_answer", people[0].token, "end", rankings, {}, b"d" * 32, None)
    assert people[0].leaves()["amount"] == 200
    assert find_violations(connection) == []


def test_it_is_put_there_once(connection: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "s")
    keys = Keys.read(folder)
    first = import_folder(connection, folder, keys)
    assert first.state == "draft" and import_folder(connection, folder, keys) == first
    rewritten(folder, votes=5, minutes=None)
    import_folder(connection, folder, keys)
    assert connection.execute("select n_votes from version").fetchone() == (5,), "still a draft"
    with pytest.raises(WrongStage, match="minutes"), connection.transaction():
        open_version(connection, first.version)
    rewritten(folder, votes=2, minutes=40)
    import_folder(connection, folder, keys)
    open_version(connection, first.version)
    rewritten(folder, votes=5)
    with pytest.raises(EvidenceError, match=r"votes.*another `slug`"):
        import_folder(connection, folder, keys)
    rewritten(folder, votes=2, quota=7)
    with pytest.raises(EvidenceError, match="quota"):
        import_folder(connection, folder, keys)
    other = written(tmp_path / "t")
    with pytest.raises(UnsafeInputError, match="keys"):
        import_folder(connection, other, Keys.read(other))


def test_an_instrument_of_its_own_needs_its_texts(connection: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "s", instrument="asked.json")
    write_json(folder / "asked.json", INSTRUMENT)
    with pytest.raises(EvidenceError, match=r"'sure\.high'"), connection.transaction():
        import_folder(connection, folder, Keys.read(folder))
    texts = {"sure.text": "How sure?", "sure.low": "not", "sure.high": "very"}
    written(tmp_path / "u", instrument="asked.json", texts={"en": texts}, slug="own")
    write_json(tmp_path / "u" / "asked.json", INSTRUMENT)
    study = FolderStudy(connection, tmp_path / "u")
    assert study.one("select instrument -> 'after' -> 0 -> 'blocks' -> 0 ->> 'kind' from version"
                     " where id = %s", study.version) == "slider"  # fmt: skip
    written(tmp_path / "v", languages=["it"], slug="italian")
    with pytest.raises(EvidenceError, match=r"texts\.it"), connection.transaction():
        import_folder(connection, tmp_path / "v", Keys.read(tmp_path / "v"))
    write_json(folder / "asked.json", INSTRUMENT | {"after": []})
    with pytest.raises(EvidenceError, match=r"asked\.json, after"):
        import_folder(connection, folder, Keys.read(folder))


def test_a_planned_study_of_a_panel(connection: Any, tmp_path: Path) -> None:
    study = FolderStudy(connection, written(tmp_path / "s", design="planned", panel=2))
    assert study.one("select count(*) from slot where reserved_for is not null") == 6
    study.taken_part("ann", "bob")
    assert study.one("select count(*) from slot where state = 'filled'") == 6
    assert find_violations(connection) == []
