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
from theodolite_reproductions.findings.decision import LEVEL, Answer, FindingDecision, decide_mean

Learned = Callable[[SurrogateEvidence, int], Float[np.ndarray, "samples classes"]]
Expected = Literal["worse", "the same"]
SettingOutcome = Literal["worse", "the same", "better", "not told apart", "too few repeats"]
Outcome = Literal["passes", "fails", "undecided"]
EFFECT = 0.05
"""The smallest difference between two settings that counts, as a share of the largest value."""
ROUNDING = 1e-5
"""A difference within it is none, however sure; as a share of the largest value."""
ORDER = ("perfect", "random_importances", "random_concepts")
"""From the most to the least faithful."""
PLANTED: dict[str, Expected] = {
    "shuffled importances": "worse",
    "a class without concepts": "worse",
    "longer and shorter vectors": "the same",
    "each concept twice": "the same",
}
"""What a measure should find, beside the perfect explanation."""
WORDS: dict[Answer, SettingOutcome] = {
    "confirmed": "worse",
    "contradicted": "better",
    "not there": "the same",
    "too few repeats": "too few repeats",
    "inconclusive": "not told apart",
}
SURE: tuple[SettingOutcome, ...] = ("worse", "better", "the same")
WITHOUT_CHANCE = ("perfect", "each concept twice")


@dataclass(frozen=True)
class Step:
    """The difference between two settings, over seeds: positive where the second is worse."""

    more: str
    less: str
    expected: Expected
    found: SettingOutcome
    value: float
    low: float
    high: float
    decision: FindingDecision | None = None

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

        Undecided where seeds do not tell two of them apart; more seeds may. It fails only if two
        are surely the same or the wrong way round, at a level that holds for both steps.
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


def sanity_check(  # noqa: PLR0913  each is a choice of its own
    embeddings: Float[np.ndarray, "samples dimensions"],
    head: Float[np.ndarray, "classes dimensions"],
    *,
    bias: Float[np.ndarray, " classes"] | None = None,
    labels: Int[np.ndarray, " samples"] | None = None,
    seeds: Sequence[int] = range(10),
    learned: Learned | None = None,
    effect: float = EFFECT,
) -> Sanity:
    """Check every measure of faithfulness of the catalogue on your own network's last layer.

    ``learned`` fits a surrogate with parameters to evidence, given a seed, and says what it puts
    out; without it such surrogates are left out. Differences below ``effect``, a share of the
    largest value of a measure, count as none.

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
            judged(metric.name, options, metric.better, by_measure[number], effect)
            for number, (metric, options) in enumerate(measures)
        )
    )


def _measures(evidence: SurrogateEvidence) -> Iterator[tuple[Metric, dict[str, Any]]]:
    """Every measure that tells explanations apart, with every surrogate that is there."""
    for metric in catalogue().values():
        if metric.needs is not SurrogateEvidence or metric.name == "linearization_error":
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
    measure: str,
    options: dict[str, Any],
    better: Better,
    values: dict[str, tuple[float, ...]],
    effect: float = EFFECT,
) -> MeasureOrder:
    """Return whether a measure's values in the settings are in the order that they must be in."""
    steps: list[tuple[str, str, Expected]] = [(a, b, "worse") for a, b in itertools.pairwise(ORDER)]
    planted = [("perfect", name, expected) for name, expected in PLANTED.items() if name in values]
    return MeasureOrder(
        measure,
        options,
        better,
        values,
        _steps(steps, better, values, effect),
        _steps(planted, better, values, effect),
    )


def _steps(
    steps: Sequence[tuple[str, str, Expected]],
    better: Better,
    values: Mapping[str, Sequence[float]],
    effect: float,
) -> tuple[Step, ...]:
    """Each step between two settings, at a level for as many as there are."""
    # rounding is small beside what the measure ranges over, not beside a perfect 0
    size = max((abs(v) for each in values.values() for v in each if not np.isnan(v)), default=0.0)
    sign = -1.0 if better == "higher" else 1.0
    strict = 1 - (1 - LEVEL) / max(len(steps), 1)
    return tuple(
        _step(step, sign * (np.asarray(values[step[1]], float) - values[step[0]]), (
            max(effect * size, np.finfo(float).tiny), ROUNDING * size, strict))
        for step in steps
    )  # fmt: skip


def _step(
    step: tuple[str, str, Expected], lost: np.ndarray, limits: tuple[float, float, float]
) -> Step:
    """What a measure makes of a setting.

    It passes only if all steps are as they must be, which needs no correction. It fails by any one
    that is surely not, so that this must hold at the strict level, for all steps together.
    """
    effect, rounding, strict = limits
    undefined = bool(np.isnan(lost).any())  # a setting that breaks a measure is no draw of chance
    defined = lost[:0] if undefined else lost
    quoted = decision = decide_mean(defined, effect)
    outcome = WORDS[quoted.answer]
    if outcome != step[2]:
        if outcome in SURE:
            decision = decide_mean(defined, effect, level=strict)
        outcome = WORDS[decision.answer]
    if not undefined and float(np.abs(lost).max(initial=0.0)) <= rounding:
        outcome = "the same"
    ends = (quoted.low, quoted.high)
    if np.isnan(quoted.low):  # a single draw has no interval
        ends = (quoted.value, quoted.value)
    return Step(*step, outcome, quoted.value, *ends, decision)
