"""Measure over measure: does a measure of faithfulness know a faithful explanation when it sees it?

A linear layer is explained perfectly by its own weights. A measure must rank that above the same
concepts with random importances, and these above random concepts. It should also notice smaller
faults, and not mind changes of notation.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from theodolite.contracts.score import Better
from theodolite.contracts.surrogate import SurrogateEvidence
from theodolite.contracts.surrogate_settings import SETTINGS
from theodolite.metrics._base import Entry
from theodolite.metrics._catalogue import catalogue
from theodolite.metrics._resample import mean_interval

Learned = Callable[[SurrogateEvidence, int], Float[np.ndarray, "samples classes"]]
Expected = Literal["worse", "the same"]
ORDER = ("perfect", "random importances", "random concepts")
"""From the most to the least faithful."""
PLANTED: dict[str, Expected] = {
    "shuffled importances": "worse",
    "a class without concepts": "worse",
    "longer and shorter vectors": "the same",
    "each concept twice": "the same",
}
"""What a measure should find, beside the perfect explanation."""


@dataclass(frozen=True)
class Step:
    """The difference between two settings, over seeds: positive where the second is worse."""

    more: str
    less: str
    expected: Expected
    found: Literal["worse", "the same", "better", "not told apart"]
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether it is as it must be."""
        return self.expected == self.found


@dataclass(frozen=True)
class Judged:
    """One measure: its values in each setting, and whether they are in order."""

    measure: str
    options: dict[str, Any]
    better: Better
    values: dict[str, tuple[float, ...]]
    """Of each setting, one per seed."""
    order: tuple[Step, ...] = ()
    planted: tuple[Step, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether it ranks perfect above random importances above random concepts."""
        return bool(self.order) and all(step.holds for step in self.order)

    def __str__(self) -> str:
        said = ", ".join(str(v) for v in self.options.values())
        means = "  ".join(f"{np.mean(self.values[name]):8.3f}" for name in ORDER)
        failed = [s for s in (*self.order, *self.planted) if not s.holds]
        why = "; ".join(f"{s.less}: {s.found}, not {s.expected}" for s in failed)
        name = f"{self.measure} ({said})" if said else self.measure
        return f"{'pass' if self.passes else 'FAIL'}  {name:50s} {means}  {why}".rstrip()


@dataclass(frozen=True)
class Sanity:
    """The check of several measures; as text, one line for each."""

    measures: tuple[Judged, ...] = field(default=())

    def __str__(self) -> str:
        heads = "  ".join(f"{name.split()[-1][:8]:>8s}" for name in ORDER)
        return "\n".join([f"{'':56s} {heads}", *(str(one) for one in self.measures)])


def sanity_check(
    embeddings: Float[np.ndarray, "samples dimensions"],
    head: Float[np.ndarray, "classes dimensions"],
    *,
    bias: Float[np.ndarray, " classes"] | None = None,
    labels: Int[np.ndarray, " samples"] | None = None,
    seeds: Sequence[int] = range(10),
    learned: Learned | None = None,
) -> Sanity:
    """Check every measure of faithfulness of the catalogue on your own network's last layer.

    ``learned`` fits a surrogate with parameters to evidence, given a seed, and says what it puts
    out; without it such surrogates are left out.

    >>> random = np.random.default_rng(0)
    >>> found = sanity_check(random.normal(size=(50, 8)), random.normal(size=(3, 8)))
    >>> [one.passes for one in found.measures if one.measure == "surrogate_error"]
    [True, False]
    """
    given = SurrogateEvidence(
        importances=np.ones((1, len(head))),
        projections=np.ones((len(embeddings), 1)),
        embeddings=embeddings,
        head=head,
        bias=bias,
        labels=labels,
    )
    cases = {name: [make(given, seed) for seed in seeds] for name, make in SETTINGS.items()}
    if learned is not None:
        for made in cases.values():
            made[:] = [replace(e, learned=learned(e, s)) for e, s in zip(made, seeds, strict=True)]
    measures = _measures(cases["perfect"][0])
    return Sanity(tuple(_scored(entry, options, cases) for entry, options in measures))


def _measures(evidence: SurrogateEvidence) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every measure that tells explanations apart, with every surrogate that is there."""
    for entry in catalogue().values():
        if entry.needs is not SurrogateEvidence or entry.name == "linearisation_error":
            continue
        choices: list[dict[str, Any]] = [{}]
        if "surrogate" in entry.options():
            choices = [{"surrogate": s} for s in ("linear", "rebuilt", "learned")]
        for options in choices:
            if not entry.missing(evidence, options):
                yield entry, options


def _scored(
    entry: Entry, options: dict[str, Any], cases: Mapping[str, Sequence[SurrogateEvidence]]
) -> Judged:
    def value(one: SurrogateEvidence) -> float:
        # undefined details are left out, as in the score itself
        each = np.asarray(entry.state.of(one, **options).value()).ravel()
        known = each[~np.isnan(each)]
        return float(known.mean()) if len(known) else float("nan")

    values = {name: tuple(value(one) for one in made) for name, made in cases.items()}
    return judged(entry.name, options, entry.better, values)


def judged(
    measure: str, options: dict[str, Any], better: Better, values: dict[str, tuple[float, ...]]
) -> Judged:
    """Whether a measure's values in the settings are in the order that they must be in."""
    steps: list[tuple[str, str, Expected]] = [(a, b, "worse") for a, b in itertools.pairwise(ORDER)]
    planted = [("perfect", name, expected) for name, expected in PLANTED.items() if name in values]
    return Judged(
        measure,
        options,
        better,
        values,
        tuple(_step(a, b, e, better, values) for a, b, e in steps),
        tuple(_step(a, b, e, better, values) for a, b, e in planted),
    )


def _step(
    more: str, less: str, expected: Expected, better: Better, values: Mapping[str, Sequence[float]]
) -> Step:
    sign = -1.0 if better == "higher" else 1.0
    a, b = (np.asarray(values[name], float) for name in (more, less))
    lost = sign * (b - a)
    mean = float(np.mean(lost))
    # rounding is small beside what the measure ranges over, not beside a perfect 0
    size = max((abs(v) for each in values.values() for v in each if not np.isnan(v)), default=0.0)
    interval = mean_interval(lost, 0.95, "seeds")
    low, high = (mean, mean) if interval is None else (interval.low, interval.high)
    if np.isnan(mean):
        found = "not told apart"
    elif np.abs(lost).max() <= 1e-5 * size:
        found = "the same"
    elif low > 0:
        found = "worse"
    else:
        found = "better" if high < 0 else "not told apart"
    return Step(more, less, expected, found, mean, low, high)  # type: ignore[arg-type]
