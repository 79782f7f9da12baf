"""Run Alembic on the connection that it is given. Loaded by Alembic in `database.migrate`."""

from alembic import context


def run() -> None:
    """Migrate within the caller's transaction: all or nothing."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


def _migrating() -> bool:
    """Return whether Alembic runs this module, or somebody merely imports it."""
    try:
        return context.config is not None
    except (AttributeError, NameError):
        return False


if _migrating():
    run()
