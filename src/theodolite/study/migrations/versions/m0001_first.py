"""The first tables, the two roles, and what each of them may do."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make everything."""
    op.execute(Path(__file__).with_name("m0001_first.sql").read_text())


def downgrade() -> None:
    """Drop everything but the roles, which other databases of the server may use."""
    op.execute(Path(__file__).with_name("m0001_drop.sql").read_text())
