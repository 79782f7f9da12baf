"""What a question that was not asked would need, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import Question

WAYS: dict[Question, dict[str, str]] = {
    "exists": {
        "concept": "what the model says of each concept and whether it is there (`values`, `truth`)"
    },
    "located": {
        "location": "maps of where each concept is active and the concepts' places",
        "saliency": "maps of relevance and the pixels of the object (`maps`, `objects`)",
    },
    "leak_free": {
        "concept": "what the model says of each concept, whether it is there, and the true class "
        "(`values`, `truth`, `labels`)",
        "embedding": "a vector for each concept, with the true concepts and classes",
        "intervention": "whether the answer is right as concepts are corrected (`right_after`)",
    },
    "faithful": {
        "surrogate": "the network's outputs, how much of each concept is in each sample, and how "
        "much it counts for each class (`outputs`, `projections`, `importances`)",
        "saliency": "what the network answers as marked pixels are removed; the saliency pipeline "
        "of `theodolite run` makes it",
    },
    "detects": {
        "unit": "what units mark and where concepts are; `theodolite.dissect` makes it from "
        "activations and masks"
    },
    "accepted": {
        "rating": "what people say of the explanations (`ratings`, `scale`), or an exported study"
    },
}
"""Ways to ask each question, by kind of evidence; the usual one first."""
HOLDS = {
    "truth": "whether each concept is there",
    "labels": "the true class",
    "predicted": "the class that the model chose",
    "weights": "the linear head",
    "class_truth": "how much each concept belongs to each class",
    "points": "where the concepts are",
    "objects": "the pixels of the object",
    "scale": "all answers that raters could give",
    "right_reference": "whether a head trained on true concepts is right",
}
NOT_AMONG_METRICS = "not among `metrics`"
NOT_AMONG_QUESTIONS = "not among `questions`"
"""What a score "needs" that was left out because others were chosen."""
MOST = 2
"""More arrays than so many are told by what they are for."""


@runtime_checkable
class MissingScoreLike(Protocol):
    """A score that could not be had, and what it would need."""

    @property
    def metric(self) -> str:
        """Its name."""

    @property
    def needs(self) -> Sequence[str]:
        """Arrays, or a kind of evidence."""


@dataclass(frozen=True)
class MissingEvidence:
    """The nearest way to ask a question that was not asked."""

    question: Question
    kind: str
    """The kind of evidence."""
    arrays: tuple[str, ...]
    """What that lacks; empty if all of it."""
    needs: str
    """The same in words."""

    @property
    def because(self) -> str:
        """The same as a sentence."""
        if self.needs in (NOT_AMONG_METRICS, NOT_AMONG_QUESTIONS):
            return f"{self.needs[0].upper()}{self.needs[1:]}."
        return f"Needs {self.needs}."

    def __str__(self) -> str:
        if self.needs in (NOT_AMONG_METRICS, NOT_AMONG_QUESTIONS):
            return f"{self.question}: not asked: {self.needs}"
        return f"{self.question}: not asked; needs {self.needs}"


def missing(question: Question, unanswered: Sequence[MissingScoreLike] = ()) -> MissingEvidence:
    """Of the scores that could answer, the one that lacks least.

    >>> print(missing("accepted"))
    accepted: not asked; needs what people say of the explanations (`ratings`, `scale`), or an \
exported study: RatingEvidence, see `theodolite evidence rating`
    """
    order = list(WAYS[question])
    near = [
        (_lacks(metric, score), order.index(metric.needs.kind), metric, score)
        for score in unanswered
        if (metric := catalogue()[score.metric]).question == question
        and metric.decides
        and not is_left_out(score)
    ]
    if not near:
        for score in filter(is_left_out, unanswered):
            if catalogue()[score.metric].question == question:
                return MissingEvidence(question, "", (), score.needs[0])
        return _whole(question, order[0])
    lacks, _, metric, score = min(near, key=lambda candidate: candidate[:2])
    if not lacks[0]:
        return _some(question, metric, score)
    return _whole(question, metric.needs.kind)


def is_left_out(score: MissingScoreLike) -> bool:
    """Whether a score was not asked because others were chosen, not for lack of evidence."""
    return len(score.needs) == 1 and score.needs[0] in (NOT_AMONG_METRICS, NOT_AMONG_QUESTIONS)


def _lacks(metric: Metric, score: MissingScoreLike) -> tuple[bool, int]:
    """Whether all evidence of its kind is missing, and how many arrays."""
    return f"{metric.needs.kind} evidence" in score.needs, len(score.needs)


def _whole(question: Question, kind: str) -> MissingEvidence:
    return MissingEvidence(question, kind, (), f"{WAYS[question][kind]}: {_see(kind)}")


def _some(question: Question, metric: Metric, score: MissingScoreLike) -> MissingEvidence:
    kind = metric.needs.kind
    arrays = tuple(name.rpartition(".")[2] for name in score.needs)
    if len(arrays) > MOST:
        words = WAYS[question][kind]
    else:
        descriptions = [f"`{a}` ({HOLDS[a]})" if a in HOLDS else a for a in arrays]
        words = " and ".join(descriptions)
    return MissingEvidence(question, kind, arrays, f"{words}: {_see(kind)}")


def _see(kind: str) -> str:
    return f"{kind.capitalize()}Evidence, see `theodolite evidence {kind}`"
