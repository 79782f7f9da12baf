"""Alembic's entry: works on the connection that it is given."""

from alembic import context


def run() -> None:
    """Migrate within the caller's transaction: all or nothing."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


def _migrating() -> bool:
    """Whether Alembic runs this; else somebody merely looks through the modules."""
    try:
        return context.config is not None
    except (AttributeError, NameError):
        return False


if _migrating():
    run()
