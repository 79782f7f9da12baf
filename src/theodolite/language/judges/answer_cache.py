"""Cache of judge answers in one Parquet file, so that a run can be repeated without the judge."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theodolite._storage.tables import read_parquet, write_parquet
from theodolite.errors import UnsafeInputError
from theodolite.language.judges.base import JudgeAnswer

COLUMNS = ("key", "judge", "values", "raw", "tokens_in", "tokens_out")


class AnswerCache:
    """Answers by the key of their question. The first answer stays, because a remote judge is not
    reproducible.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._answers: dict[str, tuple[str, JudgeAnswer]] = {}
        if path is not None and path.exists():
            self._answers = dict(_read(path))

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> JudgeAnswer | None:
        """Return the answer for a key, or None."""
        entry = self._answers.get(key)
        return None if entry is None else entry[1]

    def add(self, key: str, judge: str, answer: JudgeAnswer) -> None:
        """Store an answer, unless there is one."""
        self._answers.setdefault(key, (judge, answer))

    def write(self) -> None:
        """Write all answers to the file, in an order that does not depend on when they came."""
        if self.path is None:
            return
        rows = sorted(self._answers.items())
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for key, (judge, answer) in rows:
            values = [None if math.isnan(value) else value for value in answer.values]
            cells = (
                key, judge, json.dumps(values), answer.raw, answer.tokens_in, answer.tokens_out,
            )  # fmt: skip
            for name, cell in zip(COLUMNS, cells, strict=True):
                columns[name].append(cell)
        write_parquet(self.path, columns)


def _read(path: Path) -> Iterator[tuple[str, tuple[str, JudgeAnswer]]]:
    table = read_parquet(path, "answers of judges")
    if not set(COLUMNS) <= set(table):
        raise UnsafeInputError(
            f"answers of judges {path.name!r}", f"columns {sorted(table)}"[:200], ", ".join(COLUMNS)
        )
    for key, judge, values, raw, tokens_in, tokens_out in zip(
        *(table[name] for name in COLUMNS), strict=True
    ):
        texts = all(isinstance(cell, str) for cell in (key, judge, values, raw))
        if not texts or not all(isinstance(cell, int) for cell in (tokens_in, tokens_out)):
            raise UnsafeInputError(
                f"answers of judges {path.name!r}", "cells of other types", "texts"
            )
        yield key, (judge, JudgeAnswer(_values(values, path), raw, tokens_in, tokens_out))


def _values(text: str, path: Path) -> tuple[float, ...]:
    try:
        numbers = json.loads(text)
        return tuple(math.nan if number is None else float(number) for number in numbers)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnsafeInputError(
            f"answers of judges {path.name!r}", "broken values", "numbers"
        ) from error
