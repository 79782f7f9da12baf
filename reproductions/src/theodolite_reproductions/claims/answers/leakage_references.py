"""Answers to Table 3 of Parisini et al. (2025) from heads that are told the true concepts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    Filter,
    ScoreRecord,
    matches,
    score_named,
)
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.answers.bottleneck_scores import (
    COMPARED,
    folds_answer,
    per_fold,
)
from theodolite_reproductions.claims.entry import Reason
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove

ACCURACY, OPTION, CONVERGED, PUBLISHED = "task_accuracy", "P001-O-05", "converged", "20"
NORMAL = 1.96


@dataclass(frozen=True)
class ReferenceRow:
    """A data set of Table 3: which form of it is in which column."""

    entry: str
    forms: dict[str, str]
    """Forms by the names of the columns as printed."""
    published_head: str = "mlp"
    """The head of the first two columns."""
    reasons: dict[str, Reason] | None = None
    """Columns whose data are not the paper's."""
    nearest: str | None = "incomplete"
    """The column of the headline; None: the paper's figures are of other data."""


ROWS = (
    ReferenceRow(
        "P001-T3-01",
        {"complete": "toy", "incomplete": "toy_incomplete", "well_specified": "toy",
         "misspecified": "toy_nonlinear"},
        published_head="linear",
    ),
    ReferenceRow(
        "P001-T3-02",
        {"complete": "dsprites", "incomplete": "dsprites_incomplete",
         "well_specified": "dsprites", "misspecified": "dsprites_nonlinear"},
    ),
    ReferenceRow(
        "P001-T3-03",
        {"complete": "shapes3d", "incomplete": "shapes3d_incomplete",
         "well_specified": "shapes3d", "misspecified": "shapes3d_nonlinear"},
    ),
    ReferenceRow(
        "P001-T3-04", {"complete": "cub", "incomplete": "cub_incomplete", "well_specified": "cub"},
        reasons={"incomplete": "no data"}, nearest="complete",
    ),
    ReferenceRow(
        "P001-T3-05", {"complete": "ham10k", "incomplete": "ham10k_incomplete"}, nearest=None
    ),
)  # fmt: skip
"""The incomplete column is the headline: that a complete set gives 1 follows from the formulas."""


def reference_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Accuracies of heads, and what training them to the end changes."""
    models = read_record(folder / COMPARED, ComparedFile).models
    answers = [answer for row in ROWS for answer in _cells(row, models)]
    return answers, [move for row in ROWS for move in _moves(row, models)]


def _heads(row: ReferenceRow, column: str) -> Iterator[Filter]:
    """A linear head to convergence, and as the paper trains it."""
    form = row.forms[column]
    yield {"data": form, "head": "linear", "head_epochs": CONVERGED}
    linear = column in ("well_specified", "misspecified")
    if not (linear and row.entry in ("P001-T3-04", "P001-T3-05")):
        head = "linear" if linear else row.published_head
        yield {"data": form, "head": head, "head_epochs": PUBLISHED}


def _cells(row: ReferenceRow, models: Sequence[ComparedRecord]) -> Iterator[EntryAnswer]:
    entry = ledger().entry(row.entry)
    for column in row.forms:
        for number, conditions in enumerate(_heads(row, column)):
            cell = {"column": column, "head": conditions["head"],
                    "epochs": conditions["head_epochs"]}  # fmt: skip
            score = _score(models, conditions)
            printed = float((entry.printed or {})[column])
            ours = {"ours": score.value, "printed": printed}
            reason = (row.reasons or {}).get(column)
            if reason is not None or row.nearest is None:
                yield EntryAnswer(entry=row.entry, settings=cell, ours=ours, reason=reason)
                continue
            yield _against_printed(
                row.entry, cell, score, printed, nearest=column == row.nearest and number == 0
            )


def _score(models: Sequence[ComparedRecord], conditions: Filter) -> ScoreRecord:
    chosen = [model for model in models if matches(model, conditions)]
    score = score_named(chosen[0], ACCURACY) if len(chosen) == 1 else None
    if score is None or score.value is None or not score.intervals:
        raise UnsafeInputError(
            "heads", f"{len(chosen)} with {dict(conditions)}", "one, with a score"
        )
    return score


def _against_printed(
    entry: str, cell: Filter, score: ScoreRecord, printed: float,
    *, nearest: bool,
) -> EntryAnswer:  # fmt: skip
    """Ours minus the printed figure.

    All folds are tested on the same samples, and heads to convergence agree over folds: what is
    not known is which samples were drawn, so the interval is over them, and over folds as well
    where folds differ.
    """
    interval = score.intervals[-1]
    value = float(score.value or 0.0) - printed
    low, high = min(interval.low - printed, value), max(interval.high - printed, value)
    return EntryAnswer(
        entry=entry, settings=dict(cell), nearest=nearest, effect=value, low=low, high=high,
        unit="test samples", n=score.n_samples or score.n,
        min_detectable_effect=detectable_effect((high - low) / (2 * NORMAL)),
        ours={"ours": score.value, "printed": printed},
    )  # fmt: skip


def _moves(row: ReferenceRow, models: Sequence[ComparedRecord]) -> Iterator[OptionMove]:
    """Linear heads to convergence minus those of 20 epochs, fold by fold."""
    for column in ("well_specified", "misspecified"):
        form = row.forms.get(column)
        conditions: list[Filter] = [
            {"data": str(form), "head": "linear", "head_epochs": epochs}
            for epochs in (CONVERGED, PUBLISHED)
        ]
        if any(not any(matches(model, own) for model in models) for own in conditions):
            continue
        more, less = (per_fold(models, own, ACCURACY) for own in conditions)
        moved = folds_answer(row.entry, more - less, {}, {"ours": float(more.mean())}, nearest=True)
        assert moved.effect is not None and moved.low is not None  # noqa: S101,PT018  just made
        assert moved.high is not None  # noqa: S101
        yield OptionMove(
            option=OPTION, entry=row.entry, before=f"20 epochs ({column.replace('_', ' ')})",
            after="convergence", value=moved.effect, low=moved.low, high=moved.high,
        )  # fmt: skip
