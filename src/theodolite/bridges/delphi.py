"""Scores of delphi (EleutherAI): a folder with a file of answers for each latent.

``scores/detection``, ``scores/fuzz`` and ``scores/intruder`` hold a file a latent, whose name ends
in ``latent`` and its number. Kept: answers, what is true, and which texts are the same. Lost: which
prompt had which texts, and the documents that sequences were cut from: texts are clusters instead.
An explanation is not in these files, nor what it was written from. Nothing pickled is read
(``hookpoint_firing_counts.pt``).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from theodolite._storage.text import MEBIBYTE, read_json
from theodolite.bridges import _foreign_json as foreign
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.evidence.axes import Judges, Latents, Tasks
from theodolite.evidence.kinds.judgement import TASKS, JudgementEvidence

FOLDERS = {"detection": "detection", "fuzz": "fuzzing", "intruder": "intruder"}
NAME = re.compile(r"(.*)latent(\d{1,9})\.(?:txt|json)")
MOST_FILES = 1_000_000
Row = tuple[str, str, bool, float, int]
"""Task, text, whether it is active, the answer, and how many texts were to choose among."""


@dataclass
class _Table:
    """Rows of all files, with numbers for what has names."""

    rows: list[tuple[int, int, bool, float, int, int]] = field(default_factory=list)
    latents: dict[str, int] = field(default_factory=dict)
    sequences: dict[str, int] = field(default_factory=dict)

    def add(self, latent: str, rows: Iterator[Row]) -> None:
        """The rows of a file."""
        number = self.latents.setdefault(latent, len(self.latents))
        for task, text, active, answer, n in rows:
            sequence = self.sequences.setdefault(text, len(self.sequences))
            self.rows.append((number, sequence, active, answer, TASKS.index(task), n))


def delphi_scores(
    folder: Path | str,
    *,
    judge: str = "delphi",
    answers: Literal["prediction", "probability"] = "prediction",
) -> JudgementEvidence:
    """Evidence from the folder ``scores`` of a run of delphi.

    Args:
        folder: It holds some of ``detection``, ``fuzz`` and ``intruder``.
        judge: The model that answered; the files do not say it.
        answers: What it said, or the probability that it gave to yes.
    """
    table = _Table()
    for name in FOLDERS:
        place = Path(folder) / name
        paths = sorted(place.iterdir())[: MOST_FILES + 1] if place.is_dir() else []
        if len(paths) > MOST_FILES:
            raise RefusedInput(f"folder {name!r}", "more files", f"at most {MOST_FILES:,}")
        for path in paths:
            match = NAME.fullmatch(path.name)
            if match is None:
                continue
            content = read_json(path, "scores of delphi", 64 * MEBIBYTE)
            table.add(f"{match[1]}latent{match[2]}", _rows(name, content, path.name, answers))
    if not table.rows:
        raise EvidenceError(
            f"folder {Path(folder).name!r}", "no answer", f"files of {', '.join(FOLDERS)} with some"
        )
    latent, sequence, active, answer, task, n = (
        np.array(column) for column in zip(*table.rows, strict=True)
    )
    return JudgementEvidence(
        latent=latent, sequence=sequence, active=active, answer=answer.astype(float), task=task,
        tasks=Tasks(TASKS), texts=n, judge=np.zeros(len(latent), int), judges=Judges((judge,)),
        latents=Latents(tuple(table.latents)),
    )  # fmt: skip


def _rows(kind: str, content: Any, where: str, answers: str) -> Iterator[Row]:
    entries = [foreign.mapping(entry, where) for entry in foreign.items(content, where)]
    if kind == "intruder":
        yield from (_round(entry, where) for entry in entries)
        return
    task = FOLDERS[kind]
    if kind == "fuzz" and not any(_marks_inside(entry, where) for entry in entries):
        task = "fuzzing across"
    for entry in entries:
        tokens = foreign.texts(foreign.field(entry, "str_tokens", where), where)
        active = foreign.flag(foreign.field(entry, "activating", where), where)
        yield task, "".join(tokens), active, _answer(entry, where, answers), 1


def _marks_inside(entry: Mapping[str, Any], where: str) -> bool:
    """Whether wrong marks are in a text in which the latent is active."""
    values = foreign.numbers(foreign.field(entry, "activations", where), where)
    active = foreign.flag(foreign.field(entry, "activating", where), where)
    return not active and any(value > 0 for value in values)


def _answer(entry: Mapping[str, Any], where: str, answers: str) -> float:
    value = foreign.field(entry, answers, where)
    if value is None:
        return math.nan
    if answers == "prediction":
        return float(foreign.flag(value, where))
    share = foreign.number(value, where)
    if not 0 <= share <= 1:
        raise RefusedInput(where, f"the probability {share:g}", "0 to 1")
    return share


def _round(entry: Mapping[str, Any], where: str) -> Row:
    sample = foreign.mapping(foreign.field(entry, "sample", where), where)
    texts = foreign.items(foreign.field(sample, "tokens", where), where, 1000)
    n = len(texts)
    if n < 2:
        raise RefusedInput(where, f"a round of {n} texts", "2 or more")
    at = foreign.whole(foreign.field(sample, "intruder_index", where), where, 0, n - 1)
    named = foreign.whole(foreign.field(entry, "prediction", where), where, -1, 1 << 30)
    # -1, or a number that no text has, is what delphi has for an answer that it could not read
    answer = float(named == at) if 0 <= named < n else math.nan
    return "intruder", "".join(foreign.texts(texts[at], where)), False, answer, n
