"""The file that says what is good enough: read strictly, and its mistakes explained."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, ValidationError, model_validator

from theodolite._scoring.request import expand
from theodolite._storage.records import Strict, describe_first_error
from theodolite._storage.text import read_yaml
from theodolite.errors import EvidenceError, did_you_mean
from theodolite.metrics.catalogue import find_metric
from theodolite.questions import QUESTIONS, Question

MEANT = {
    "min": "at_least", "minimum": "at_least", "least": "at_least",
    "max": "at_most", "maximum": "at_most", "most": "at_most",
}  # fmt: skip
"""Words that others use for our keys."""


def _word(value: Any) -> Any:
    """YAML reads a bare yes as true."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _no_word(value: Any) -> Any:
    """A bare yes would pass for 1."""
    if isinstance(value, bool):
        message = "give a number"
        raise ValueError(message)
    return value


Number = Annotated[float, BeforeValidator(_no_word), Field(allow_inf_nan=False)]
Least = Annotated[Literal["yes", "partly"], BeforeValidator(_word)]


class ScoreThreshold(Strict):
    """What the scores of a metric must reach: each one that has these options."""

    metric: str
    options: dict[str, Any] = Field(default_factory=dict)
    at_least: Number | None = None
    at_most: Number | None = None
    beats_null: StrictBool = False
    by: Literal["confidence_bound", "value"] = "confidence_bound"
    """``surely``: the end of the interval that is nearer to the line; ``value``: the score."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> "ScoreThreshold":
        if self.threshold is None and not self.beats_null:
            message = "give at_least, at_most or beats_null: true"
            raise ValueError(message)
        if self.at_least is not None and self.at_most is not None:
            message = "give at_least or at_most, not both"
            raise ValueError(message)
        return self

    @property
    def threshold(self) -> float | None:
        """The number to reach."""
        return self.at_most if self.at_least is None else self.at_least

    @property
    def requirement(self) -> str:
        """What is asked, in words."""
        sides = (("at least", self.at_least), ("at most", self.at_most))
        words = [f"{side} {value:g}" for side, value in sides if value is not None]
        if words and self.by == "confidence_bound":
            words[0] = f"surely {words[0]}"
        return " and ".join(words + ["better than every null"] * self.beats_null)


class DriftThreshold(Strict):
    """How far attributions may have drifted from an earlier version of the model."""

    at_most: Annotated[Number, Field(ge=0, le=1)] | None = None
    """What is accepted in any case; needed where there is no floor."""
    floor: list[str] = Field(default_factory=list)
    """Run folders of retrainings of the earlier version, as seen from the file."""
    over: Literal["features", "groups"] = "features"
    least: Least = "partly"
    """``partly`` stops what drifted for sure, ``yes`` also what may have."""

    @property
    def requirement(self) -> str:
        """What is asked, in words."""
        line = "" if self.at_most is None else f" or {100 * self.at_most:g} %"
        surely = "surely " if self.least == "yes" else ""
        return f"{surely}no more than retraining moves{line}"


class Thresholds(Strict):
    """What must hold: least answers to questions, and what scores must reach."""

    questions: dict[Question, Least] = Field(default_factory=dict)
    scores: list[ScoreThreshold] = Field(default_factory=list)
    drift: DriftThreshold | None = None
    """How far attributions may be from those of an earlier version."""
    undefined: Literal["fail", "pass"] = "fail"
    """What cannot be told fails, unless it is said to pass; a score that was not asked fails."""

    partial: Literal["fail", "pass"] = "fail"
    """A run of which pieces failed meets nothing, unless that is said to pass."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> "Thresholds":
        if not self.questions and not self.scores and self.drift is None:
            message = "it asks for nothing: give questions, scores or drift"
            raise ValueError(message)
        return self


def read_thresholds(path: Path) -> Thresholds:
    """Read and check a file of thresholds."""
    thresholds = thresholds_from(read_yaml(path, "thresholds"), f"thresholds {path.name!r}")
    if thresholds.drift is None:
        return thresholds
    folders = [str(path.parent / folder) for folder in thresholds.drift.floor]
    drift = thresholds.drift.model_copy(update={"floor": folders})
    return thresholds.model_copy(update={"drift": drift})


def thresholds_from(content: object, what: str = "thresholds") -> Thresholds:
    """Check thresholds that are plain data, as a file has them."""
    if not isinstance(content, Mapping):
        raise EvidenceError(what, type(content).__name__, "questions, scores or drift")
    try:
        thresholds = Thresholds.model_validate(dict(content))
    except ValidationError as error:
        raise EvidenceError(
            what, describe_first_error(error), "thresholds as documented", _hint(error.errors()[0])
        ) from error
    for threshold in thresholds.scores:
        _check(threshold)
    named = [t.model_copy(update={"metric": find_metric(t.metric).name}) for t in thresholds.scores]
    return thresholds.model_copy(update={"scores": named})


def _hint(fault: Any) -> str:
    """What was meant, as far as that can be guessed."""
    place = fault["loc"]
    if fault["type"] == "extra_forbidden":
        parts = {
            "scores": ScoreThreshold.model_fields, "drift": DriftThreshold.model_fields
        }  # fmt: skip
        known = parts.get(str(place[0])) if len(place) > 1 else None
        return _nearest_key(str(place[-1]), list(known or Thresholds.model_fields))
    if place[-1:] == ("[key]",):
        return _nearest_key(str(place[-2]), list(QUESTIONS))
    if place[:1] == ("questions",) and len(place) == 2:
        return "For every question yes is the good answer."
    return ""


def _nearest_key(word: str, known: list[str]) -> str:
    word = MEANT[word] if MEANT.get(word) in known else word
    return did_you_mean(word, known) or f"There is {', '.join(known)}."


def choices(threshold: ScoreThreshold) -> list[dict[str, Any]]:
    """The options as scores have them: a list of choices is taken choice by choice."""
    metric = find_metric(threshold.metric)
    option_sets = []
    for request in expand(metric, threshold.options):
        swept = {name: v for name, v in request.options.items() if name in metric.sweeps}
        for combination in itertools.product(*swept.values()):
            option_sets.append(request.options | dict(zip(swept, combination, strict=True)))
    return option_sets


def _check(threshold: ScoreThreshold) -> None:
    """Refuse what no score could mean: an unknown name, the wrong side, a line out of reach."""
    metric = find_metric(threshold.metric)
    choices(threshold)
    what = f"threshold of {threshold.metric}"
    sides = ("at_least", "at_most") if metric.better == "higher" else ("at_most", "at_least")
    if getattr(threshold, sides[1]) is not None:
        raise EvidenceError(what, sides[1], f"{sides[0]}, because {metric.better} is better")
    low, high = metric.bounds
    if threshold.threshold is not None and not low <= threshold.threshold <= high:
        raise EvidenceError(
            what,
            f"{threshold.threshold:g}",
            f"a number from {low:g} to {high:g}",
            "Shares are not percent.",
        )
    if threshold.beats_null and metric.is_defect_metric:
        raise EvidenceError(
            what, "beats_null", "at_most",
            f"Its null is free of the fault; or ask for the question {metric.question!r}.",
        )  # fmt: skip
