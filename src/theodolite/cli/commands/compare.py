"""Commands that compare runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite._runs.comparison.compare_runs import Comparison
from theodolite._runs.comparison.compare_runs import compare_runs as compare_all
from theodolite._runs.comparison.comparison_rows import ComparisonRow
from theodolite._runs.comparison.leaderboard import (
    LeaderboardRow,
    LeaderboardTable,
    build_leaderboard,
)
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite._runs.comparison.run_differences import list_differences
from theodolite._runs.comparison.submissions import (
    check_submission,
    write_split,
    write_submission,
)
from theodolite._verdicts.scores_file import score_record, written
from theodolite._verdicts.words import better_text, interval_text, percent
from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.cli.progress import show_progress
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import printable
from theodolite.report.pages.compare_runs import write_comparison
from theodolite.report.pages.compare_runs_words import (
    difference_text,
    outcome_text,
    sentence,
    shortage_text,
)
from theodolite.report.pages.leaderboard import (
    describe_row,
    get_asked,
    sentences,
    write_leaderboard,
)


def compare(
    runs: Annotated[list[Path], argument("Run folders; the first is the reference")],
    out: opt.Page = None,
    resamples: Annotated[
        int | None, option("Resamples for intervals. Default: as the reference", min=20)
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Test whether one run is better than another, on the same samples with paired intervals.

    One headline score per question is tested, as a claim about these models and about the training
    procedure.
    """
    with show_progress(quiet=quiet) as progress:
        pairs = compare_all(load_runs(runs), resamples, progress)
    if as_json:
        print_json([_pair_json(pair) for pair in pairs])
    else:
        for pair in pairs:
            _print_pair(pair)
    if out is not None:
        typer.echo(f"page: {write_comparison(out, pairs)}", err=as_json)


def _print_pair(pair: Comparison) -> None:
    typer.echo(printable(sentence(pair), 1000))
    rows = []
    for verdict_pair in pair.questions:
        line = verdict_pair.line
        values = [
            "–" if score is None else percent(score.value, score)
            for score in (line.first, line.second)
        ]
        difference = "" if line.difference is None else difference_text(line.difference, line.score)
        before, after = verdict_pair.before, verdict_pair.after
        answer = after if before == after else f"{before} → {after}"
        words = (outcome_text(line), line.why, shortage_text(line))
        outcome = ". ".join(part[0].upper() + part[1:] for part in words if part)
        better = better_text(line.score.better)
        rows.append((verdict_pair.question_text, answer, *values, better, difference, outcome))
    heads = ("question", "answer", pair.first.name, pair.second.name, "better", "difference", "")
    print_table(heads, rows, right=(2, 3))


def _pair_json(pair: Comparison) -> dict[str, Any]:
    return {
        "reference": pair.first.name,
        "run": pair.second.name,
        "samples": pair.n,
        "left_out": list(pair.dropped),
        "questions": [
            {"question": both.question, "before": both.before, "after": both.after}
            | _line_json(both.line)
            for both in pair.questions
        ],
        "scores": [_line_json(line) for line in pair.lines],
        "differs": [vars(difference) for difference in list_differences(pair.first, pair.second)],
    }


def _line_json(line: ComparisonRow) -> dict[str, Any]:
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
            "intervals": [vars(interval) for interval in difference.intervals],
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


def leaderboard(
    folder: Annotated[Path, argument("Folder of run folders")],
    out: opt.Page = None,
    check: Annotated[Path | None, option("Test rows (JSON): check FOLDER as a submission")] = None,
    rerun: Annotated[Path | None, option("Second run to check the submission with")] = None,
    submission: Annotated[Path | None, option("Folder to copy FOLDER to as a submission")] = None,
    split: Annotated[Path | None, option("File for the test rows of the run FOLDER")] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Rank runs on the same samples by each question. Runs that may be equal share a place.

    A folder with split.json holds submissions: each is checked first. With --check, FOLDER is one
    submission. Exit code 6: it is refused, for the reasons printed.
    """
    if submission is not None:
        typer.echo(f"fill in: {write_submission(folder, submission)}")
        return
    if split is not None:
        typer.echo(f"test rows: {write_split(folder, split)}")
        return
    if check is not None:
        _check_submission(folder, check, rerun, quiet=quiet)
        return
    with show_progress(quiet=quiet) as progress:
        boards, left = build_leaderboard(folder, progress)
    if as_json:
        tables = [_board_json(board) for board in boards]
        print_json({"tables": tables, "left_out": [vars(run) for run in left]})
    else:
        for board in boards:
            _print_board(board)
        for run in left:
            typer.echo(f"left out: {printable(run.name, 100)}: {printable(run.why, 400)}")
    if out is not None:
        typer.echo(f"page: {write_leaderboard(out, boards, left)}", err=as_json)


def _check_submission(folder: Path, split: Path, rerun: Path | None, *, quiet: bool) -> None:
    with show_progress(quiet=quiet) as progress:
        checked = check_submission(folder, split, rerun=rerun, progress=progress)
    for refusal in checked.refusals:
        typer.echo(f"refused: {printable(refusal, 400)}")
    if checked.refusals:
        raise typer.Exit(6)
    typer.echo(f"ok: {printable(checked.record.name, 80)}, level: {checked.level}")


def _print_board(board: LeaderboardTable) -> None:
    for text in sentences(board):
        typer.echo(printable(text, 1000))
    questions = get_asked(board)
    rows = []
    for row in board.rows:
        cells = []
        for question in questions:
            cell, score = row.cells[question], row.cells[question].score
            if score is None:
                cells.append("–")
                continue
            place = f"place {cell.place} of {cell.ranked}" if cell.place else cell.note
            answer = row.run.verdicts[question].answer
            cells.append(f"{percent(score.value, score)}{interval_text(score)} {answer}, {place}")
        rows.append((row.run.name, *cells, describe_row(row)))
    print_table(("run", *questions, ""), rows)


def _board_json(board: LeaderboardTable) -> dict[str, Any]:
    return {
        "samples": board.why,
        "says": sentences(board),
        "pairs_compared": board.pairs,
        "runs": [_row_json(row) for row in board.rows],
    }


def _row_json(row: LeaderboardRow) -> dict[str, Any]:
    return {
        "run": row.run.name,
        "title": row.run.title,
        "level": row.level,
        "same_evidence_as": row.same_as,
        "sealed": row.run.sealed,
        "started": row.run.record.started,
        "answers": {
            question: {
                "answer": row.run.verdicts[question].answer,
                "place": [cell.best_rank, cell.worst_rank],
                "of": cell.ranked,
                "note": cell.note,
                "score": score_record(cell.score).model_dump(mode="json", exclude={"detail"}),
            }
            for question, cell in row.cells.items()
            if cell.score is not None
        },
    }
