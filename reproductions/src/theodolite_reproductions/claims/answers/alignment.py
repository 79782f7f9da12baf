"""Answers to entries of Aysel et al. (2025) from a sweep over what it leaves open."""

import math
from collections.abc import Iterable, Mapping

from scipy.special import ndtri, stdtr

from theodolite.metrics.catalogue import find_metric
from theodolite_reproductions.claims.entry import PaperEntry
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove
from theodolite_reproductions.sweeps.result import ContrastRecord, SweepRecord
from theodolite_reproductions.sweeps.spec import OPTION, ContrastSpec

OPTIONS = {
    "pipeline.projection": "P000-O-01",
    "dataset.presence": "P000-O-02",
    "options.order": "P000-O-03",
    "pipeline.regulariser": "P000-O-04",
    "pipeline.head": "P000-O-09",
    "options.named": "P000-O-10",
}
"""Which entry a setting of the sweep is."""
UNITS = {"samples": "classes", "items": "concepts"}
"""What is drawn: images of a class belong together."""
OF_WEIGHTS = {"form": 1, "over": "concepts"}
"""Options of CGIM 1 of each concept."""
HALF_WIDTH = float(ndtri(0.975))
"""Of a 95 % interval, in standard errors."""
SHARES = ("concept_existence", "concept_location", "task_accuracy")
"""Scores that the paper prints in per cent and we as shares."""


def alignment_answers(record: SweepRecord) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the sweep says of aysel2025, cell by cell; contrasts name the entries they decide."""
    contrasts = {contrast.name: contrast for contrast in record.sweep.contrasts}
    first = {setting: choices[0] for setting, choices in record.sweep.vary.items()}
    answers = [
        _answer(entry, cell.choices, measured, contrast.unit, nearest=cell.choices == first)
        for cell in record.cells
        for measured in cell.contrasts
        for contrast in [contrasts[measured.contrast]]
        if measured.value is not None
        and all(cell.choices[name] == first[name] for name in _without_effect(contrast, first))
        for entry in contrast.entries
        if _of_its_unit(entry, contrast)
    ]
    moves = [
        OptionMove(
            option=OPTIONS[move.setting], entry=entry, before=move.before, after=move.after,
            value=scale * move.value, low=scale * move.low, high=scale * move.high,
        )
        for move in record.moves
        if move.setting in OPTIONS
        and move.value is not None and move.low is not None and move.high is not None
        and move.setting not in _without_effect(contrasts[move.contrast], first)
        for entry in contrasts[move.contrast].entries
        if _of_its_unit(entry, contrasts[move.contrast])
        for scale in [_scale(ledger().entry(entry))]
    ]  # fmt: skip
    return answers, moves


def _of_its_unit(entry: str, contrast: ContrastSpec) -> bool:
    """A claim about concepts is not decided by drawing images, nor the other way round."""
    return (ledger().entry(entry).test.unit == UNITS["items"]) == (contrast.unit == "items")


def _without_effect(contrast: ContrastSpec, settings: Iterable[str]) -> list[str]:
    """Settings that cannot change the contrast: their cells are one cell several times.

    These are options that its score does not have; and for cosines of a concept's weights the
    projection, which lengthens all weights of a concept alike.
    """
    own = find_metric(contrast.metric.name).options()
    weights = OF_WEIGHTS.items() <= contrast.metric.options.items()
    return [
        name
        for name in settings
        if (name.startswith(OPTION) and name.removeprefix(OPTION) not in own)
        or (name == "pipeline.projection" and weights)
    ]


def _scale(entry: PaperEntry) -> float:
    return 100.0 if entry.score in SHARES else 1.0


def _answer(
    name: str,
    choices: Mapping[str, object],
    contrast: ContrastRecord,
    unit: str,
    *,
    nearest: bool,
) -> EntryAnswer:
    entry = ledger().entry(name)
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
        p=p, unit=UNITS[unit], n=round(contrast.draws),
        min_detectable_effect=detectable_effect(error),
        ours={name: scale * number for name, number in ours.items() if number is not None},
    )  # fmt: skip
