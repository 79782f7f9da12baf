"""Values that tell a known share of the label together, and honest values that look as if."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr, ndtri

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite._planted.information import shift_by_label
from theodolite.evidence.kinds.concept import ConceptEvidence

STEP = 0.05
"""How far a standard deviation of the deviation moves a value."""
LIKELY = 0.8
"""Share of the samples of a class that have a concept which belongs to it."""
COMMON = 0.3
"""Share of the variance that correlated concepts have in common."""
WAVES = 16
"""Half periods of a wave over the ranks of a value."""
TOLERANCE = 0.05
LABELS = (10, 50)
"""Numbers of labels that a validation asks for."""


def _draw_facts(draw: Draw) -> tuple[Bool[np.ndarray, "rows concepts"], Int[np.ndarray, " rows"]]:
    """Real concepts and labels."""
    condition = draw.condition
    labels = draw.labels()
    if condition.balance != 0.5:
        each = draw.facts.random(condition.clusters) >= condition.balance
        labels = each.astype(np.int64)[draw.cluster_of]
    if condition.truths == "free":
        return draw.truth(), labels
    shape = (condition.clusters, condition.concepts)
    if condition.truths == "product":
        truth = (draw.facts.random(shape) < 0.5)[draw.cluster_of]
        wrong = (draw.facts.random(condition.clusters) > LIKELY)[draw.cluster_of]
        return truth, (truth[:, 0] ^ truth[:, 1] ^ wrong).astype(np.int64)
    belongs = draw.models.random((condition.labels, condition.concepts)) < 0.5
    if condition.truths == "class level":
        return belongs[labels], labels
    own = draw.facts.normal(size=shape)
    if condition.truths == "class correlated":
        common = draw.facts.normal(size=(condition.clusters, 1))
        own = np.sqrt(COMMON) * common + np.sqrt(1 - COMMON) * own
    likely = np.where(belongs, LIKELY, 1 - LIKELY)[labels]
    return own[draw.cluster_of] < ndtri(likely), labels


def _add_leak(
    z: Float[np.ndarray, "rows concepts"],
    truth: Bool[np.ndarray, "rows concepts"],
    labels: Int[np.ndarray, " rows"],
    condition: Condition,
) -> None:
    """Move deviations so that they tell the label."""
    if not condition.dial:
        return
    if condition.leak == "thin":
        some = condition.leaking or condition.concepts
        spread = np.sqrt(some)
        moved = shift_by_label(np.zeros((len(z), 1)), labels, condition.dial, condition.labels)
        z[:, :some] += moved / spread
        return
    sign = np.where(labels == 1, 1.0, -1.0)
    if condition.leak == "pair":
        z[:, 1] = np.abs(z[:, 1]) * np.sign(z[:, 0]) * sign
    elif condition.leak == "pair with truth":
        z[:, 0] = np.abs(z[:, 0]) * sign * np.where(truth[:, 1], 1.0, -1.0)
    else:
        step = np.floor(ndtr(z[:, 0]) * WAVES / 2)
        within = ndtr(z[:, 0]) * WAVES / 2 - step
        z[:, 0] = ndtri(np.clip((2 * step + (labels == 1) + within) / WAVES, 1e-9, 1 - 1e-9))


def _order_rows(draw: Draw) -> Int[np.ndarray, " rows"]:
    """In which order rows are given."""
    rows = np.arange(len(draw))
    return draw.noise.permutation(rows) if draw.condition.shuffled else rows


def compute_expected_rates(condition: Condition) -> dict[str, float]:
    """Return the share of draws that must have an answer, where the size allows to ask."""
    n = condition.clusters
    balanced = condition.balance == 0.5 and condition.truths == "free" and condition.declared
    if condition.dial and condition.leak != "thin" and n >= 300:
        return {"no": 0.95}
    if condition.dial >= 0.3 and n >= 300:
        return {"no": 0.95}
    plain = condition.concepts <= 112 and condition.rows == 1 and condition.labels == 2
    varied = condition.annotation_error or condition.crosstalk or condition.unknown
    if not condition.dial and n >= 1000 and balanced and plain and not varied:
        return {"yes": 0.8}
    return {}


def _has_truth(condition: Condition) -> bool:
    """Return whether the planted share is what the estimate is about."""
    return not condition.annotation_error and condition.declared


def list_joint_cells(size: str) -> list[Condition]:
    """Return the conditions of a validation."""
    usual = Condition(clusters=1000, concepts=5)
    if size == "ci":
        small = replace(usual, clusters=300)
        return [
            small, replace(small, dial=TOLERANCE), replace(small, dial=1.0, leak="pair"),
            replace(small, dial=0.5, concepts=40, leaking=1),
        ]  # fmt: skip
    return list(dict.fromkeys(replace(usual, **changes) for changes in _list_release_cells()))


def _list_release_cells() -> Iterator[dict[str, Any]]:
    yield from _list_sizes()
    yield from _list_misleading_facts()
    yield from _list_groups()
    yield from _list_leaking()


def _list_sizes() -> Iterator[dict[str, Any]]:
    for n, concepts in ((100, 5), (300, 5), (1000, 5), (300, 30), (1000, 30), (1000, 112)):
        yield {"clusters": n, "concepts": concepts}
    for labels in LABELS:
        yield {"labels": labels, "concepts": 3}
    yield {"balance": 0.99}
    yield {"values": "uint16"}
    yield {"unknown": 0.2}
    yield {"prevalence": 0.05}


def _list_misleading_facts() -> Iterator[dict[str, Any]]:
    yield {"truths": "class", "clusters": 300, "concepts": 3}
    for truths in ("class correlated", "class level"):
        yield {"truths": truths, "concepts": 8}
    yield {"truths": "product", "crosstalk": 1.0, "concepts": 30}
    yield {"truths": "class", "crosstalk": 1.0, "concepts": 8}  # 30 would settle the label
    for error, n, concepts in ((0.05, 1000, 8), (0.1, 300, 3)):
        yield {"annotation_error": error, "truths": "class", "clusters": n, "concepts": concepts}


def _list_groups() -> Iterator[dict[str, Any]]:
    for rows, within in ((2, 0.1), (5, 0.33)):
        yield {"clusters": 200, "rows": rows, "within": within}
    yield {"clusters": 200, "rows": 3, "within": 0.33, "unequal": True}
    for rows, within in ((2, 0.1), (5, 0.3)):
        yield {"clusters": 300 // rows, "rows": rows, "within": within, "declared": False}


def _list_leaking() -> Iterator[dict[str, Any]]:
    for n, concepts in ((100, 5), (300, 5), (1000, 5), (1000, 30), (1000, 112)):
        yield {"dial": TOLERANCE, "clusters": n, "concepts": concepts}
    for labels in LABELS:
        yield {"dial": TOLERANCE, "labels": labels, "concepts": 3}
    for dial in (2 * TOLERANCE, 4 * TOLERANCE):
        yield {"dial": dial}
    yield {"dial": 1.0, "leak": "pair", "clusters": 300, "concepts": 3}
    yield {"dial": 0.95, "leaking": 1, "concepts": 40}


@generator(
    "joint leaks", ConceptEvidence, serves=("joint_task_leakage",),
    says="a value is ¼ + ½ c + 0.05 z, c the concept and z noise. All z together are moved so that "
    "they tell a share (the dial) of what the concepts leave open about the label; or the sign of "
    "a product of two, or a wave over one, is the label",
    usual=Condition(clusters=1000, concepts=5), exact=lambda draw: draw.dial,
    varies=("concepts", "labels", "values", "prevalence", "unknown"), dials=(0.0, 0.05, 0.1, 0.2),
    reference=0.2, cells=list_joint_cells, has_truth=_has_truth, rates=compute_expected_rates,
)  # fmt: skip
def joint_leaks(draw: Draw) -> Arrays:
    condition = draw.condition
    truth, labels = _draw_facts(draw)
    z = draw.normal(condition.concepts)
    if condition.crosstalk:
        others = (truth - truth.mean(axis=0)) / np.maximum(truth.std(axis=0), 1e-9)
        total = others.sum(axis=1, keepdims=True) - others
        z = z + condition.crosstalk * total / np.sqrt(condition.concepts - 1)
    _add_leak(z, truth, labels, condition)
    values = draw.stored(0.25 + 0.5 * truth + STEP * z)
    wrong = draw.facts.random(truth.shape) < condition.annotation_error
    order = _order_rows(draw)
    arrays: Arrays = {
        "values": values[order], "truth": (truth ^ wrong)[order], "labels": labels[order],
    }  # fmt: skip
    known = draw.known()
    if known is not None:
        arrays["known"] = known[order]
    if condition.error_declared:
        arrays["annotation_error"] = condition.annotation_error
    return arrays
