"""Evidence about feature attributions of tabular models, such as SHAP and LIME values."""

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import (
    AttributionScale,
    AttributionScope,
    Classes,
    FeatureGroups,
    Features,
)
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question

SCALES = ("probability", "log-odds", "raw")
SCOPES = ("local", "global")
"""Whether there are attributions of each row, or one list for all rows."""
MIN_REPORTED_GAP = 0.01
"""Smallest gap between output and sum of attributions to report, in standard deviations of the
output.
"""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AttributionEvidence(Evidence):
    """Attributions of one output of a model to the features of a table, as SHAP and LIME make them.

    Only ``values`` is needed; each score says which of the others it uses. ``respond`` is the
    model: a function from rows of features to the explained output. It is asked at once and not
    stored; what it answers is in ``removed`` and ``change``. Where the model is somewhere
    else, ``theodolite.attribution_plan`` gives the rows that it has to answer.
    """

    kind = "attribution"
    version = 1
    marker = "inputs"
    ways: ClassVar[Mapping[Question, str]] = {
        "faithful": "attributions, inputs and what the model answers without features (`values`, "
        "`inputs`, `output`, `background`, and `respond` or stored answers)"
    }

    values: Float[np.ndarray, "samples features"] = array("samples", "features")
    """Attribution of the output to each feature, with its sign."""
    inputs: Float[np.ndarray, "samples features"] | None = array(
        "samples", "features", optional=True
    )
    """The explained rows: numbers, and categories as codes that count from 0."""
    output: Float[np.ndarray, " samples"] | None = array("samples", optional=True)
    """The explained output of the model for each row."""
    base: Float[np.ndarray, " samples"] | None = array("samples", optional=True)
    """Where attributions start from: with their sum it should be the output. One number will do."""
    background: Float[np.ndarray, "background_rows features"] | None = array(
        "background_rows", "features", optional=True
    )
    """Rows from which the values of removed features are drawn."""
    labels: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The true class."""
    groups: Int[np.ndarray, " features"] | None = array(
        "features", content="index", points_to="feature_groups", optional=True
    )
    """The group of each feature, by name or number: columns of one group are removed together."""
    removed: Bool[np.ndarray, "samples subsets features"] | None = array(
        "samples", "subsets", "features", content="flag", optional=True
    )
    """Features that were removed together, for each question to the model about a row."""
    change: Float[np.ndarray, "samples subsets"] | None = array("samples", "subsets", optional=True)
    """How much the output falls without these features, mean over background rows."""
    randomized_values: Float[np.ndarray, "samples features"] | None = array(
        "samples", "features", optional=True
    )
    """Attributions of a model that was trained on permuted labels."""
    repeat_values: Float[np.ndarray, "samples features"] | None = array(
        "samples", "features", optional=True
    )
    """Attributions of the same model, made again: another seed, background or sampling."""
    other_method_values: Float[np.ndarray, "samples features"] | None = array(
        "samples", "features", optional=True
    )
    """Attributions of the same model by another method."""
    features: Features = Features()
    feature_groups: FeatureGroups = FeatureGroups()
    classes: Classes = Classes()
    scale: AttributionScale = AttributionScale()
    scope: AttributionScope = AttributionScope()
    """``global`` where all rows have one list, which claims nothing about single rows."""
    respond: InitVar[Callable[[np.ndarray], Any] | None] = None

    def __post_init__(self, respond: Callable[[np.ndarray], Any] | None) -> None:
        if self.base is not None and np.size(self.base) == 1:
            whole = np.broadcast_to(np.asarray(self.base, float).ravel(), (len(self.values),))
            object.__setattr__(self, "base", whole)
        super().__post_init__()
        if respond is not None:
            from theodolite.evidence.attributions.plan import attribution_plan  # noqa: PLC0415

            answered = attribution_plan(self).ask(respond)
            for name in ("output", "removed", "change"):
                object.__setattr__(self, name, getattr(answered, name))

    def check(self) -> None:
        self._check_scale()
        self._check_categories()
        self._check_answers()
        empty = set() if self.groups is None else set(range(len(self.feature_groups)))
        if empty := empty.difference(np.asarray(self.groups).ravel().tolist()):
            name = self.feature_groups.names[min(empty)]
            raise EvidenceError("groups", f"no feature of {name!r}", "one or more of each")

    def _check_scale(self) -> None:
        names, output = self.scale.names, self.output
        if len(names) > 1 or not set(names) <= set(SCALES):
            raise EvidenceError("scale", f"{', '.join(names)}", f"one of {', '.join(SCALES)}")
        if names == ("probability",) and output is not None and not _are_probabilities(output):
            raise EvidenceError(
                "output", f"values from {output.min():g} to {output.max():g}", "probabilities",
                "Or say scale='log-odds' or scale='raw'.",
            )  # fmt: skip
        if output is None or self.base is None:
            return
        total = self.base + self.values.sum(axis=1)
        if _is_logistic_of(total, output):
            raise EvidenceError(
                "values", "base and attributions that add up to log-odds, and outputs that are "
                "probabilities", "both on one scale",
                "Explain the probability, or give the log-odds as `output`.",
            )  # fmt: skip
        if _is_logistic_of(output, total):
            raise EvidenceError(
                "values", "base and attributions that add up to probabilities, and outputs that "
                "are log-odds", "both on one scale",
                "Explain the log-odds, or give the probability as `output`.",
            )  # fmt: skip

    def _check_categories(self) -> None:
        for at, names in enumerate(self.features.categories):
            for rows in (self.inputs, self.background):
                codes = () if rows is None or not names else rows[:, at]
                wrong = [c for c in codes if c != int(c) or not 0 <= c < len(names)]
                if wrong:
                    raise EvidenceError(
                        f"feature {self.features.names[at]!r}", f"the code {wrong[0]:g}",
                        f"0 to {len(names) - 1}, a position in its categories",
                    )  # fmt: skip

    def _check_answers(self) -> None:
        for name, other in (("removed", "change"), ("change", "removed")):
            if getattr(self, name) is None and getattr(self, other) is not None:
                raise EvidenceError(name, f"none, but `{other}`", "both, or none")
        if len(self.scope) > 1 or not set(self.scope.names) <= set(SCOPES):
            raise EvidenceError("scope", ", ".join(self.scope.names), f"one of {', '.join(SCOPES)}")

    def warnings(self) -> list[str]:
        if self.output is None or self.base is None:
            return []
        gap = np.abs(self.base + self.values.sum(axis=1) - self.output).mean()
        spread = float(np.std(self.output))
        if gap <= MIN_REPORTED_GAP * spread or gap == 0:
            return []
        return [
            f"base and attributions miss the output by {gap:.3g} on average (its spread is "
            f"{spread:.3g}): are they of this model, and on the same scale?"
        ]


def _are_probabilities(output: Float[np.ndarray, " samples"]) -> bool:
    return bool(output.min() >= -1e-6 and output.max() <= 1 + 1e-6)


def _is_logistic_of(
    log_odds: Float[np.ndarray, " samples"], probability: Float[np.ndarray, " samples"]
) -> bool:
    """Return whether the second array is the logistic function of the first."""
    spread = float(np.std(probability))
    if spread == 0 or not _are_probabilities(probability):
        return False
    near = np.abs(0.5 * (1 + np.tanh(0.5 * np.asarray(log_odds, float))) - probability).mean()
    return bool(near < MIN_REPORTED_GAP * spread < np.abs(log_odds - probability).mean())
