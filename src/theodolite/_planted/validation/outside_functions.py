"""Scores of other people: any function of arrays, resampled by computing it again."""

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import start_draw
from theodolite._planted.generators import Generator, How, Planted, make_rows_independent
from theodolite._planted.registry import GENERATORS, find_generator
from theodolite._planted.validation.characteristics import ANSWERS
from theodolite._planted.validation.subjects import Outcome
from theodolite._scoring.evaluate import Resampling
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import Question
from theodolite.results import Better

BOOTSTRAPS = 200
"""How often a function is computed again; each costs as much as the score itself."""
NULL_SHARE = 5
"""Draws of a null whose mean the score is compared with."""
LARGE, TIMES = 2000, 5
"""Rows, and draws, that a truth from large samples comes from."""
USUAL = {
    "exists": "ranked concepts", "located": "marked objects", "leak_free": "leaking values",
    "faithful": "explained layer", "detects": "marking units", "accepted": "agreeing votes",
}  # fmt: skip
"""What is planted for a question, if nothing else is asked for."""
Null = Callable[[Evidence, int], Evidence]


@dataclass(frozen=True)
class Foreign:
    """A function and what it claims to measure."""

    name: str
    function: Callable[..., Any]
    """Of the arrays, in their order -> a number; or a number a sample, whose mean is the score."""
    arrays: tuple[str, ...]
    """Arrays of the evidence, such as ``values``, ``labels`` or ``explained.truth``."""
    question: Question
    better: Better
    bounds: tuple[float, float] = (-np.inf, np.inf)
    nulls: tuple[Null, ...] = ()
    """(evidence, seed) -> evidence in which there is nothing to find, or no fault."""
    is_defect_metric: bool = False
    tolerance: float | None = None
    planted: Generator | None = None
    """What is planted; else what is usual for the question."""
    evidence_of: str = ""
    """The metric of the catalogue whose evidence is drawn; else the first that is served."""
    own_interval: Callable[..., tuple[float, float]] | None = None
    """(arrays) -> low and high, where the function comes with an interval of its own."""
    truth: Callable[[Condition], float] | None = None
    """What it should give; else what it gives for large samples."""
    bootstraps: int = BOOTSTRAPS
    large: int = LARGE
    version: int = 0
    """Version of the metric, where the function is declared as one."""

    @property
    def generator(self) -> Generator:
        """What is planted."""
        return self.planted or find_generator(USUAL[self.question])

    @property
    def how(self) -> How:
        """Where truths are from."""
        return "large sample" if self.truth is None else "exact"

    def identity(self) -> dict[str, Any]:
        """Name and declaration."""
        return {
            "metric": self.name, "version": self.version,
            "question": self.question, "better": self.better,
            "bounds": [str(bound) for bound in self.bounds], "arrays": list(self.arrays),
            "nulls": len(self.nulls), "bootstraps": self.bootstraps,
        }  # fmt: skip

    def draw(self, condition: Condition, seed: int) -> Planted:
        """Evidence, and the truth that was declared or that large samples have."""
        kind = self.evidence_of or self.generator.serves[0]
        bundle = self.generator.evidence(start_draw(kind, condition, (seed, 1), (seed, 2)))
        if self.truth is not None:
            truth = self.truth(condition)
        else:
            plain = make_rows_independent(condition, self.large)
            truth = _compute_large_sample_value(
                self, kind, plain, seed if self.generator.per_model else 0
            )
        return Planted((bundle,), truth, truth)

    def value(self, evidence: Evidence) -> float:
        """The value alone."""
        return float(np.mean(self.each(evidence)))

    def each(self, evidence: Evidence) -> Float[np.ndarray, "*samples"]:
        """What the function gives."""
        return np.asarray(self.function(*self._arguments(evidence)), float)

    def _arguments(self, evidence: Evidence) -> list[np.ndarray]:
        return [_get_array(evidence, name) for name in self.arrays]

    def outcome(self, planted: Planted, resampling: Resampling) -> Outcome:
        """Value, interval and answer, from bootstraps over clusters."""
        start = time.process_time()
        evidence = planted.evidence[0]
        random = np.random.default_rng((resampling.seed, 11))
        n, rows = _group_rows(evidence)
        picks = [rows(random.integers(0, n, n)) for _ in range(self.bootstraps)]
        quantile = float(stdtrit(n - 1, 0.975))
        value, again = self._again(evidence, picks)
        if self.own_interval is not None:
            low, high = self.own_interval(*self._arguments(evidence))
        else:
            half = quantile * float(np.nanstd(again, ddof=1))
            low, high = np.clip((value - half, value + half), *self.bounds)
        answer = self._answer(evidence, value, again, picks, quantile)
        best = self.bounds[1 if self.better == "higher" else 0]
        seconds = time.process_time() - start
        return Outcome(
            value, float(low), float(high), planted.truth, ANSWERS.index(answer), best, seconds
        )

    def _again(self, evidence: Evidence, picks: Sequence[np.ndarray]) -> tuple[float, np.ndarray]:
        """The value, and that of each bootstrap; numbers of samples are only averaged again."""
        arguments, n = self._arguments(evidence), len(evidence)
        each = np.asarray(self.function(*arguments), float)
        if each.ndim:
            return float(each.mean()), np.array([each[rows].mean() for rows in picks])
        again = [
            self.function(*(a[rows] if len(a) == n else a for a in arguments)) for rows in picks
        ]
        return float(each), np.array(again, float)

    def _answer(
        self,
        evidence: Evidence,
        value: float,
        again: np.ndarray,
        picks: Sequence[np.ndarray],
        quantile: float,
    ) -> str:
        """Better than every null, or a fault beyond the clean one; else it cannot be told."""
        sign = 1.0 if self.is_defect_metric or self.better == "higher" else -1.0
        lows, highs = [], []
        for null in self.nulls:
            # each draw of the null shares the bootstraps with the others: its spread is in theirs
            draws = [
                self._again(null(evidence, seed), picks[seed::NULL_SHARE])
                for seed in range(NULL_SHARE)
            ]
            middle = value - float(np.mean([draw[0] for draw in draws]))
            apart = np.concatenate([again[seed::NULL_SHARE] - d[1] for seed, d in enumerate(draws)])
            half = quantile * float(np.nanstd(apart, ddof=1))
            lows.append(sign * middle - half)
            highs.append(sign * middle + half)
        if not lows:
            return "inconclusive"
        if self.is_defect_metric:
            accepted = self.tolerance or 0.0
            if max(highs) <= accepted:
                return "yes"
            return "no" if min(lows) > accepted else "partly" if min(lows) > 0 else "inconclusive"
        return "partly" if min(lows) > 0 else "no" if min(highs) < 0 else "inconclusive"


