"""Commands that hold runs against each other."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli.options import Json, Quiet

if TYPE_CHECKING:
    from theodolite._runs.comparison.compare_runs import Comparison
    from theodolite._runs.comparison.leaderboard import Board
    from theodolite._runs.comparison.rows import ComparisonRow
    from theodolite.results import Interval


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; the first is the reference.")],
    out: Annotated[Path | None, typer.Option(help="The page to write.")] = None,
    resamples: Annotated[
        int | None, typer.Option(help="Resamples; else as many as the reference had.", min=20)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Is one run better than another? Differences on the same samples, with paired intervals.

    One headline a question is tested, as a claim about these models and about the recipe.
    """
    from theodolite._runs.comparison.compare_runs import compare as compared
    from theodolite._runs.comparison.runs import read_runs
    from theodolite.cli.progress import show_progress

    with show_progress(quiet=quiet) as progress:
        pairs = compared(read_runs(runs), resamples, progress)
    if as_json:
        typer.echo(json.dumps([_pair_json(pair) for pair in pairs], indent=1))
    else:
        for pair in pairs:
            _print_pair(pair)
    if out is not None:
        from theodolite.report.pages.compare_runs import write_comparison

        typer.echo(f"page: {write_comparison(out, pairs)}", err=as_json)


def _print_pair(pair: "Comparison") -> None:
    from theodolite._verdicts.words import better_text, percent
    from theodolite.cli.tables import print_table
    from theodolite.errors import printable
    from theodolite.report.pages.compare_runs_words import (
        difference_text,
        outcome_text,
        sentence,
        shortage_text,
    )

    typer.echo(printable(sentence(pair), 1000))
    rows = []
    for verdict_pair in pair.questions:
        line = verdict_pair.line
        values = [
            "–" if score is None else percent(score.value, score)
            for score in (line.first, line.second)
        ]
        difference = "" if line.difference is None else difference_text(line.difference, line.score)
        answer = (
            verdict_pair.after
            if verdict_pair.before == verdict_pair.after
            else f"{verdict_pair.before} → {verdict_pair.after}"
        )
        words = (outcome_text(line), line.why, shortage_text(line))
        outcome = ". ".join(part[0].upper() + part[1:] for part in words if part)
        better = better_text(line.score.better)
        rows.append((verdict_pair.question_text, answer, *values, better, difference, outcome))
    heads = ("question", "answer", pair.first.name, pair.second.name, "better", "difference", "")
    print_table(heads, rows, right=(2, 3))


def _pair_json(pair: "Comparison") -> dict[str, Any]:
    from theodolite._runs.comparison.differences import differs

    return {
        "reference": pair.first.name,
        "run": pair.second.name,
        "samples": pair.n,
        "left_out": list(pair.dropped),
        "questions": [
            {
                "question": verdict_pair.question,
                "before": verdict_pair.before,
                "after": verdict_pair.after,
            }
            | _line_json(verdict_pair.line)
            for verdict_pair in pair.questions
        ],
        "scores": [_line_json(line) for line in pair.lines],
        "differs": [vars(difference) for difference in differs(pair.first, pair.second)],
    }


def _line_json(line: "ComparisonRow") -> dict[str, Any]:
    from theodolite._verdicts.scores_file import written
    from theodolite.report.pages.compare_runs_words import shortage_text

    difference, score = line.difference, line.score
    content: dict[str, Any] = {
        "metric": score.metric,
        "version": score.version,
        "options": score.options,
        "better": score.better,
        "outcome": line.outcome,
        "recipe_outcome": line.recipe.outcome,
        "why": line.why,
    }
    if difference is not None:
        content |= {
            "first": written(difference.first),
            "second": written(difference.second),
            "difference": written(difference.value),
            "intervals": [_interval_json(interval) for interval in difference.intervals],
            "p": written(difference.p),
            "p_corrected": written(line.these.p),
            "p_recipe": None if difference.recipe is None else written(difference.recipe.p),
            "p_recipe_corrected": written(line.recipe.p),
            "samples": difference.n,
            "seeds": list(difference.seeds),
            "variances": None if difference.variances is None else vars(difference.variances),
            "blocks": shortage_text(line),
        }
    return content


