"""Evidence about feature attributions of tabular models, such as SHAP and LIME values."""

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import (
    AttributionScale,
    Chances,
    Classes,
    FeatureGroups,
    Features,
    Removals,
)
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question

SCALES = ("probability", "log-odds", "raw")
REMOVALS = ("background", "conditional")
"""Sources of values for removed features."""
ONE_ORDER, ANOTHER, RANDOM = (
    "global_ranking", "another_sample", "random_features",
)  # fmt: skip
REPEATS = 3
"""Number of draws of each random order."""
CHANCES = (ONE_ORDER, *(f"{name} {i + 1}" for i in range(REPEATS) for name in (ANOTHER, RANDOM)))
"""Names of the uninformative baseline orders."""
CURVES = ("removed", "only", "chance_removed", "chance_only", "best_removed")
MIN_REPORTED_GAP = 0.01
"""Smallest gap between output and sum of attributions to report, in standard deviations of the
output.
"""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AttributionEvidence(Evidence):
    """Attributions of one output of a model to the features of a table, as SHAP and LIME make them.

    Only ``values`` is needed; each score says which of the others it uses. ``respond`` is the
    model: a function from rows of features to the explained output. It is asked at once and not
    stored; what it answers is in ``removed`` and the arrays beside it. Where the model is somewhere
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
    counts: Int[np.ndarray, " steps"] | None = array("steps", content="index", optional=True)
    """How many features, or groups of them, are removed in each step, rising."""
    removed: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True
    )
    """Mean output of the model without the features of highest attribution."""
    only: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True
    )
    """Mean output with these features alone, and all others removed."""
    chance_removed: Float[np.ndarray, "samples chances removals steps"] | None = array(
        "samples", "chances", "removals", "steps", optional=True
    )
    """As ``removed``, with features in the order of attributions that know less."""
    chance_only: Float[np.ndarray, "samples chances removals steps"] | None = array(
        "samples", "chances", "removals", "steps", optional=True
    )
    """As ``only``, with these."""
    best_removed: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True
    )
    """As ``removed``, with the features that change the output most, as far as a search found."""
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
    removals: Removals = Removals()
    chances: Chances = Chances()
    scale: AttributionScale = AttributionScale()
    respond: InitVar[Callable[[np.ndarray], Any] | None] = None

    def __post_init__(self, respond: Callable[[np.ndarray], Any] | None) -> None:
        if self.base is not None and np.size(self.base) == 1:
            whole = np.broadcast_to(np.asarray(self.base, float).ravel(), (len(self.values),))
            object.__setattr__(self, "base", whole)
        super().__post_init__()
        if respond is not None:
            from theodolite.evidence.attributions.plan import attribution_plan  # noqa: PLC0415

            answered = attribution_plan(self).ask(respond)
            for name in ("output", "counts", *CURVES, "removals", "chances"):
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
        present = [name for name in CURVES if getattr(self, name) is not None]
        if present and self.output is None:
            raise EvidenceError("output", f"none, but `{present[0]}`", "`output` as well")
        self._name_numbers()
        counts = self.counts
        if counts is not None and (counts[0] < 1 or (np.diff(counts) <= 0).any()):
            raise EvidenceError("counts", f"{counts.tolist()[:8]}", "rising, from 1 on")

    def _name_numbers(self) -> None:
        """Name numbered removals and orders by their defaults."""
        for name, axis, usual in (
            ("removals", self.removals, REMOVALS), ("chances", self.chances, CHANCES),
        ):  # fmt: skip
            if 0 < len(axis) <= len(usual) and axis == type(axis).numbered(len(axis)):
                object.__setattr__(self, name, type(axis)(usual[: len(axis)]))

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
