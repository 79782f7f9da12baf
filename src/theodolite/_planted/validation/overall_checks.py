"""Lines over several cells: order over the dial, its ends, power; and what a release remembers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from theodolite._planted.conditions import Condition
from theodolite._planted.validation.characteristics import (
    FALSE_ALARMS,
    FALSE_CLEAN,
    Characteristics,
)
from theodolite._planted.validation.subjects import ValidationSubject

EXACT = 1e-9
LARGE = 1e9
HALF_OF_BEST = 0.5
"""Of the best value, what a lower bound must reach where there is nothing but the fault."""
POWER = 0.8


@dataclass(frozen=True)
class OverallCheck:
    """Something that holds or not, over the whole of a validation record."""

    name: str
    holds: bool
    summary: str


@dataclass(frozen=True)
class Power:
    """From which setting of the dial on four of five draws make the claim."""

    samples: int
    dial: float | None
    """None where no setting was enough."""


def select_plain_cells(
    subject: ValidationSubject, cells: Sequence[Characteristics]
) -> dict[int, list[Characteristics]]:
    """Cells in which only dial and number of samples vary, by number of samples; dials rising."""
    sizes: dict[int, list[Characteristics]] = {}
    for cell in cells:
        changed = Condition(**cell.condition).changed_from(subject.generator.usual)
        if set(changed) <= {"dial", "clusters"}:
            sizes.setdefault(cell.condition["clusters"], []).append(cell)
    return {
        n: sorted(row, key=lambda cell: float(cell.condition["dial"]))
        for n, row in sorted(sizes.items())
    }


def check_all_cells(
    subject: ValidationSubject, cells: Sequence[Characteristics]
) -> list[OverallCheck]:
    """Order and ends, at the largest number of samples that has all settings of the dial."""
    dials = subject.generator.dials
    rows = {
        n: [cell for cell in row if cell.condition["dial"] in dials]
        for n, row in select_plain_cells(subject, cells).items()
    }
    full = [n for n, row in rows.items() if len(row) == len(dials)]
    lines = check_pooled_answers(subject, cells)
    if full:
        lines += [_check_order(subject, rows[max(full)]), *_check_ends(subject, rows[max(full)])]
    return lines


def check_pooled_answers(
    subject: ValidationSubject, cells: Sequence[Characteristics]
) -> list[OverallCheck]:
    """Wrong answers over all cells together, where a score looks for a fault."""
    if not subject.is_defect_metric or subject.tolerance is None:
        return []
    clean = [cell for cell in cells if cell.condition["dial"] == 0]
    at = [
        cell
        for cell in cells
        if cell.condition["dial"] == subject.tolerance and "leaking" not in cell.condition
    ]
    alarms = sum(cell.answers["no"] + cell.answers["partly"] for cell in clean)
    free = sum(cell.answers["yes"] for cell in at)
    return [
        _check_pooled_rate(
            "pooled false alarms", alarms, sum(c.draws for c in clean), FALSE_ALARMS
        ),
        _check_pooled_rate(
            "pooled falsely called free", free, sum(c.draws for c in at), FALSE_CLEAN
        ),
    ]


def _check_pooled_rate(name: str, count: int, draws: int, most: float) -> OverallCheck:
    """Return whether the upper end of the exact interval of a rate stays below what is allowed."""
    high = float(beta.ppf(0.975, count + 1, draws - count)) if count < draws else 1.0
    text = f"{count} of {draws:,}, at most {100 * high:.2f} %; {100 * most:.1f} % allowed"
    return OverallCheck(name, high <= most, text)


def _check_order(subject: ValidationSubject, row: Sequence[Characteristics]) -> OverallCheck:
    means = [cell.mean for cell in row]
    rising = subject.is_defect_metric or subject.better == "higher"
    steps = np.diff(means) if rising else -np.diff(means)
    text = " < ".join(f"{mean:.3f}" for mean in (means if rising else means[::-1]))
    return OverallCheck("order", bool((steps > 0).all()), f"means over the dial: {text}")


def _check_ends(subject: ValidationSubject, row: Sequence[Characteristics]) -> list[OverallCheck]:
    """Perfect is the best there can be; a fault that is all there is is at least half seen."""
    end = row[-1]
    if subject.is_defect_metric:
        holds = end.mean >= HALF_OF_BEST * end.truth
        return [
            OverallCheck("ends", holds, f"{end.mean:.3f} where all of {end.truth:.3f} is a fault")
        ]
    reaches = end.condition["dial"] == 1 and subject.name not in subject.generator.no_ends
    if not reaches or abs(end.best) > LARGE:
        return []
    off = abs(end.mean - end.best)
    return [
        OverallCheck(
            "ends", off <= EXACT, f"{end.mean:.6f} of at most {end.best:.6f} where perfect"
        )
    ]


def compute_power(subject: ValidationSubject, cells: Sequence[Characteristics]) -> list[Power]:
    """Return the power at a number of samples, interpolated linearly between settings."""
    powers = []
    for n, row in select_plain_cells(subject, cells).items():
        dials = np.array([cell.condition["dial"] for cell in row])
        claims = np.array([_compute_claim_rate(subject, cell) for cell in row])
        if len(row) < 3:
            continue
        above = np.flatnonzero(claims >= POWER)
        dial: float | None = None
        if len(above) and above[0] > 0:
            i = above[0]
            step = (POWER - claims[i - 1]) / (claims[i] - claims[i - 1])
            dial = float(round(dials[i - 1] + step * (dials[i] - dials[i - 1]), 3))
        powers.append(Power(n, dial))
    return powers


def _compute_claim_rate(subject: ValidationSubject, cell: Characteristics) -> float:
    """The share of draws that say better; of a fault, that there is one."""
    return cell.alarms / cell.draws
