"""Metrics of whether the output depends on the features that an attribution names."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.attribution import ANOTHER, ONE_ORDER, RANDOM, AttributionEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric

Removals = Annotated[
    Sequence[Literal["background", "conditional"]],
    Field(min_length=1, description="Background rows: any, or those most like the sample."),
]
IN_GENERAL = (
    "These attributions say what the model uses in general; for the single case they add nothing "
    "sure."
)


def compute_mean_change(
    evidence: AttributionEvidence, answers: Float[np.ndarray, "samples removals steps"]
) -> Float[np.ndarray, "samples removals"]:
    """Return the mean distance of the output from the original, over steps."""
    output = np.asarray(evidence.output, float)[:, None, None]
    return np.asarray(np.abs(output - answers).mean(axis=2))


def get_positions(evidence: AttributionEvidence, removal: Sequence[str]) -> list[int]:
    """Return the positions of removal methods; without names, the first background row."""
    names = evidence.removals.names
    lacking = [name for name in removal if name not in names]
    if lacking and not (lacking == ["background"] and "conditional" not in names):
        raise EvidenceError(
            f"removal={lacking[0]!r}", f"{list(names)}", "it in the evidence",
            f"Make it: theodolite.attribution_plan(evidence, removal={lacking[0]!r}).",
        )  # fmt: skip
    return [names.index(name) if name in names else 0 for name in removal]


def get_methods(evidence: AttributionEvidence) -> dict[str, Any]:
    """Return the removal methods that the evidence has."""
    known = tuple(n for n in ("background", "conditional") if n in evidence.removals.names)
    return {"removal": known} if known else {}


def _expect_random_order(curve: str, order: str) -> Callable[..., PerSample]:
    """Return the mean change for features in random orders."""

    def expected(
        evidence: AttributionEvidence, *, removal: Removals = ("background",)
    ) -> PerSample:
        answers = np.asarray(getattr(evidence, curve))
        draws = [i for i, name in enumerate(evidence.chances.names) if name.startswith(order)]
        if not draws:
            return PerSample.from_values(np.full((len(evidence), len(removal)), np.nan))
        moved = np.mean([compute_mean_change(evidence, answers[:, i]) for i in draws], axis=0)
        return PerSample.from_values(moved[:, get_positions(evidence, removal)])

    return expected


def null_orders(curve: str) -> tuple[NullModel, ...]:
    """Features in orders that know less, the hardest first; they share their background rows with
    the score."""
    return (
        NullModel(
            ONE_ORDER, "every sample's features in the order of their mean attribution",
            expected=_expect_random_order(curve, ONE_ORDER), random=False, if_not_beaten=IN_GENERAL,
            label="global feature ranking",
        ),
        NullModel(
            ANOTHER, "the features that are named for another sample",
            expected=_expect_random_order(curve, ANOTHER), random=False, if_not_beaten=IN_GENERAL,
            label="another_sample",
        ),
        NullModel(
            RANDOM, "as many features, drawn at random",
            expected=_expect_random_order(curve, RANDOM), random=False,
        ),
    )  # fmt: skip


attribution_metric = partial(
    metric,
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
)
removal_metric = partial(
    attribution_metric,
    bounds=(0.0, float("inf")),
    may_use=("removals",),
    sweeps=("removal",),
    headline={"removal": "background"},
    fitting=get_methods,
    cite="covert2021explaining",
)


class FeatureRemoval(SampleMean):
    """Mean change of the output when features are removed, for each way of removal."""

    curve: ClassVar[str]
    """The array with the answers."""

    @classmethod
    def each(
        cls, evidence: AttributionEvidence, *, removal: Removals = ("background",)
    ) -> PerSample:
        """Measure the change of each sample."""
        moved = compute_mean_change(evidence, np.asarray(getattr(evidence, cls.curve)))
        return PerSample.from_values(moved[:, get_positions(evidence, removal)])


def find_best_order(evidence: AttributionEvidence) -> AttributionEvidence:
    """Return the features that a search with access to the model found."""
    return replace(evidence, removed=evidence.best_removed)


@removal_metric(
    "feature_necessity",
    title="Feature necessity",
    better="higher",
    uses=("output", "removed"),
    nulls_use=("chance_removed", "best_removed"),
    ideal=find_best_order,
    threshold=0.8,
    nulls=null_orders("chance_removed"),
    card=Card(
        question="How far does the output move when the features named first are removed?",
        interpretation="In units of the output: 0.3 is 30 points of probability. Compare with one "
        "order for all samples: what lies above it is what attributions say about the single case. "
        "At random, features hardly matter, so that beating them shows little. From 0.8 of the "
        "best order that a search found we would rely on it; a convention.",
        limitations="Values from background rows break correlations: rows appear that no data set "
        "has, and the model may answer them at its whim. Compare with removal='conditional', which "
        "takes rows like the sample in the features that remain. Where two features say the same, "
        "removing one changes little, however much it is used. The best order is the best that a "
        "greedy search found, and no upper bound. Signs and sizes do not count, only the order of "
        "absolute attributions: read it beside `additivity_gap`.",
        cost="samples x draws x orders x steps answers of the model, and a search of about as many",
        template="Without the features named first, the output moves by {value} "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class FeatureNecessity(FeatureRemoval):
    r"""Change of the output without the features of highest attribution, mean over samples.

    .. math:: \frac1N \sum_i \frac{1}{|K|} \sum_{k \in K}
        \Bigl| f(x_i) - \frac1B \sum_b f\bigl(x_i^{(k \leftarrow b)}\bigr) \Bigr|

    :math:`x^{(k \leftarrow b)}` is the sample with the values of its :math:`k` features of highest
    absolute attribution taken from background row :math:`b`; :math:`K` is 1, 2, 3, 5 and 8 as far
    as there are more features, and of equals the first feature counts first. Score and nulls share
    the background rows. Features of one group are removed together. A removal-based explanation in
    the sense of :cite:t:`covert2021explaining`, used as a test.

    Example:
        >>> from theodolite.metrics import feature_necessity
        >>> feature_necessity([1.0], [[[0.5, 0.5]]])
        array([0.5])
    """

    curve = "removed"


@removal_metric(
    "feature_sufficiency",
    title="Feature sufficiency gap",
    better="lower",
    uses=("output", "only"),
    nulls_use=("chance_only",),
    decides=False,
    nulls=null_orders("chance_only"),
    card=Card(
        question="How far is the output from itself when only the features named first remain?",
        interpretation="In units of the output; 0 if the named features alone give the same "
        "answer. Compare with one order for all samples.",
        limitations="With nearly all features from background rows, samples are unlike any that "
        "the model knows. A model that needs many features at once scores badly whatever is named.",
        cost="samples x draws x orders x steps answers of the model",
    ),
)
class FeatureSufficiency(FeatureRemoval):
    r"""Change of the output with only the features of highest attribution, mean over samples.

    .. math:: \frac1N \sum_i \frac{1}{|K|} \sum_{k \in K}
        \Bigl| f(x_i) - \frac1B \sum_b f\bigl(b^{(k \leftarrow x_i)}\bigr) \Bigr|

    As :func:`~theodolite.metrics.functions.faithful.feature_necessity`, with all but the first
    :math:`k` features taken from background rows.

    Example:
        >>> from theodolite.metrics import feature_sufficiency
        >>> feature_sufficiency([1.0], [[[0.5, 1.0]]])
        array([0.25])
    """

    curve = "only"
