"""The sheet of security requirements: all are answered, and what it points to is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from theodolite._storage.text import read_csv

ROOT = Path(__file__).parents[2]
ROWS = list(read_csv(ROOT / "docs" / "asvs.csv"))
LEVELS = {
    "1": """
        1.2.1-5 1.3.1-2 1.5.1-1 2.1.1-1 2.2.1-2 2.3.1-1 3.2.1-2 3.3.1-1 3.4.1-2 3.5.1-3 4.1.1-1
        4.4.1-1 5.2.1-2 5.3.1-2 6.1.1-1 6.2.1-8 6.3.1-2 6.4.1-2 7.2.1-4 7.4.1-2 8.1.1-1 8.2.1-2
        8.3.1-1 9.1.1-3 9.2.1-1 10.4.1-5 11.3.1-2 11.4.1-1 12.1.1-1 12.2.1-2 13.4.1-1 14.2.1-1
        14.3.1-1 15.1.1-1 15.2.1-1 15.3.1-1
    """,
    "2": """
        1.1.1-2 1.2.6-9 1.3.3-11 1.4.1-3 1.5.2-2 2.1.2-3 2.2.3-3 2.3.2-4 2.4.1-1 3.3.2-4 3.4.3-6
        3.5.4-5 3.7.1-2 4.1.2-3 4.2.1-1 4.3.1-2 4.4.2-4 5.1.1-1 5.2.3-3 5.4.1-3 6.1.2-3 6.2.9-12
        6.3.3-4 6.4.3-4 6.5.1-5 6.6.1-3 6.8.1-4 7.1.1-3 7.3.1-2 7.4.3-5 7.5.1-2 7.6.1-2 8.1.2-2
        8.2.3-3 8.4.1-1 9.2.2-4 10.1.1-2 10.2.1-2 10.3.1-4 10.4.6-11 10.5.1-5 10.6.1-2 10.7.1-3
        11.1.1-2 11.2.1-3 11.3.3-3 11.4.2-4 11.5.1-1 11.6.1-1 12.1.2-3 12.3.1-4 13.1.1-1 13.2.1-5
        13.3.1-2 13.4.2-5 14.1.1-2 14.2.2-4 14.3.2-3 15.1.2-3 15.2.2-3 15.3.2-7 16.1.1-1 16.2.1-5
        16.3.1-4 16.4.1-3 16.5.1-3 17.1.1-1 17.2.1-4 17.3.1-2
    """,
    "3": "1.2.10-10 2.4.2-2 5.2.4-6 5.3.3-3 14.2.7-8 15.4.1-4",
}
"""Numbers of the requirements of ASVS 5.0.0: all of levels 1 and 2, and those of 3 that we took."""


def _numbers(ranges: str) -> Iterator[str]:
    for one in ranges.split():
        section, first, last = re.fullmatch(r"(\d+\.\d+)\.(\d+)-(\d+)", one).groups()
        yield from (f"{section}.{number}" for number in range(int(first), int(last) + 1))


def _there(item: str) -> bool:
    path, _, name = item.partition("::")
    found = [base / path for base in (ROOT, ROOT / "src" / "theodolite") if (base / path).exists()]
    if not found:
        return False
    return not name or f"\ndef {name}(" in found[0].read_text()


@pytest.mark.parametrize(("level", "count"), [("1", 70), ("2", 183), ("3", 12)])
def test_every_requirement_is_answered_once(level: str, count: int) -> None:
    asked = list(_numbers(LEVELS[level]))
    answered = [row["id"] for row in ROWS if row["level"] == level]
    assert sorted(answered) == sorted(asked) and len(set(asked)) == count


def test_rows_are_in_order() -> None:
    numbers = [[int(part) for part in row["id"].split(".")] for row in ROWS]
    assert numbers == sorted(numbers)


def test_every_answer_says_enough() -> None:
    for row in ROWS:
        assert row["applies"] in {"yes", "no", "operator"}, row
        assert row["note"].endswith("."), row
        if row["applies"] == "no":
            assert not row["where"] and not row["test"], row


def test_what_is_named_is_there() -> None:
    """`planned:` says that something is still to come; then it must not be there yet."""
    for row in ROWS:
        for item in f"{row['where']} {row['test']}".split():
            assert _there(item.removeprefix("planned:")) is not item.startswith("planned:"), item


def test_tests_are_tests() -> None:
    for row in ROWS:
        for item in row["test"].split():
            assert item.removeprefix("planned:").startswith(("study/tests/", "tests/")), item
