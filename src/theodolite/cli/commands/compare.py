"""Commands that hold runs against each other."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli.options import Json, Quiet

if TYPE_CHECKING:
    from theodolite.comparison.compare_runs import Pair
    from theodolite.comparison.leaderboard import Board
    from theodolite.comparison.rows import ComparisonRow
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
    """Is one run better than another? Differences on the same samples, with paired intervals."""
    from theodolite.cli.progress import shown
    from theodolite.comparison.compare_runs import compare as compared
    from theodolite.comparison.runs import read_runs

    with shown(quiet=quiet) as progress:
        pairs = compared(read_runs(runs), resamples, progress)
    if as_json:
        typer.echo(json.dumps([_pair_json(pair) for pair in pairs], indent=1))
    else:
        for pair in pairs:
            _print_pair(pair)
    if out is not None:
        from theodolite.report.pages.compare_runs import write_comparison

        typer.echo(f"page: {write_comparison(out, pairs)}", err=as_json)


def _print_pair(pair: "Pair") -> None:
    from theodolite.cli.tables import print_table
    from theodolite.errors import printable
    from theodolite.report.pages.compare_runs_words import SAID, difference_text, sentence
    from theodolite.verdicts.rules import percent

    typer.echo(printable(sentence(pair), 1000))
    rows = []
    for one in pair.questions:
        line = one.line
        values = [
            "–" if score is None else percent(score.value, score)
            for score in (line.first, line.second)
        ]
        told = "" if line.difference is None else difference_text(line.difference, line.score)
        answer = one.after if one.before == one.after else f"{one.before} → {one.after}"
        said = "; ".join(part for part in (SAID[line.outcome], line.why) if part)
        rows.append((one.asks, answer, *values, told, said))
    heads = ("question", "answer", pair.first.name, pair.second.name, "difference", "")
    print_table(heads, rows, right=(2, 3))


def _pair_json(pair: "Pair") -> dict[str, Any]:
    from theodolite.comparison.differences import differs

    return {
        "reference": pair.first.name,
        "run": pair.second.name,
        "samples": pair.n,
        "left_out": list(pair.dropped),
        "questions": [
            {"question": one.question, "before": one.before, "after": one.after}
            | _line_json(one.line)
            for one in pair.questions
        ],
        "scores": [_line_json(line) for line in pair.lines],
        "differs": [vars(one) for one in differs(pair.first, pair.second)],
    }


def _line_json(line: "ComparisonRow") -> dict[str, Any]:
    from theodolite.run_folder.scores_file import written

    found, score = line.difference, line.score
    told: dict[str, Any] = {
        "metric": score.metric,
        "version": score.version,
        "options": score.options,
        "better": score.better,
        "outcome": line.outcome,
        "why": line.why,
    }
    if found is not None:
        told |= {
            "first": written(found.first),
            "second": written(found.second),
            "difference": written(found.value),
            "intervals": [_interval_json(one) for one in found.intervals],
            "p": written(found.p),
            "p_corrected": written(line.p),
            "samples": found.n,
        }
    return told


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
    """Runs about the same samples in one table; those not surely different share their places."""
    from theodolite.cli.progress import shown
    from theodolite.comparison.leaderboard import leaderboard as standings
    from theodolite.errors import EvidenceError
    from theodolite.questions import QUESTIONS

    if by is not None and by not in QUESTIONS:
        raise EvidenceError("--by", repr(by), f"one of {', '.join(QUESTIONS)}")
    with shown(quiet=quiet) as progress:
        boards, left = standings(folder, by, progress)
    if as_json:
        told = {
            "tables": [_board_json(board) for board in boards],
            "left_out": [vars(one) for one in left],
        }
        typer.echo(json.dumps(told, indent=1))
    else:
        for board in boards:
            _print_board(board)
        for one in left:
            _print_left_out(one.name, one.why)
    if out is not None:
        from theodolite.report.pages.leaderboard import write_leaderboard

        typer.echo(f"page: {write_leaderboard(out, boards, left)}", err=as_json)


def _print_left_out(name: str, why: str) -> None:
    from theodolite.errors import printable

    typer.echo(f"left out: {printable(name, 100)}: {printable(why, 400)}")


def _print_board(board: "Board") -> None:
    from theodolite.cli.tables import print_table
    from theodolite.comparison.runs import key_of
    from theodolite.errors import printable
    from theodolite.report.pages.leaderboard import sentences
    from theodolite.verdicts.rules import interval_text, percent

    for said in sentences(board):
        typer.echo(printable(said, 1000))
    rows = []
    for one in board.standings:
        cells = []
        for question, key in board.columns.items():
            score = one.run.headline(question)
            if score is None:
                cells.append("–")
                continue
            other = "" if key_of(score) == key else " (another score)"
            answer = one.run.verdicts[question].answer
            cells.append(f"{percent(score.value, score)}{interval_text(score)} {answer}{other}")
        seal = "sealed" if one.run.sealed else "not sealed"
        same = one.same_as and f"same evidence as {one.same_as}"
        said = "; ".join(filter(None, (seal, one.note, same)))
        rows.append((one.place, one.run.name, *cells, said))
    print_table(("place", "run", *board.columns, ""), rows)


def _board_json(board: "Board") -> dict[str, Any]:
    from theodolite.report.pages.leaderboard import sentences
    from theodolite.run_folder.scores_file import score_record

    return {
        "samples": board.why,
        "ranked_by": board.by,
        "says": sentences(board),
        "pairs_compared": board.pairs,
        "runs": [
            {
                "run": one.run.name,
                "title": one.run.title,
                "place": [one.best_rank, one.worst_rank],
                "note": one.note,
                "noes": one.noes,
                "same_evidence_as": one.same_as,
                "sealed": one.run.sealed,
                "started": one.run.record.started,
                "answers": {q: verdict.answer for q, verdict in one.run.verdicts.items()},
                "scores": {
                    question: score_record(score).model_dump(mode="json", exclude={"detail"})
                    for question in board.columns
                    for score in [one.run.headline(question)]
                    if score is not None
                },
            }
            for one in board.standings
        ],
    }
