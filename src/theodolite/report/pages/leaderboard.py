"""The page of a folder of runs: one table for each set of runs that can be compared."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from theodolite._runs.comparison.leaderboard import LeaderboardRow, LeaderboardTable, beats_null
from theodolite._runs.comparison.leaderboard_runs import ExcludedFolder
from theodolite._runs.comparison.loaded_runs import get_score_key
from theodolite._verdicts.rules import question_text
from theodolite._verdicts.words import interval_text, joined, percent
from theodolite.questions import QUESTIONS, Question
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.figures.strips import shared_strips, strip_key
from theodolite.report.page import TEMPLATES, write_page
from theodolite.report.words import full_title, unbroken
from theodolite.results import Score

MARKS = {"yes": "✓", "partly": "~", "no": "✗", "inconclusive": "?"}
SHORT: dict[Question, str] = {
    "exists": "in the input?",
    "located": "looks there?",
    "leak_free": "leak-free?",
    "faithful": "adds up?",
    "detects": "detects?",
    "accepted": "accepted?",
}


def write_leaderboard(
    path: Path, boards: Sequence[LeaderboardTable], left_out: Sequence[ExcludedFolder]
) -> Path:
    """Write the page."""
    n = sum(len(board.standings) for board in boards)
    content = {
        "title": "Leaderboard",
        "subtitle": f"{n} runs in {len(boards)} {'table' if len(boards) == 1 else 'tables'}",
        "sentences": [sentence for board in boards for sentence in sentences(board)],
        "boards": [_board(board, number) for number, board in enumerate(boards, start=1)],
        "apart": len(boards) > 1,
        "left_out": left_out,
        "key_marks": [*_answer_marks(), *strip_key(), ("", "right is better →")],
        "level": _level(boards),
    }
    script = (TEMPLATES / "leaderboard.js").read_text("utf-8")
    return write_page(
        path, "leaderboard.html.j2", content, scripts=[script], styles=["leaderboard.css"]
    )


def _answer_marks() -> list[tuple[Markup, str]]:
    mark = Markup('<span class="answer-mark {}">{}</span>')
    return [(mark.format(answer, MARKS[answer]), answer) for answer in MARKS]


def _level(boards: Sequence[LeaderboardTable]) -> str:
    levels = {row.run.record.spec.resampling.level for b in boards for row in b.standings}
    return f"{100 * (1 - max(levels, default=0.95)):g} %"


def sentences(board: LeaderboardTable) -> list[str]:
    """What a reader wants to know first: who fails nowhere, and who is first in what."""
    if len(board.standings) == 1:
        return [f"One run on {board.why}: nothing to compare with."]
    if not board.pairs or board.by is None:
        return [_without_no(board), f"No two of the runs on {board.why} can be ranked."]
    rule = f"“{QUESTIONS[board.by]}”"
    if not board.chosen:
        rule = f"questions failed, then {rule}"
    ranked = f"Ranked by: {rule}. {_first(board)}"
    return [ranked, _without_no(board)] if board.chosen else [_without_no(board), ranked]


def _without_no(board: LeaderboardTable) -> str:
    rows = [row for row in board.standings if row.run.verdicts]
    clean = [row.run.name for row in rows if not row.noes]
    if not rows:
        return "No run answers a question."
    if not clean:
        return f"Each of {len(rows)} runs fails a question."
    if len(clean) == len(rows):
        return f"None of {len(rows)} runs fails a question."
    if len(clean) == 1:
        return f"{clean[0]} is the only run that fails no question."
    return f"Runs that fail no question: {', '.join(clean)}."


def _first(board: LeaderboardTable) -> str:
    """Return the run that is significantly ahead, if there is one."""
    placed = [row for row in board.standings if row.best_rank is not None]
    leaders = [row for row in placed if row.best_rank == 1]
    if len(leaders) == 1:
        but = ", but fails a question" if leaders[0].noes else ""
        name = leaders[0].run.name
        return f"{name} is first of {len(placed)} runs on {board.why}{but}."
    if len(leaders) == len(placed):
        none = f"None of {len(placed)} runs on {board.why} is better than another"
        return f"{none} (all intervals include 0, Holm)."
    names = ", ".join(row.run.name for row in leaders)
    return (
        f"{names} share the first place of {len(placed)} runs on {board.why}: "
        "no difference excludes 0 (Holm)."
    )


def _board(board: LeaderboardTable, number: int) -> dict[str, Any]:
    columns = [_column(board, question) for question in board.columns]
    return {
        "number": number,
        "why": board.why,
        "ranked": board.by is not None and board.chosen,
        "head": f"{'Runs' if len(board.standings) > 1 else 'One run'} on {board.why}",
        "alone": len(board.standings) == 1,
        "pairs": board.pairs,
        "over": joined(board.over or ("samples",)),
        "one_seed": "seeds" not in board.over,
        "columns": columns,
        "answered_by": [(column["asks"], column["score"] or "no score") for column in columns],
        "rows": _rows(board),
    }


def _column(board: LeaderboardTable, question: Question) -> dict[str, Any]:
    key = board.columns[question]
    score = next((row.run.by_key[key] for row in board.standings if key in row.run.by_key), None)
    return {
        "asks": QUESTIONS[question] if score is None else question_text(score),
        "short": SHORT[question],
        "ranks": question == board.by,
        "score": "" if score is None else full_title(score),
        "better": "" if score is None else score.better,
    }


def _rows(board: LeaderboardTable) -> list[dict[str, Any]]:
    """Return a row for each run; comparable scores share an axis."""
    rows = [_row(row, board) for row in board.standings]
    for number, (question, key) in enumerate(board.columns.items()):
        scores = [row.run.headline(question) for row in board.standings]
        alike = [i for i, s in enumerate(scores) if s is not None and get_score_key(s) == key]
        drawings = shared_strips([score for i in alike if (score := scores[i]) is not None])
        for i, strip in zip(alike, drawings, strict=True):
            rows[i]["cells"][number]["strip"] = strip
    return rows


def _row(row: LeaderboardRow, board: LeaderboardTable) -> dict[str, Any]:
    run = row.run
    return {
        "place": row.place,
        "order": _number(row.best_rank),
        "name": run.name,
        "title": run.title if run.title != run.name else "",
        "note": row.note,
        "same_as": row.same_as,
        "cells": [_cell(row, question, board) for question in board.columns],
        "sealed": run.sealed,
        "started": run.record.started.partition("T")[0],
        "version": run.record.packages.get("theodolite", ""),
        "partial": run.made_record.failed_tasks,
    }


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.9g}"


def _cell(row: LeaderboardRow, question: Question, board: LeaderboardTable) -> dict[str, Any]:
    score = row.run.headline(question)
    if score is None:
        nothing = dict.fromkeys(("order", "interval", "null", "mark", "answer", "css"), "")
        apart = question == "faithful" and row.run.subject.outputs == "probe_only"
        why = "not evaluated for your model" if apart else "not_evaluated"
        return nothing | {"value": "–", "gray": True, "why": why, "strip": ""}
    answer = row.run.verdicts[question].answer
    comparable = get_score_key(score) == board.columns[question]
    return {
        "value": percent(score.value, score),
        "order": _number(score.value) if comparable else "",
        "interval": interval_text(score).strip(),
        "null": _null(score),
        "mark": MARKS[answer],
        "answer": answer,
        "css": answer.replace("_", "-"),
        "gray": not comparable or not beats_null(score, answer),
        "why": _why(score, answer, comparable=comparable),
        "strip": "",
    }


def _null(score: Score) -> str:
    null = score.null
    if null is None:
        return ""
    return unbroken(f"{null.label} {percent(null.value, score)}")


def _why(score: Score, answer: str, *, comparable: bool) -> str:
    if not comparable:
        return f"another score: {full_title(score)}"
    if answer == "no":
        fault = is_defect_metric(score)
        return "more than is accepted" if fault else "no better than the strongest baseline"
    return "inconclusive" if answer == "inconclusive" else ""
