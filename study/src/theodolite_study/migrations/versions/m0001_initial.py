"""Create the tables, functions, roles and rights in an empty database: the first migration."""

from typing import Any

from alembic import op

from theodolite_study.store import SCHEMA, read_sql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the schema in an empty database."""
    # The driver's own connection: SQLAlchemy would read "%" and ":" as parameters.
    driver: Any = op.get_bind().connection.driver_connection
    for name in SCHEMA:
        driver.execute(read_sql(name))
