"""The database: its tables, the steps that people take as functions in it, and connections."""

from pathlib import Path

FOLDER = Path(__file__).parent
STEPS = (
    "step_parts.sql", "steps_door.sql", "steps_consent.sql", "steps_claim.sql", "steps_item.sql",
    "steps_practice.sql", "steps_leave.sql", "steps_limit.sql",
)  # fmt: skip
SECOND_FORM = (
    "fit.sql", "second.sql", *STEPS, "moved.sql", "rights.sql", "money.sql", "operate.sql",
    "texts.sql", "desk.sql",
)  # fmt: skip
"""What makes the second form of the tables out of the first, in this order."""


def statements(name: str) -> str:
    """The text of one of these files."""
    return (FOLDER / name).read_text()
