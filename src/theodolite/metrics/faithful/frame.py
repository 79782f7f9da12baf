r"""The frame of every measure of faithfulness: a distance, a surrogate, a projection.

A projection :math:`P` says how much of each concept is in a sample, a surrogate :math:`s` makes
outputs of that, and a distance :math:`d` compares these with the network's. A measure states the
distance alone: the method ``compare`` of a ``Compared``.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import bias_of, outputs_of, working
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._nulls import ALL

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
"""How much of each concept goes into each output, 0 where it does not explain it: most are 0 where
classes have concepts of their own, and then only the others are kept."""
Projects = Callable[[SurrogateEvidence, Loads], Outputs]
"""How much of each concept is in a sample, added up with the concepts' loads."""
SurrogateOutputs = Callable[[SurrogateEvidence, Projects], Outputs]
"""A surrogate: outputs made of concepts."""
DENSE = 0.1

MAY_USE = (
    "embeddings", "head", "bias", "outputs", "vectors", "projections", "rebuilt", "constant",
)  # fmt: skip
"""Arrays that stand for the network and its concepts, in whichever way the evidence gives them."""
USES_IF = {
    "surrogate": {"learned": ("learned",), "linearized": ("linearized",)},
    "projection": {"dot": ("embeddings", "vectors"), "coordinates": ("embeddings", "vectors")},
}
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
        both = [outputs_of(evidence), surrogate_outputs(evidence, surrogate, projection)]
        if cls.at_label:
            labels = needed(evidence, "labels")
            both = [outputs[np.arange(len(labels)), labels] for outputs in both]
        return PerSample.from_values(cls.compare(*both))


def surrogate_outputs(
    evidence: SurrogateEvidence, surrogate: Surrogate = "linear", projection: Projection = "given"
) -> Outputs:
    """What the surrogate puts out."""
    for option, choice, known in (
        ("surrogate", surrogate, SURROGATES),
        ("projection", projection, PROJECTIONS),
    ):
        if choice not in known:
            raise EvidenceError(option, repr(choice), f"one of {sorted(known)}")
    return SURROGATES[surrogate](evidence, PROJECTIONS[projection])


def needed(evidence: SurrogateEvidence, name: str) -> np.ndarray:
    """An array that a choice of options needs."""
    values = getattr(evidence, name)
    if values is None:
        raise EvidenceError(name, "none", f"`{name}`, for these options", "Pass it as well.")
    return np.asarray(values)


def members(evidence: SurrogateEvidence) -> Bool[np.ndarray, "concepts classes"]:
    """Which concepts explain which class."""
    return np.asarray(~np.isnan(evidence.importances))


def _linear(evidence: SurrogateEvidence, project: Projects) -> Outputs:
    """Importances times projections, and the network's bias: no parameter, nothing rebuilt."""
    table, there = np.asarray(evidence.importances), members(evidence)
    if there.mean() > DENSE:
        loads = np.where(there, table, 0.0).T
    else:
        loads = _sparse(table[there], there)
    return np.asarray(project(evidence, loads) + bias_of(evidence))


def _sparse(values: Float[np.ndarray, " n"], there: np.ndarray) -> Loads:
    """The loads of concepts that explain a class, in the order of the table."""
    concept, of = np.nonzero(there)
    return scipy.sparse.csr_array((values, (of, concept)), shape=there.shape[::-1])


def _rebuilt(evidence: SurrogateEvidence, project: Projects) -> Outputs:
    """The network's last layer on embeddings rebuilt from the concepts: blind to importances."""
    if evidence.rebuilt is not None:
        return np.asarray(evidence.rebuilt, float)
    if evidence.head is None or evidence.vectors is None:
        raise EvidenceError(
            "rebuilt", "no `head` and `vectors`", "both, to rebuild with",
            "Or pass what the network puts out for the rebuilt embeddings as `rebuilt`.",
        )  # fmt: skip
    outputs = project(evidence, _rebuilding_loads(evidence)) + bias_of(evidence)
    return np.asarray(outputs if evidence.constant is None else outputs + evidence.constant)


def _rebuilding_loads(evidence: SurrogateEvidence) -> Loads:
    """What a concept's own direction gives to each output of the last layer."""
    vectors, head = working(evidence.vectors), working(evidence.head)
    there = members(evidence)
    if there.mean() > DENSE:
        return np.where(there, np.asarray(vectors @ head.T, float), 0.0).T
    concept, of = np.nonzero(there)
    return _sparse(np.einsum("nd,nd->n", vectors[concept], head[of]), there)


def _stored(name: str) -> SurrogateOutputs:
    def answer(evidence: SurrogateEvidence, project: Projects) -> Outputs:
        del project
        return np.asarray(needed(evidence, name), float)

    return answer


def _project_as_given(evidence: SurrogateEvidence, loads: Loads) -> Outputs:
    """Projections as the method made them; dot products if it gives none."""
    if evidence.projections is None:
        return _dot(evidence, loads)
    projections = working(evidence.projections)
    return np.asarray((_in(projections, loads) @ projections.T).T, float)


def _dot(evidence: SurrogateEvidence, loads: Loads) -> Outputs:
    """Dot products of embeddings and concepts. The concepts of a class are added up first: that
    is the same sum, for a fraction of the work."""
    embeddings, vectors = (working(needed(evidence, n)) for n in ("embeddings", "vectors"))
    return np.asarray(embeddings @ (_in(vectors, loads) @ vectors).T, float)


def _coordinates(evidence: SurrogateEvidence, loads: Loads) -> Outputs:
    """The part of an embedding that a class's concepts span, taken apart into them."""
    vectors, there = np.asarray(needed(evidence, "vectors"), float), members(evidence)
    table = loads if isinstance(loads, np.ndarray) else loads.toarray()
    directions = np.zeros((len(table), vectors.shape[1]))
    inverses: dict[bytes, np.ndarray] = {}
    for of in range(len(table)):
        rows = np.flatnonzero(there[:, of])
        key = rows.tobytes()
        if key not in inverses:
            inverses[key] = np.linalg.pinv(vectors[rows])
        directions[of] = inverses[key] @ table[of, rows]
    embeddings = working(needed(evidence, "embeddings"))
    return np.asarray(embeddings @ directions.astype(embeddings.dtype).T, float)


def _in(values: np.ndarray, loads: Loads) -> Loads:
    """The loads in the precision of what they are multiplied with."""
    return loads.astype(values.dtype)


SURROGATES: dict[str, SurrogateOutputs] = {
    "linear": _linear,
    "rebuilt": _rebuilt,
    "learned": _stored("learned"),
    "linearized": _stored("linearized"),
}
PROJECTIONS: dict[str, Projects] = {
    "given": _project_as_given,
    "dot": _dot,
    "coordinates": _coordinates,
}
