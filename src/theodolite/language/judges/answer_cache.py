"""Cache of judge answers in one Parquet file, so that a run can be repeated without the judge.

While answers come in, each is a line of a journal beside it: what was paid for survives a kill."""

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theodolite._storage.tables import read_parquet, write_parquet
from theodolite.errors import UnsafeInputError
from theodolite.language.judges.base import JudgeAnswer

COLUMNS = ("key", "judge", "values", "raw", "tokens_in", "tokens_out", "read_as")
SYNC_SECONDS = 1.0
"""Seconds after which lines of the journal are forced to the disk."""


class AnswerCache:
    """Answers by the key of their question. The first answer stays, because a remote judge is not
    reproducible.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._answers: dict[str, tuple[str, JudgeAnswer]] = {}
        self._lock, self._stream, self._synced = threading.Lock(), -1, 0.0
        if path is not None and path.exists():
            self._answers = dict(_read(path))
        if self.journal is not None and self.journal.exists():
            self._answers |= dict(_read_journal(self.journal))

    @property
    def journal(self) -> Path | None:
        """Return the file of answers that came since the cache was written."""
        return None if self.path is None else self.path.with_suffix(".jsonl")

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> JudgeAnswer | None:
        """Return the answer for a key, or None."""
        entry = self._answers.get(key)
        return None if entry is None else entry[1]

    def add(self, key: str, judge: str, answer: JudgeAnswer) -> None:
        """Store an answer, unless there is one, and append it to the journal at once."""
        with self._lock:
            if key in self._answers:
                return
            self._answers[key] = (judge, answer)
            if self.journal is None:
                return
            if self._stream < 0:
                self.journal.parent.mkdir(parents=True, exist_ok=True)
                _end_torn_line(self.journal)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
                self._stream = os.open(self.journal, flags, 0o600)
            line = json.dumps(_cells(key, judge, answer), ensure_ascii=True)
            os.write(self._stream, line.encode() + b"\n")
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._stream)
                self._synced = time.monotonic()

    def write(self) -> None:
        """Write all answers to the file, in an order that does not depend on when they came."""
        if self.path is None:
            return
        rows = sorted(self._answers.items())
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for key, (judge, answer) in rows:
            for name, cell in zip(COLUMNS, _cells(key, judge, answer), strict=True):
                columns[name].append(cell)
        write_parquet(self.path, columns)
        if self._stream >= 0:
            os.close(self._stream)
            self._stream = -1
        assert self.journal is not None  # noqa: S101  there is a path
        self.journal.unlink(missing_ok=True)


def _cells(key: str, judge: str, answer: JudgeAnswer) -> tuple[Any, ...]:
    values = [None if math.isnan(value) else value for value in answer.values]
    tokens = answer.tokens_in, answer.tokens_out
    return key, judge, json.dumps(values), answer.raw, *tokens, answer.read_as


def _end_torn_line(path: Path) -> None:
    """Put an end to a line that a killed process left half written."""
    with contextlib.suppress(FileNotFoundError):
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)


def _read_journal(path: Path) -> Iterator[tuple[str, tuple[str, JudgeAnswer]]]:
    """Read whole lines; the last may be torn and is dropped."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    for line in whole.splitlines():
        try:
            key, judge, values, raw, *others = json.loads(line)
            yield key, (judge, JudgeAnswer(_values(values, path), raw, *others))
        except (ValueError, TypeError, RecursionError) as error:
            raise UnsafeInputError(
                f"answers of judges {path.name!r}", "a broken line", "lines as they were written"
            ) from error


def _read(path: Path) -> Iterator[tuple[str, tuple[str, JudgeAnswer]]]:
    table = read_parquet(path, "answers of judges")
    if not set(COLUMNS) <= set(table):
        raise UnsafeInputError(
            f"answers of judges {path.name!r}", f"columns {sorted(table)}"[:200], ", ".join(COLUMNS)
        )
    for key, judge, values, raw, tokens_in, tokens_out, read_as in zip(
        *(table[name] for name in COLUMNS), strict=True
    ):
        texts = all(isinstance(cell, str) for cell in (key, judge, values, raw, read_as))
        if not texts or not all(isinstance(cell, int) for cell in (tokens_in, tokens_out)):
            raise UnsafeInputError(
                f"answers of judges {path.name!r}", "cells of other types", "texts"
            )
        yield key, (judge, JudgeAnswer(_values(values, path), raw, tokens_in, tokens_out, read_as))


def _values(text: str, path: Path) -> tuple[float, ...]:
    try:
        numbers = json.loads(text)
        return tuple(math.nan if number is None else float(number) for number in numbers)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnsafeInputError(
            f"answers of judges {path.name!r}", "broken values", "numbers"
        ) from error
