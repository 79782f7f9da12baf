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

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import SETTINGS
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Better
from theodolite.stats.resampling import mean_interval

Learned = Callable[[SurrogateEvidence, int], Float[np.ndarray, "samples classes"]]
Expected = Literal["worse", "the same"]
Outcome = Literal["passes", "fails", "undecided"]
ORDER = ("perfect", "random importances", "random concepts")
"""From the most to the least faithful."""
PLANTED: dict[str, Expected] = {
    "shuffled importances": "worse",
    "a class without concepts": "worse",
    "longer and shorter vectors": "the same",
    "each concept twice": "the same",
}
"""What a measure should find, beside the perfect explanation."""
WITHOUT_CHANCE = ("perfect", "each concept twice")


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
class MeasureOrder:
    """One measure: its values in each setting, and whether they are in order."""

    measure: str
    options: dict[str, Any]
    better: Better
    values: dict[str, tuple[float, ...]]
    """Of each setting, one per seed."""
    order: tuple[Step, ...] = ()
    planted: tuple[Step, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Whether it ranks perfect above random importances above random concepts.

        Undecided where seeds do not tell two of them apart: more seeds may.
        """
        outcomes = {step.found for step in self.order}
        if outcomes <= {"worse"}:
            return "passes"
        return "fails" if outcomes & {"the same", "better"} else "undecided"

    def __str__(self) -> str:
        options_text = ", ".join(str(v) for v in self.options.values())
        means = "  ".join(f"{np.mean(self.values[name]):8.3f}" for name in ORDER)
        failed = [s for s in (*self.order, *self.planted) if not s.holds]
        why = "; ".join(f"{s.less}: {s.found}, not {s.expected}" for s in failed)
        name = f"{self.measure} ({options_text})" if options_text else self.measure
        return f"{self.outcome:9s}  {name:50s} {means}  {why}".rstrip()


@dataclass(frozen=True)
class Sanity:
    """The check of several measures; as text, one line for each."""

    measures: tuple[MeasureOrder, ...] = field(default=())

    def __str__(self) -> str:
        heads = "  ".join(f"{name.split()[-1][:8]:>8s}" for name in ORDER)
        return "\n".join([f"{'':61s} {heads}", *(str(measure) for measure in self.measures)])


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
    >>> result = sanity_check(random.normal(size=(50, 8)), random.normal(size=(3, 8)))
    >>> [measure.outcome for measure in result.measures if measure.measure == "surrogate_error"]
    ['passes', 'fails']
    """
    if not len(seeds) or len(head) < 2:
        got = f"{len(seeds)} seeds and {len(head)} outputs"
        raise EvidenceError("sanity_check", got, "some seeds and at least 2 outputs")
    evidence = SurrogateEvidence(
        importances=np.ones((1, len(head))),
        projections=np.ones((len(embeddings), 1)),
        embeddings=embeddings,
        head=head,
        bias=bias,
        labels=labels,
    )
    by_measure: dict[int, dict[str, tuple[float, ...]]] = {}
    measures: list[tuple[Metric, dict[str, Any]]] = []
    for name, make in SETTINGS.items():
        setting_seeds = [seeds[0]] if name in WITHOUT_CHANCE and learned is None else seeds
        rows = []
        for seed in setting_seeds:
            setting_evidence = make(evidence, seed)
            if learned is not None:
                setting_evidence = replace(
                    setting_evidence, learned=learned(setting_evidence, seed)
                )
            measures = measures or list(_measures(setting_evidence))
            rows.append([_value(metric, options, setting_evidence) for metric, options in measures])
        for number, values in enumerate(zip(*rows, strict=True)):
            filled = values if len(values) == len(seeds) else values * len(seeds)
            by_measure.setdefault(number, {})[name] = filled
    return Sanity(
        tuple(
            judged(metric.name, options, metric.better, by_measure[number])
            for number, (metric, options) in enumerate(measures)
        )
    )


def _measures(evidence: SurrogateEvidence) -> Iterator[tuple[Metric, dict[str, Any]]]:
    """Every measure that tells explanations apart, with every surrogate that is there."""
    for metric in catalogue().values():
        if metric.needs is not SurrogateEvidence or metric.name == "linearisation_error":
            continue
        choices: list[dict[str, Any]] = [{}]
        if "surrogate" in metric.options():
            choices = [{"surrogate": s} for s in ("linear", "rebuilt", "learned")]
        for options in choices:
            if not metric.missing(evidence, options):
                yield metric, options


def _value(metric: Metric, options: dict[str, Any], evidence: SurrogateEvidence) -> float:
    """A score; of details the mean of what is defined, as in the score itself."""
    each = np.asarray(metric.state.of(evidence, **options).value()).ravel()
    known = each[~np.isnan(each)]
    return float(known.mean()) if len(known) else float("nan")


def judged(
    measure: str, options: dict[str, Any], better: Better, values: dict[str, tuple[float, ...]]
) -> MeasureOrder:
    """Whether a measure's values in the settings are in the order that they must be in."""
    steps: list[tuple[str, str, Expected]] = [(a, b, "worse") for a, b in itertools.pairwise(ORDER)]
    planted = [("perfect", name, expected) for name, expected in PLANTED.items() if name in values]
    return MeasureOrder(
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
        outcome = "not told apart"
    elif np.abs(lost).max() <= 1e-5 * size:
        outcome = "the same"
    elif len(lost) < 2:  # a single draw of chance proves nothing
        outcome = "not told apart"
    elif low > 0:
        outcome = "worse"
    else:
        outcome = "better" if high < 0 else "not told apart"
    return Step(more, less, expected, outcome, mean, low, high)  # type: ignore[arg-type]
