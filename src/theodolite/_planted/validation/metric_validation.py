"""Everything that a validation record of one score needs, in one call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite._planted.conditions import Condition
from theodolite._planted.validation.cells import Size, choose_repetitions, list_cells
from theodolite._planted.validation.characteristics import Characteristics
from theodolite._planted.validation.number_formats import check_number_formats
from theodolite._planted.validation.overall_checks import (
    OverallCheck,
    Power,
    check_all_cells,
    compute_power,
)
from theodolite._planted.validation.simulation import simulate_conditions
from theodolite._planted.validation.single_checks import run_single_checks
from theodolite._planted.validation.subjects import MetricSubject, ValidationSubject
from theodolite.evidence.workers import Workers
from theodolite.metrics.catalogue import catalogue, find_metric

FLIP_DRAWS = {"ci": 20, "release": 200}


@dataclass(frozen=True)
class MetricValidation:
    """What came out, of one score."""

    subject: ValidationSubject
    size: Size
    seed: int
    cells: list[Characteristics]
    lines: list[OverallCheck] = field(default_factory=list)
    powers: list[Power] = field(default_factory=list)
    recorded: dict[str, Any] = field(default_factory=dict)

    @property
    def failures(self) -> list[str]:
        """All that does not hold, in words."""
        usual = self.subject.generator.usual
        failed = []
        for cell in self.cells:
            changed = Condition(**cell.condition).changed_from(usual)
            where = ", ".join(f"{name} {value}" for name, value in changed.items()) or "as usual"
            failed += [f"{where}: {failure}" for failure in cell.failures]
        return failed + [f"{line.name}: {line.summary}" for line in self.lines if not line.holds]


def validate_metric(
    subject: ValidationSubject,
    size: Size = "ci",
    *,
    draws: int | None = None,
    cells: Sequence[Condition] | None = None,
    seed: int = 0,
    workers: Workers | None = None,
) -> MetricValidation:
    """Put a score through planted truths.

    Args:
        subject: A score of the catalogue (``CatalogueSubject``), or a foreign one.
        size: Few conditions and draws, or all.
        draws: Of each condition; else by size.
        cells: Conditions to take instead of those of the size; then nothing else is looked at.
        seed: Of all draws.
        workers: Whoever does the work; here and now if not given.
    """
    chosen = list(cells) if cells is not None else list_cells(subject, size)
    decides = isinstance(subject, MetricSubject) and subject.metric.decides
    numbers = [draws or choose_repetitions(subject, c, size, decides=decides) for c in chosen]
    done = simulate_conditions(subject, chosen, numbers, seed=seed, workers=workers)
    if cells is not None:
        return MetricValidation(subject, size, seed, done)
    lines = check_all_cells(subject, done)
    checked, recorded = run_single_checks(subject, seed=seed, workers=workers)
    forms = check_number_formats(subject, draws or FLIP_DRAWS[size], seed=seed, workers=workers)
    return MetricValidation(
        subject,
        size,
        seed,
        done,
        [*lines, *checked, *forms],
        compute_power(subject, done),
        recorded,
    )


def list_subjects(size: Size) -> list[MetricSubject]:
    """Scores that verdicts are read from; for a release all, the quick ones first."""
    names = [name for name, metric in catalogue().items() if metric.decides or size == "release"]
    slow = [name for name in names if find_metric(name).opt_in]
    return [MetricSubject(name) for name in [*(n for n in names if n not in slow), *slow]]
