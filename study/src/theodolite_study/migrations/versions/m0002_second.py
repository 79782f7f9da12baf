"""The second form: the database is the study. Data of the first form come along."""

from alembic import op

from theodolite.errors import RefusedInput
from theodolite_study.store import SECOND_FORM, statements

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make everything, and move what is there."""
    driver = op.get_bind().connection.driver_connection  # what has % in it is no pattern here
    for name in SECOND_FORM:
        driver.execute(statements(name))


def downgrade() -> None:
    """Refuse: there is no way back yet."""
    raise RefusedInput("downgrade", "tables of the second form", "those of the first")
