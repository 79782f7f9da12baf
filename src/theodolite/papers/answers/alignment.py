"""Answers to entries of paper 000 from a sweep over what it leaves open."""

import math
from collections.abc import Mapping

from scipy.special import ndtri, stdtr

from theodolite.papers.entry import PaperEntry
from theodolite.papers.ledger import ledger
from theodolite.papers.power import detectable_effect
from theodolite.papers.results import EntryAnswer, OptionMove
from theodolite.sweeps.result import ContrastRecord, SweepRecord

OPTIONS = {
    "pipeline.projection": "P000-O-01",
    "dataset.presence": "P000-O-02",
    "options.order": "P000-O-03",
    "pipeline.regulariser": "P000-O-04",
    "options.invisible": "P000-O-06",
    "pipeline.head": "P000-O-09",
    "options.named": "P000-O-10",
}
"""Which entry a setting of the sweep is."""
HALF_WIDTH = float(ndtri(0.975))
"""Of a 95 % interval, in standard errors."""
SHARES = ("concept_existence", "concept_location", "task_accuracy")
"""Scores that the paper prints in per cent and we as shares."""


def alignment_answers(record: SweepRecord) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the sweep says of paper 000, cell by cell; contrasts name the entries they decide."""
    names = {contrast.name: contrast.entries for contrast in record.sweep.contrasts}
    first = {setting: choices[0] for setting, choices in record.sweep.vary.items()}
    answers = [
        _answer(ledger().entry(entry), cell.choices, contrast, nearest=cell.choices == first)
        for cell in record.cells
        for contrast in cell.contrasts
        if contrast.value is not None
        for entry in names[contrast.contrast]
    ]
    moves = [
        OptionMove(
            option=OPTIONS[move.setting], entry=entry, before=move.before, after=move.after,
            value=scale * move.value, low=scale * move.low, high=scale * move.high,
        )
        for move in record.moves
        if move.setting in OPTIONS
        and move.value is not None and move.low is not None and move.high is not None
        for entry in names[move.contrast]
        for scale in [_scale(ledger().entry(entry))]
    ]  # fmt: skip
    return answers, moves


def _scale(entry: PaperEntry) -> float:
    return 100.0 if entry.score in SHARES else 1.0


def _answer(
    entry: PaperEntry, choices: Mapping[str, object], contrast: ContrastRecord, *, nearest: bool
) -> EntryAnswer:
    scale = _scale(entry)
    value, low, high = (
        math.nan if number is None else scale * number
        for number in (contrast.value, contrast.low, contrast.high)
    )
    if math.isnan(low) or math.isnan(high):
        return EntryAnswer(entry=entry.id, settings=dict(choices), ours={"effect": value})
    error = (high - low) / (2 * HALF_WIDTH)
    p = float(2 * stdtr(max(contrast.draws - 1, 1), -abs(value) / error)) if error > 0 else None
    ours = {"score": contrast.score, "taken off": contrast.taken_off}
    return EntryAnswer(
        entry=entry.id, settings=dict(choices), nearest=nearest, effect=value, low=low, high=high,
        p=p, unit=entry.test.unit, n=round(contrast.draws), detectable=detectable_effect(error),
        ours={name: scale * number for name, number in ours.items() if number is not None},
    )  # fmt: skip
