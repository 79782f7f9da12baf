"""Everything that a certificate of one score needs, in one call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite._planted.certification.cells import Size, cells_of, repetitions
from theodolite._planted.certification.characteristics import Characteristics
from theodolite._planted.certification.checks import check
from theodolite._planted.certification.flips import flips
from theodolite._planted.certification.grid import put_through
from theodolite._planted.certification.lines import Line, Power, lines_over_cells, power
from theodolite._planted.certification.subjects import CatalogueSubject, CertifiedSubject
from theodolite._planted.conditions import Condition
from theodolite.evidence.workers import Workers
from theodolite.metrics.catalogue import catalogue, find_metric

FLIP_DRAWS = {"ci": 20, "release": 200}


@dataclass(frozen=True)
class Certified:
    """What came out, of one score."""

    subject: CertifiedSubject
    size: Size
    seed: int
    cells: list[Characteristics]
    lines: list[Line] = field(default_factory=list)
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


def certify(
    subject: CertifiedSubject,
    size: Size = "ci",
    *,
    draws: int | None = None,
    cells: Sequence[Condition] | None = None,
    seed: int = 0,
    workers: Workers | None = None,
) -> Certified:
    """Put a score through planted truths.

    Args:
        subject: A score of the catalogue (``CatalogueSubject``), or a foreign one.
        size: Few conditions and draws, or all.
        draws: Of each condition; else by size.
        cells: Conditions to take instead of those of the size; then nothing else is looked at.
        seed: Of all draws.
        workers: Whoever does the work; here and now if not given.
    """
    chosen = list(cells) if cells is not None else cells_of(subject, size)
    decides = isinstance(subject, CatalogueSubject) and subject.metric.decides
    numbers = [draws or repetitions(subject, c, size, decides=decides) for c in chosen]
    done = put_through(subject, chosen, numbers, seed=seed, workers=workers)
    if cells is not None:
        return Certified(subject, size, seed, done)
    lines = lines_over_cells(subject, done)
    checked, recorded = check(subject, seed=seed, workers=workers)
    forms = flips(subject, draws or FLIP_DRAWS[size], seed=seed, workers=workers)
    return Certified(
        subject, size, seed, done, [*lines, *checked, *forms], power(subject, done), recorded
    )


def subjects_of(size: Size) -> list[CatalogueSubject]:
    """Scores that verdicts are read from; for a release all, the quick ones first."""
    names = [name for name, metric in catalogue().items() if metric.decides or size == "release"]
    slow = [name for name in names if find_metric(name).opt_in]
    return [CatalogueSubject(name) for name in [*(n for n in names if n not in slow), *slow]]