@lru_cache(maxsize=1024)
def _compute_large_sample_value(
    foreign: Foreign, kind: str, condition: Condition, seed: int
) -> float:
    samples = foreign.generator.draw_several(kind, condition, seed, TIMES)
    return float(np.mean([foreign.value(sample) for sample in samples]))


def _get_array(evidence: Evidence, name: str) -> np.ndarray:
    member: Any = evidence
    for part in name.split("."):
        member = getattr(member, part)
    return np.asarray(member)


def _group_rows(evidence: Evidence) -> tuple[int, Callable[[np.ndarray], np.ndarray]]:
    """Return how many, and the rows of some of them."""
    clusters = evidence.samples.clusters
    if clusters is None:
        return len(evidence), lambda picks: picks
    own = np.unique(clusters, return_inverse=True)[1]
    order = np.argsort(own, kind="stable")
    edges = np.searchsorted(own[order], np.arange(own.max() + 2))
    return int(own.max()) + 1, lambda picks: np.concatenate(
        [order[edges[g] : edges[g + 1]] for g in picks]
    )


def dealt_out(*arrays: str) -> Null:
    """A null: these arrays dealt out over the samples.

    >>> from theodolite.evidence.kinds.concept import ConceptEvidence
    >>> null = dealt_out("labels")
    >>> null(ConceptEvidence(values=np.zeros((4, 1)), labels=np.arange(4)), 0).labels.tolist()
    [1, 0, 3, 2]
    """

    def null(evidence: Evidence, seed: int) -> Evidence:
        order = np.random.default_rng((seed, 12)).permutation(len(evidence))
        changed: dict[str, Any] = {name: _get_array(evidence, name)[order] for name in arrays}
        return replace(evidence, **changed)

    return null


def load_outside_function(name: str, **declared: Any) -> Foreign:
    """``package.module:function`` with what it claims; or a ``Foreign`` under such a name."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise EvidenceError(
            "metrics validate", repr(name), "a score of the catalogue, or module:function"
        )
    try:
        thing = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise EvidenceError(
            "metrics validate", f"{name}: {error}", "a function that can be imported"
        ) from error
    if isinstance(thing, Foreign):
        return thing
    planted = declared.pop("planted", None)
    generator = find_generator(planted) if planted else None
    metric = next((m for m in catalogue().values() if m.cite == f"{module}.{attribute}"), None)
    if metric is not None:
        return _declare_metric(metric, thing, generator)
    lacks = [option for option in ("question", "better") if not declared.get(option)]
    if lacks or not callable(thing):
        needs = ", ".join(f"--{option}" for option in lacks) or "a function"
        raise EvidenceError("metrics validate", name, needs, "Say what it claims to measure.")
    return Foreign(name, thing, planted=generator, **declared)


def _declare_metric(metric: Metric, function: Any, generator: Generator | None) -> Foreign:
    """Return the declaration of a function that is a metric already (``theodolite.ext.metric``)."""
    return Foreign(
        metric.name, function, metric.uses, metric.question, metric.better, metric.bounds,
        tuple(null.made for null in metric.nulls), metric.is_defect_metric, metric.tolerance,
        generator, version=metric.version,
    )  # fmt: skip


def list_generator_names() -> str:
    """Names of all generators."""
    return ", ".join(generator.name for generator in GENERATORS)