def _interval_json(interval: "Interval") -> dict[str, Any]:
    return dict(vars(interval))


def leaderboard(
    folder: Annotated[Path, typer.Argument(help="A folder of run folders.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The page to write.")] = None,
    by: Annotated[
        str | None, typer.Option(help="The question to rank by, such as located.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Runs about the same samples in one table; where a difference may be 0, places are shared."""
    from theodolite._runs.comparison.leaderboard import leaderboard as standings
    from theodolite.cli.progress import show_progress
    from theodolite.errors import EvidenceError
    from theodolite.questions import QUESTIONS

    if by is not None and by not in QUESTIONS:
        raise EvidenceError("--by", repr(by), f"one of {', '.join(QUESTIONS)}")
    with show_progress(quiet=quiet) as progress:
        boards, left = standings(folder, by, progress)
    if as_json:
        content = {
            "tables": [_board_json(board) for board in boards],
            "left_out": [vars(excluded_model) for excluded_model in left],
        }
        typer.echo(json.dumps(content, indent=1))
    else:
        for board in boards:
            _print_board(board)
        for excluded_model in left:
            _print_left_out(excluded_model.name, excluded_model.why)
    if out is not None:
        from theodolite.report.pages.leaderboard import write_leaderboard

        typer.echo(f"page: {write_leaderboard(out, boards, left)}", err=as_json)


def _print_left_out(name: str, why: str) -> None:
    from theodolite.errors import printable

    typer.echo(f"left out: {printable(name, 100)}: {printable(why, 400)}")


def _print_board(board: "Board") -> None:
    from theodolite._runs.comparison.runs import key_of
    from theodolite._verdicts.words import better_text, interval_text, percent
    from theodolite.cli.tables import print_table
    from theodolite.errors import printable
    from theodolite.metrics.catalogue import catalogue
    from theodolite.report.pages.leaderboard import sentences

    for text in sentences(board):
        typer.echo(printable(text, 1000))
    rows = []
    for standing in board.standings:
        cells = []
        for question, key in board.columns.items():
            score = standing.run.headline(question)
            if score is None:
                cells.append("–")
                continue
            other = "" if key_of(score) == key else " (another score)"
            answer = standing.run.verdicts[question].answer
            cells.append(f"{percent(score.value, score)}{interval_text(score)} {answer}{other}")
        seal = "sealed" if standing.run.sealed else "not sealed"
        same = standing.same_as and f"same evidence as {standing.same_as}"
        text = "; ".join(filter(None, (seal, standing.note, same)))
        rows.append((standing.place, standing.run.name, *cells, text))
    metrics = catalogue()
    ways = {key[0]: f" ({better_text(metrics[key[0]].better)})" for key in board.columns.values()
            if key[0] in metrics}  # fmt: skip
    heads = [f"{question}{ways.get(key[0], '')}" for question, key in board.columns.items()]
    print_table(("place", "run", *heads, ""), rows)


def _board_json(board: "Board") -> dict[str, Any]:
    from theodolite._verdicts.scores_file import score_record
    from theodolite.report.pages.leaderboard import sentences

    return {
        "samples": board.why,
        "ranked_by": board.by,
        "says": sentences(board),
        "pairs_compared": board.pairs,
        "runs": [
            {
                "run": standing.run.name,
                "title": standing.run.title,
                "place": [standing.best_rank, standing.worst_rank],
                "note": standing.note,
                "noes": standing.noes,
                "same_evidence_as": standing.same_as,
                "sealed": standing.run.sealed,
                "started": standing.run.record.started,
                "answers": {q: verdict.answer for q, verdict in standing.run.verdicts.items()},
                "scores": {
                    question: score_record(score).model_dump(mode="json", exclude={"detail"})
                    for question in board.columns
                    for score in [standing.run.headline(question)]
                    if score is not None
                },
            }
            for standing in board.standings
        ],
    }
