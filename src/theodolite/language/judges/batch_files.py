"""Questions to a model as batch files of OpenAI: written, answered elsewhere, and read again."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from theodolite._storage.paths import all_or_nothing, size_within
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.language.judges.answer_cache import AnswerCache
from theodolite.language.judges.base import JudgeQuestion, question_key
from theodolite.language.judges.http import HttpJudge, read_answer

MAX_LINES, MAX_BYTES = 50_000, 200_000_000
"""Largest batch that is taken, in lines and bytes."""
MAX_REPLIES_BYTES = 1 << 32
URL = "/v1/chat/completions"


def write_batch(
    judge: HttpJudge, questions: Sequence[JudgeQuestion], path: Path, cache: AnswerCache
) -> int:
    """Write a line for each question that has no answer yet, and return their number."""
    waiting = {question_key(judge, own): own for own in questions}
    lines = [
        json.dumps({"custom_id": key, "method": "POST", "url": URL,
                    "body": judge.build_body(question)})
        for key, question in waiting.items()
        if cache.get(key) is None
    ]  # fmt: skip
    content = "".join(f"{line}\n" for line in lines).encode()
    if len(lines) > MAX_LINES or len(content) > MAX_BYTES:
        got = f"{len(lines):,} questions, {len(content):,} bytes"
        needed = f"{MAX_LINES:,} questions and {MAX_BYTES:,} bytes"
        raise EvidenceError("batch", got, needed, "Ask about fewer latents at a time.")
    with all_or_nothing(path) as stream:
        stream.write(content)
    return len(lines)


def read_batch(
    judge: HttpJudge, questions: Sequence[JudgeQuestion], path: Path, cache: AnswerCache
) -> int:
    """Add the answers of a batch to the cache, and return the number of those that were new.

    Lines may come in any order. One with an error counts as not answered, and lines of other
    questions are left out.
    """
    by_key = {question_key(judge, own): own for own in questions}
    new = 0
    for key, body in _replies(path):
        question = by_key.get(key)
        if question is not None and body is not None and cache.get(key) is None:
            cache.add(key, judge.name, read_answer(question, json.dumps(body).encode()))
            new += 1
    cache.write()
    return new


def _replies(path: Path) -> Iterator[tuple[str, Any]]:
    size_within(path, MAX_REPLIES_BYTES, "batch")
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                content = json.loads(line)
                key, response = content["custom_id"], content.get("response") or {}
                answered = response.get("status_code") == 200
                yield str(key), response.get("body") if answered else None
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise UnsafeInputError(
                    f"batch {path.name!r}", f"line {number} of another form",
                    "lines with `custom_id` and `response`",
                ) from error  # fmt: skip
