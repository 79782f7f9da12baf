"""The first tables, the two roles, and what each of them may do."""

from pathlib import Path

from alembic import op
from sqlalchemy import text

from theodolite.errors import RefusedInput

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make everything."""
    op.execute(Path(__file__).with_name("m0001_first.sql").read_text())


def downgrade() -> None:
    """Drop everything but the roles, which other databases of the server may use.

    What people said is never dropped by a change of tables: with a study in it this is refused.
    """
    op.execute("lock table study")
    if op.get_bind().execute(text("select 1 from study limit 1")).first() is not None:
        raise RefusedInput(
            "downgrade", "a database with studies in it", "an empty one",
            "Nothing is older than these tables. To give them up, back up, then drop the database.",
        )  # fmt: skip
    op.execute(Path(__file__).with_name("m0001_drop.sql").read_text())
