r"""The frame of every measure of faithfulness: a distance, a surrogate, a projection.

A projection :math:`P` says how much of each concept is in a sample, a surrogate :math:`s` makes
outputs of that, and a distance :math:`d` compares these with the network's. A measure states the
distance alone: the method ``compare`` of a ``Compared``. Null baselines and warnings are here too.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import (
    compute_outputs,
    draw_random_concepts,
    draw_random_importances,
    get_bias,
    pool_samples,
    predict_constant_mean,
    sum_outputs,
    to_working_precision,
)
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.null_model import NullModel, from_another_sample

Surrogate = Annotated[
    Literal["linear", "rebuilt", "learned", "linearized"],
    Field(description="What stands for the explanation: the sum, or rebuilt or fitted outputs."),
]
Projection = Annotated[
    Literal["given", "dot", "coordinates"],
    Field(
        description="How much of a concept is in a sample: as given, dot products, or coordinates."
    ),
]
Outputs = Float[np.ndarray, "samples classes"]
Loads = Any  # classes x concepts: an array, or scipy's sparse one
"""Amount of each concept in each output, 0 where it does not explain it."""
Projects = Callable[[SurrogateEvidence, Loads], Outputs]
"""Function that computes how much of each concept is in a sample, summed with the concepts'
loads."""
SurrogateOutputs = Callable[[SurrogateEvidence, Projects], Outputs]
"""A surrogate: outputs made of concepts."""
DENSE = 0.1
ROWS_TO_WARN = 200

MAY_USE = (
    "embeddings", "head", "bias", "outputs", "vectors", "projections", "rebuilt", "constant",
)  # fmt: skip
"""Arrays that stand for the network and its concepts, in whichever way the evidence gives them."""
USES_IF = {
    "surrogate": {"learned": ("learned",), "linearized": ("linearized",)},
    "projection": {"dot": ("embeddings", "vectors"), "coordinates": ("embeddings", "vectors")},
}
RANDOM_IMPORTANCES = NullModel(
    "random_importances",
    "the same concepts, each with an importance drawn from 0 to 1",
    draw_random_importances,
)
RANDOM_CONCEPTS = NullModel(
    "random_concepts",
    "random directions with importances drawn from 0 to 1",
    draw_random_concepts,
    sums=pool_samples,
)
AVERAGE = NullModel(
    "constant_mean",
    "no concepts: whatever the sample, the average of what the network puts out",
    lambda evidence, seed, sums: predict_constant_mean(evidence, sums),
    sums=sum_outputs,
    random=False,
)
OTHER_SAMPLES = from_another_sample(
    "another_sample",
    "what the slope of the network at one sample says about another",
    "linearized",
)
BLIND = (RANDOM_CONCEPTS, AVERAGE)
"""Baselines for scores of the highest output alone, which random importances hardly change."""
ALL = (RANDOM_IMPORTANCES, *BLIND)
surrogate_metric = partial(
    metric,
    question="faithful",
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
)
surrogate_card = partial(Card, cost="one product of embeddings and summed concept vectors")


class Compared(SampleMean):
    """Mean over samples of a distance, or a likeness, of a surrogate's outputs to the network's."""

    compare: ClassVar[Callable[..., Float[np.ndarray, " samples"]]]
    """(outputs of the network, of the surrogate) -> a value for each sample, NaN where undefined"""
    at_label: ClassVar[bool] = False
    """Whether only the outputs of the true class are compared."""

    @classmethod
    def each(
        cls,
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """Compare the outputs of each sample."""
        both = [
            compute_outputs(evidence),
            compute_surrogate_outputs(evidence, surrogate, projection),
        ]
        if cls.at_label:
            labels = require_array(evidence, "labels")
            both = [outputs[np.arange(len(labels)), labels] for outputs in both]
        return PerSample.from_values(cls.compare(*both))


def compute_surrogate_outputs(
    evidence: SurrogateEvidence, surrogate: Surrogate = "linear", projection: Projection = "given"
) -> Outputs:
    """Compute the outputs of the surrogate."""
    for option, choice, known in (
        ("surrogate", surrogate, SURROGATES),
        ("projection", projection, PROJECTIONS),
    ):
        if choice not in known:
            raise EvidenceError(option, repr(choice), f"one of {sorted(known)}")
    return SURROGATES[surrogate](evidence, PROJECTIONS[projection])


def require_array(evidence: SurrogateEvidence, name: str) -> np.ndarray:
    """Return an array that a choice of options needs, or raise if it is missing."""
    values = getattr(evidence, name)
    if values is None:
        raise EvidenceError(name, "none", f"`{name}`, for these options", "Pass it as well.")
    return np.asarray(values)


def find_members(evidence: SurrogateEvidence) -> Bool[np.ndarray, "concepts classes"]:
    """Return which concepts explain which class."""
    return np.asarray(~np.isnan(evidence.importances))


def _linear(evidence: SurrogateEvidence, project: Projects) -> Outputs:
    """Importances times projections, and the network's bias: no parameter, nothing rebuilt."""
    table, there = np.asarray(evidence.importances), find_members(evidence)
    if there.mean() > DENSE:
        loads = np.where(there, table, 0.0).T
    else:
        loads = _sparse(table[there], there)
    return np.asarray(project(evidence, loads) + get_bias(evidence))


def _sparse(values: Float[np.ndarray, " n"], there: np.ndarray) -> Loads:
    """Return the loads of concepts that explain a class, in the order of the table."""
    concept, of = np.nonzero(there)
    return scipy.sparse.csr_array((values, (of, concept)), shape=there.shape[::-1])


