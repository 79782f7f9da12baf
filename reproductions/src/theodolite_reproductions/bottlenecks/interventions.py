"""Concepts corrected one after another: in which order, and how the classes fare."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import entr, softmax

from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, LabeledFeatures
from theodolite_reproductions.bottlenecks.trained import (
    ConceptValues,
    Scores,
    TrainedBottleneck,
    answers,
)

if TYPE_CHECKING:
    import torch

Mask = Bool[np.ndarray, "samples concepts"]
Urgency = Float[np.ndarray, "samples concepts"]


Policy = Callable[[TrainedBottleneck, ConceptValues, Mask, Mask, np.random.Generator], Urgency]
"""Which concept to ask for next: the one with the highest number that is not known yet.

A policy is given the bottleneck, what it says, which concepts are known, the truth and a
generator. It must not look at the truth of concepts that are not known."""


def at_random(
    trained: TrainedBottleneck,
    predictions: ConceptValues,
    known: Mask,
    truth: Mask,
    rng: np.random.Generator,
) -> Urgency:
    """For each sample any of the concepts not known yet, all equally likely."""
    return rng.random(known.shape)


def most_uncertain(
    trained: TrainedBottleneck,
    predictions: ConceptValues,
    known: Mask,
    truth: Mask,
    rng: np.random.Generator,
) -> Urgency:
    """The concept whose predicted probability is nearest to one half."""
    return -np.abs(predictions.probabilities.astype(float) - 0.5)


@dataclass(frozen=True)
class Cooperative:
    r"""CooP of :cite:t:`chauhan2023interactive`: uncertain, important and cheap concepts first.

    .. math:: \alpha H(p_j) + \beta \sum_{v \in \{0, 1\}} P(c_j = v)\,
              |P(\hat y \mid K, c_j = v) - P(\hat y \mid K)| - \gamma q_j

    :math:`H` is the entropy in nats of the predicted probability :math:`p_j = P(c_j = 1)`,
    :math:`\hat y` the class predicted with the known concepts :math:`K` set to their truth, and
    :math:`q_j` the concept's cost. So it is in the authors' code, with :math:`\alpha = 1` and, of
    the measures of importance there, the unsigned change of confidence. The code of CEM differs:
    it takes the absolute value after the mean, divides the entropy by its maximum, adds the
    cost, and for two classes with one output leaves :math:`P(c_j = v)` out.
    """

    uncertainty: float = 1.0
    importance: float = 1.0
    cost: float = 0.0
    costs: tuple[float, ...] = ()
    """One for each concept; needed only with a weight of cost."""

    def __call__(
        self,
        trained: TrainedBottleneck,
        predictions: ConceptValues,
        known: Mask,
        truth: Mask,
        rng: np.random.Generator,
    ) -> Urgency:
        """The score of each concept."""
        p = predictions.probabilities.astype(float)
        urgency = self.uncertainty * (entr(p) + entr(1 - p))
        if self.importance:
            urgency += self.importance * _expected_change(trained, predictions, known, truth)
        if self.cost:
            if len(self.costs) != p.shape[1]:
                raise EvidenceError("costs", f"{len(self.costs)}", f"{p.shape[1]}, one a concept")
            urgency -= self.cost * np.asarray(self.costs)
        return np.asarray(urgency)


def _expected_change(
    trained: TrainedBottleneck, predictions: ConceptValues, known: Mask, truth: Mask
) -> Urgency:
    """Return how much the probability of the predicted class changes when a concept is told."""
    now = softmax(trained.intervene(predictions, known, truth).astype(float), axis=1)
    chosen = now.argmax(axis=1)
    change = np.zeros(known.shape)
    for concept in range(known.shape[1]):
        open_ = np.flatnonzero(~known[:, concept])
        if not len(open_):
            continue
        part, mask, hypothesis = predictions.rows(open_), known[open_], truth[open_]
        mask[:, concept] = True
        for value in (False, True):
            hypothesis[:, concept] = value
            then = softmax(trained.intervene(part, mask, hypothesis).astype(float), axis=1)
            p = part.probabilities[:, concept].astype(float)
            rows = np.arange(len(open_)), chosen[open_]
            moved = np.abs(then[rows] - now[open_, chosen[open_]])
            change[open_, concept] += (p if value else 1 - p) * moved
    return change


PolicyName = Literal["random", "uncertainty", "cooperative"]
POLICIES: dict[PolicyName, Policy] = {
    "random": at_random,
    "uncertainty": most_uncertain,
    "cooperative": Cooperative(),
}


def intervention_order(
    trained: TrainedBottleneck,
    predictions: ConceptValues,
    truth: Mask,
    *,
    policy: PolicyName | Policy,
    seed: int = 0,
) -> Int[np.ndarray, "samples concepts"]:
    """The concepts of each sample in the order in which they are asked for.

    A policy is asked again after each answer. Equal concepts are asked from left to right.
    """
    decide = POLICIES[policy] if isinstance(policy, str) else policy
    rng = np.random.default_rng(seed)
    known = np.zeros(truth.shape, bool)
    order = np.zeros(truth.shape, np.int64)
    rows = np.arange(len(truth))
    for step in range(truth.shape[1]):
        urgency = np.where(known, -np.inf, decide(trained, predictions, known, truth, rng))
        order[:, step] = urgency.argmax(axis=1)
        known[rows, order[:, step]] = True
    return order


def intervention_curve(
    trained: TrainedBottleneck,
    predictions: ConceptValues,
    truth: Mask,
    labels: Int[np.ndarray, " samples"],
    *,
    policy: PolicyName | Policy = "random",
    seed: int = 0,
) -> Bool[np.ndarray, "samples steps"]:
    """Whether the class of each sample is right after 0, 1, ... and all concepts are corrected.

    The last column is the same for every policy.
    """
    order = intervention_order(trained, predictions, truth, policy=policy, seed=seed)
    known = np.zeros(truth.shape, bool)
    right = np.zeros((len(truth), truth.shape[1] + 1), bool)
    right[:, 0] = predictions.predicted == labels
    for step in range(truth.shape[1]):
        known[np.arange(len(truth)), order[:, step]] = True
        right[:, step + 1] = trained.intervene(predictions, known, truth).argmax(axis=1) == labels
    return right


@dataclass(frozen=True, eq=False)
class ReferenceHead:
    """A head that was trained by itself on the true concepts: what the classes allow at best."""

    network: "torch.nn.Module"

    def answer(self, truth: Mask) -> Scores:
        """The class scores for true concepts."""
        return answers(self.network, truth)

    def predicted(self, truth: Mask) -> Int[np.ndarray, " samples"]:
        """The class with the highest score."""
        return np.asarray(self.answer(truth).argmax(axis=1))


def reference_head(
    settings: BottleneckSettings,
    train: LabeledFeatures,
    validation: LabeledFeatures,
    *,
    n_classes: int,
    seed: int,
    progress: Progress = silent,
) -> ReferenceHead:
    """The head that the intervention score compares with; inputs are not looked at.

    It is the head of an independently trained bottleneck with the same settings and seed, so
    that the score of a hard bottleneck is 0 by construction.
    """
    from theodolite_reproductions.bottlenecks.training import fit_head  # noqa: PLC0415  imports torch

    return ReferenceHead(
        fit_head(settings, train, validation, n_classes=n_classes, seed=seed, progress=progress)
    )
