"""The page of a folder of runs: one table for each set of runs that can be compared."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from theodolite._runs.comparison.leaderboard import (
    MIN_UNITS,
    LeaderboardCell,
    LeaderboardRow,
    LeaderboardTable,
)
from theodolite._runs.comparison.leaderboard_runs import ExcludedFolder
from theodolite._runs.comparison.loaded_runs import LoadedRun
from theodolite._verdicts.words import interval_text, joined, percent
from theodolite.questions import QUESTIONS, Question
from theodolite.report.page import templates, write_page
from theodolite.report.words import full_title, minus, unbroken

MARKS = {"yes": "✓", "partly": "~", "no": "✗", "inconclusive": "?"}
NOTES = (
    "Each cell holds the verdict, the value with its 95 % CI, the strongest baseline, n, and the "
    "place in this column. There is no total score.",
    "Each row names its division (a fixed model of the shelf, or any), its license and its level: "
    "recomputed from stored evidence, or rerun by the maintainers.",
    "A place is a range, such as 2–5, where a difference may be 0: all pairs of a column that are "
    "answered by the same score are resampled together, sample by sample (p ≤ 0.05 after Holm over "
    "the pairs of the column). Places are of these models, and not of models trained again.",
    f"No place: fewer than {MIN_UNITS} samples or other units, another version of the score, "
    "faithfulness to a linear probe, or no other run with this score.",
    "Gray: no better than the strongest baseline, or of a probe.",
)


def write_leaderboard(
    path: Path, boards: Sequence[LeaderboardTable], left_out: Sequence[ExcludedFolder]
) -> Path:
    """Write the page. It is read without a script."""
    n = sum(len(board.rows) for board in boards)
    content = {
        "title": "Leaderboard",
        "subtitle": f"{n} runs in {len(boards)} {'table' if len(boards) == 1 else 'tables'}",
        "boards": [_board(board) for board in boards],
        "left_out": left_out,
        "notes": NOTES,
    }
    return write_page(path, "leaderboard.html.j2", content, styles=["leaderboard.css"])


def render_board(board: LeaderboardTable) -> str:
    """Return the table of a board alone, for another page."""
    module: Any = templates().get_template("leaderboard_table.html.j2").module
    return str(module.board_table(_board(board)))


def get_asked(board: LeaderboardTable) -> list[Question]:
    """Return the questions that a run of the table answers."""
    return [q for q in QUESTIONS if any(row.cells[q].score is not None for row in board.rows)]


def sentences(board: LeaderboardTable) -> list[str]:
    """What a reader wants to know first: who is ahead in which question."""
    if len(board.rows) == 1:
        return [f"One run on {board.why}: nothing to compare with."]
    ahead = [text for question in QUESTIONS for text in _first(board, question)]
    return ahead or ["No two of these runs can be ranked."]


def _first(board: LeaderboardTable, question: Question) -> Iterator[str]:
    """Return who is ahead of all others, for each score that answers the question."""
    placed: dict[str, list[LeaderboardRow]] = {}
    for row in board.rows:
        cell = row.cells[question]
        if cell.score is not None and cell.place:
            placed.setdefault(full_title(cell.score), []).append(row)
    for score, rows in placed.items():
        what = f"{question}, {score}" if len(placed) > 1 else question
        leaders = [_name(row.run) for row in rows if row.cells[question].best_rank == 1]
        if len(leaders) == 1:
            yield f"{what}: {leaders[0]} is first of {len(rows)}."
        elif len(leaders) == len(rows):
            yield f"{what}: no difference between {len(rows)} runs excludes 0."
        else:
            yield f"{what}: {joined(leaders)} share the first place of {len(rows)}."


def describe_row(row: LeaderboardRow) -> str:
    """What is known of a run beside its scores, in a few words."""
    return "; ".join(filter(None, (row.level, *_list_marks(row))))


def _list_marks(row: LeaderboardRow) -> list[str]:
    failed = row.run.made_record.failed_tasks
    marks = {
        "no checksums": not row.run.sealed,
        f"same evidence as {row.same_as}": bool(row.same_as),
        f"partial: {failed} tasks failed": failed > 0,
    }
    return [text for text, holds in marks.items() if holds]


def _lines(row: LeaderboardRow) -> list[str]:
    run, record = row.run, row.record
    lines = [run.title] if run.title not in (run.name, "") else []
    if record is not None:
        lines = [
            f"{record.name}, by {', '.join(record.authors)}",
            f"{record.division}, {record.model.license}, {row.level}",
        ]
    version = f"theodolite {run.record.packages.get('theodolite', '')}".strip()
    return [*lines, *_list_marks(row), version]


def _board(board: LeaderboardTable) -> dict[str, Any]:
    return {
        "head": f"{'Runs' if len(board.rows) > 1 else 'One run'} on {board.why}",
        "sentences": sentences(board),
        "columns": [
            {"question": q, "asks": asks, "score": _name_score(board, q)}
            for q, asks in QUESTIONS.items()
        ],
        "rows": [
            {
                "name": _name(row.run),
                "lines": _lines(row),
                "cells": [
                    _cell(row.run, q, row.cells[q], _name_score(board, q)) for q in QUESTIONS
                ],
                "minutes": _minutes(row),
            }
            for row in board.rows
        ],
    }


def _name_score(board: LeaderboardTable, question: Question) -> str:
    """Return the score that all runs answer by; empty if they answer by several."""
    scores = [row.cells[question].score for row in board.rows]
    names = {full_title(score) for score in scores if score is not None}
    return names.pop() if len(names) == 1 else ""


def _name(run: LoadedRun) -> str:
    """Such as dsprites-cnn-soft (concepts), from a folder that is named so."""
    model, _, explanation = run.name.partition("__")
    return f"{model} ({explanation})" if explanation else model


def _minutes(row: LeaderboardRow) -> str:
    minutes = None if row.record is None else row.record.cpu_minutes
    return "" if minutes is None else f"{minutes:.1f}"


def _cell(run: LoadedRun, question: Question, cell: LeaderboardCell, named: str) -> dict[str, Any]:
    score = cell.score
    if score is None:
        verdict = run.verdicts.get(question)
        probe = verdict is not None and verdict.reason == "probe_only"
        return {"value": "", "note": "linear probe only" if probe else ""}
    answer = run.verdicts[question].answer
    outputs = f"to {run.subject.wording.name}" if question == "faithful" else ""
    null = score.null
    baseline = "" if null is None else f"{null.label}: {percent(null.value, score)}"
    name = "" if named else full_title(score)
    lines = (name, outputs, baseline, f"n = {score.n:,} {score.n_unit}", cell.note)
    return {
        "value": unbroken(minus(percent(score.value, score))),
        "interval": minus(interval_text(score).strip()),
        "lines": [unbroken(line) for line in lines if line],
        "mark": MARKS.get(answer, "–"),
        "answer": answer.replace("_", " "),
        "css": answer.replace("_", "-"),
        "gray": answer not in ("yes", "partly"),
        "place": f"place {cell.place} of {cell.ranked}" if cell.place else "",
    }
