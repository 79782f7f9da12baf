"""The part of a report that shows units: the length curve, the lengths chosen, a card per unit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite._runs.folder.run_records import UnitCardRecord
from theodolite._runs.report_material import RunMaterial
from theodolite.report.figures.bars import columns
from theodolite.report.figures.lines import PlotLine, Point, curves
from theodolite.report.figures.scales import get_item_interval, round_scale
from theodolite.report.figures.svg import Figure
from theodolite.report.overlays import data_address
from theodolite.results import Score


def units_chapter(
    material: RunMaterial, cards: Sequence[UnitCardRecord], scores: Sequence[Score]
) -> dict[str, Any] | None:
    """All that the page shows of units; None if the run has none."""
    lengths, chosen, units = map(material.table, ("lengths", "chosen_lengths", "units"))
    if lengths is None or chosen is None or units is None:
        return None
    return {
        "curves": _curves(lengths),
        "chosen": _chosen_lengths(chosen),
        "specialized": _specialized_units(units),
        "cards": [_card(material, card, scores) for card in cards],
    }


def _curves(table: dict[str, list[Any]]) -> list[Figure]:
    titles = {"iou": "Overlap (IoU)", "detection_accuracy": "Detection accuracy"}
    lengths = [f"{length:g}" for length in table["length"]]
    figures = []
    for name, title in titles.items():
        rows = zip(lengths, table[name], table[f"{name}_spread"], strict=True)
        points = [
            Point(x, mean, mean - spread, mean + spread, says=f"{length}: {100 * mean:.1f} %")
            for x, (length, mean, spread) in enumerate(rows)
            if mean is not None and spread is not None
        ]
        scale = round_scale([point.high for point in points], (0.0, 1.0))
        caption = f"{title} by length of formula: mean over units, band of one deviation"
        svg = curves([PlotLine(title, 0, tuple(points))], lengths, scale, caption)
        figures.append(Figure(svg, caption=caption))
    return figures


def _chosen_lengths(table: dict[str, list[Any]]) -> list[Figure]:
    figures = []
    for variant in dict.fromkeys(table["variant"]):
        rows = [i for i, name in enumerate(table["variant"]) if name == variant]
        labels = [str(table["length"][i]) for i in rows]
        counts = np.array([table["units"][i] for i in rows], float)
        share = counts[0] / max(counts.sum(), 1)
        caption = f"Length of the formula {variant}: {100 * share:.0f} % have one concept"
        figures.append(Figure(columns(labels, counts, caption), caption=caption))
    return figures


def _specialized_units(table: dict[str, list[Any]], most: int = 8) -> list[tuple[str, str, str]]:
    """Units whose one concept is detected more often than the longer formula (Figure 6)."""
    rows = [i for i, special in enumerate(table["specialized"]) if special]
    rows.sort(key=lambda i: -(table["alone_detection_accuracy"][i] or 0.0))

    def formula_text(name: str, i: int) -> str:
        detected = _percent(table[f"{name}_detection_accuracy"][i])
        return f"{_bare(table[name][i])}, detected {detected} %"

    return [
        (table["unit"][i], formula_text("alone", i), formula_text("three", i)) for i in rows[:most]
    ]


def _card(material: RunMaterial, card: UnitCardRecord, scores: Sequence[Score]) -> dict[str, Any]:
    return {
        "unit": card.unit,
        "why": card.why,
        "formula": _bare(card.formula),
        "alone": card.alone,
        "stopped": card.stopped,
        "scores": [_of_unit(card.unit, score) for score in scores if _shows(card.unit, score)],
        "literals": [
            (name, _percent(iou), _percent(detected)) for name, iou, detected in card.literals
        ],
        "images": [data_address(material.image(file)) for file in card.files],
    }


def _bare(formula: str) -> str:
    """Without the outermost brackets, which only matter inside another formula."""
    return formula[1:-1] if formula.startswith("(") and formula.endswith(")") else formula


def _shows(unit: str, score: Score) -> bool:
    return (
        score.metric in ("unit_iou", "detection_accuracy")
        and score.options.get("denominator", "all") == "all"
        and score.detail is not None
        and unit in score.detail.names
    )


def _of_unit(unit: str, score: Score) -> tuple[str, str, str]:
    detail = score.detail
    assert detail is not None  # noqa: S101  asked before
    i = detail.names.index(unit)
    ends = get_item_interval(detail, i)
    between = "" if ends is None else " to ".join(map(_percent, ends))
    name = {"unit_iou": "overlap"}.get(score.metric, "detected")
    return name, f"{_percent(detail.values[i])} %", between


def _percent(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{100 * value:.1f}"
