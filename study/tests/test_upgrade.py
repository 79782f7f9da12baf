"""Changes of the tables lose nothing: going up keeps every byte of the export, down is refused."""

from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from support.study.played_study import at_random, begun, few_resamples, taken_part
from theodolite.errors import RefusedInput
from theodolite_study.database import Database, migrate, migrate_down, revision
from theodolite_study.export import export
from theodolite_study.tables import metadata


def rows(database: Database) -> dict[str, int]:
    with database.owning() as connection:
        return {
            name: connection.execute(text(f'select count(*) from "{name}"')).scalar_one()
            for name in sorted(metadata.tables)
        }


def test_a_study_survives_every_change_of_the_tables(database: Database, tmp_path: Path) -> None:
    played = begun(database, tmp_path / "s", instances=2, votes=2)
    taken_part(played, ["ann", "bob"], at_random())
    with few_resamples():
        before, kept = export(database, "small", played.folder, out=tmp_path / "a"), rows(database)
        with pytest.raises(RefusedInput, match="a database with studies in it"):
            migrate_down(database.url, "base")
        assert revision(database) == "0001", "refused as a whole: nothing is half gone"
        migrate(database.url)
        after = export(database, "small", played.folder, out=tmp_path / "b")
    kept["export_run"] += 1
    assert rows(database) == kept and after.sha256 == before.sha256


def test_empty_tables_may_go(database: Database) -> None:
    migrate_down(database.url, "base")
    with database.owning() as connection:
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
    migrate(database.url)
    assert sum(rows(database).values()) == 0
