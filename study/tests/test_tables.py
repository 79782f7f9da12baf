from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from theodolite_study.database import Database, migrate, migrate_down, revision
from theodolite_study.tables import metadata


def test_migrated_tables_are_those_that_are_described(database: Database) -> None:
    assert revision(database) == "0001"
    with database.owning() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    assert found == []


def test_down_and_up_again(database: Database) -> None:
    migrate_down(database.url, "base")
    assert revision(database) is None
    migrate(database.url)
    assert revision(database) == "0001"
