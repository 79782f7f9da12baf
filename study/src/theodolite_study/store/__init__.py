"""Create and write the database of studies: tables, functions for participants' steps, rights."""

from pathlib import Path

FOLDER = Path(__file__).parent
STEPS = (
    "step_parts.sql", "steps_door.sql", "steps_consent.sql", "steps_claim.sql", "steps_item.sql",
    "steps_practice.sql", "steps_leave.sql", "steps_limit.sql",
)  # fmt: skip
SCHEMA = (
    "fit.sql", "tables_study.sql", "tables_people.sql", "table_triggers.sql", *STEPS, "rights.sql",
    "money.sql", "operate.sql", "texts.sql", "desk.sql",
)  # fmt: skip
"""SQL files that create the schema, in order."""


def read_sql(name: str) -> str:
    """Return the text of an SQL file of the schema."""
    return (FOLDER / name).read_text()