def _rebuild_outputs(evidence: SurrogateEvidence, project: Projects) -> Outputs:
    """Apply the model's last layer to embeddings rebuilt from concepts, without importances."""
    if evidence.rebuilt is not None:
        return np.asarray(evidence.rebuilt, float)
    if evidence.head is None or evidence.vectors is None:
        raise EvidenceError(
            "rebuilt", "no `head` and `vectors`", "both, to rebuild with",
            "Or pass what the network puts out for the rebuilt embeddings as `rebuilt`.",
        )  # fmt: skip
    outputs = project(evidence, _compute_rebuilding_loads(evidence)) + get_bias(evidence)
    return np.asarray(outputs if evidence.constant is None else outputs + evidence.constant)


def _compute_rebuilding_loads(evidence: SurrogateEvidence) -> Loads:
    """Return what a concept's own direction adds to each output of the last layer."""
    vectors, head = to_working_precision(evidence.vectors), to_working_precision(evidence.head)
    there = find_members(evidence)
    if there.mean() > DENSE:
        return np.where(there, np.asarray(vectors @ head.T, float), 0.0).T
    concept, of = np.nonzero(there)
    return _sparse(np.einsum("nd,nd->n", vectors[concept], head[of]), there)


def _stored(name: str) -> SurrogateOutputs:
    def answer(evidence: SurrogateEvidence, project: Projects) -> Outputs:
        del project
        return np.asarray(require_array(evidence, name), float)

    return answer


def _project_as_given(evidence: SurrogateEvidence, loads: Loads) -> Outputs:
    """Projections as the method made them; dot products if it gives none."""
    if evidence.projections is None:
        return _dot(evidence, loads)
    projections = to_working_precision(evidence.projections)
    return np.asarray((_convert_precision(projections, loads) @ projections.T).T, float)


def _dot(evidence: SurrogateEvidence, loads: Loads) -> Outputs:
    """Dot products of embeddings and concepts. The concepts of a class are added up first: that
    is the same sum, for a fraction of the work."""
    embeddings, vectors = (
        to_working_precision(require_array(evidence, n)) for n in ("embeddings", "vectors")
    )
    return np.asarray(embeddings @ (_convert_precision(vectors, loads) @ vectors).T, float)


def _decompose(evidence: SurrogateEvidence, loads: Loads) -> Outputs:
    """Decompose the part of an embedding that a class's concepts span."""
    vectors, there = np.asarray(require_array(evidence, "vectors"), float), find_members(evidence)
    table = loads if isinstance(loads, np.ndarray) else loads.toarray()
    directions = np.zeros((len(table), vectors.shape[1]))
    inverses: dict[bytes, np.ndarray] = {}
    for of in range(len(table)):
        rows = np.flatnonzero(there[:, of])
        key = rows.tobytes()
        if key not in inverses:
            inverses[key] = np.linalg.pinv(vectors[rows])
        directions[of] = inverses[key] @ table[of, rows]
    embeddings = to_working_precision(require_array(evidence, "embeddings"))
    return np.asarray(embeddings @ directions.astype(embeddings.dtype).T, float)


def _convert_precision(values: np.ndarray, loads: Loads) -> Loads:
    """Convert the loads to the precision of what they are multiplied with."""
    return loads.astype(values.dtype)


SURROGATES: dict[str, SurrogateOutputs] = {
    "linear": _linear,
    "rebuilt": _rebuild_outputs,
    "learned": _stored("learned"),
    "linearized": _stored("linearized"),
}
PROJECTIONS: dict[str, Projects] = {
    "given": _project_as_given,
    "dot": _dot,
    "coordinates": _decompose,
}


def surrogate_warnings(evidence: SurrogateEvidence) -> list[str]:
    """Warn of signs that the arrays do not belong together, which no shape can show."""
    return [*_outputs(evidence[:ROWS_TO_WARN]), *_without_concepts(evidence)]


def _outputs(some: SurrogateEvidence) -> list[str]:
    if some.outputs is None or not len(some):
        return []
    outputs = np.asarray(some.outputs, float)
    if outputs.shape[1] > 1 and outputs.min() >= 0 and np.abs(outputs.sum(axis=1) - 1).max() < 1e-3:
        return [
            "The outputs are not negative and add up to 1: they look like probabilities. Scores "
            "want what comes before the softmax."
        ]
    if some.embeddings is None or some.head is None:
        return []
    off = outputs - compute_outputs(replace(some, outputs=None))
    size = max(float(np.abs(outputs).max()), 1e-9)
    if np.abs(off).max() <= 1e-2 * size:
        return []
    if np.ptp(off, axis=0).max() <= 1e-2 * size:
        return [
            "Outputs differ from embeddings times head by the same number in every sample: pass "
            "that as `bias`, or it counts as an error of the explanation."
        ]
    return [
        "Outputs are not embeddings times head plus bias. If the head belongs to this network, "
        "something is in the wrong order."
    ]


def _without_concepts(evidence: SurrogateEvidence) -> list[str]:
    bare = np.flatnonzero(~find_members(evidence).any(axis=0))
    if not len(bare):
        return []
    first = evidence.classes.names[int(bare[0])]
    return [
        f"{len(bare)} of {len(evidence.classes)} classes have no concepts ({first!r} first): their "
        "outputs are explained by the bias alone."
    ]
