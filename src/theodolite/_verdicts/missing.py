"""Say what evidence a question that was not evaluated requires."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from theodolite.evidence.describe import describe_briefly, summarize_kind
from theodolite.evidence.registry import kinds, kinds_for
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import Question

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
    """The nearest way to ask a question that was not evaluated."""

    question: Question
    kind: str
    """The kind of evidence."""
    arrays: tuple[str, ...]
    """What that lacks; empty if all of it."""
    needs: str
    """The same in words."""
    of: str = ""
    """Whom it was not evaluated of, where something else answered."""

    @property
    def is_left_out(self) -> bool:
        """Whether it was not evaluated because others were chosen."""
        return self.needs in (NOT_AMONG_METRICS, NOT_AMONG_QUESTIONS)

    @property
    def summary(self) -> str:
        """The same as a sentence."""
        if self.is_left_out:
            return f"{self.needs[0].upper()}{self.needs[1:]}."
        return f"Needs {self.needs}."

    def __str__(self) -> str:
        if self.is_left_out:
            return f"{self.question}: not evaluated: {self.needs}"
        of = f" for {self.of}" if self.of else ""
        return f"{self.question}: not evaluated{of}; needs {self.needs}"


OWN_OUTPUTS = MissingEvidence(
    "faithful",
    "surrogate",
    ("outputs",),
    "its own outputs in the classes of the data: a network at hand that puts these out "
    "(`model`, `data`), or its `outputs` in SurrogateEvidence, see `theodolite evidence surrogate`",
    "your model",
)
"""Where a stand-in answered."""


def missing(question: Question, not_computed: Sequence[MissingScoreLike] = ()) -> MissingEvidence:
    """Return the score among those that could answer which lacks the fewest arrays.

    >>> print(missing("accepted"))
    accepted: not evaluated; needs ratings of the explanations (`ratings`, `scale`), or an \
exported study: RatingEvidence, see `theodolite evidence rating`
    """
    known = catalogue()
    able = [
        (metric, score)
        for score in not_computed
        if (metric := known.get(score.metric)) is not None
        and metric.question == question
        and metric.decides
        and not is_left_out(score)
    ]
    order = kinds_for(question, {metric.needs.kind for metric, _ in able})
    near = [
        (_lacks(metric, score), order.index(metric.needs.kind), metric, score)
        for metric, score in able
    ]
    if not near:
        for score in filter(is_left_out, not_computed):
            if catalogue()[score.metric].question == question:
                return MissingEvidence(question, "", (), score.needs[0])
        return _whole(question, order[0])
    lacks, _, metric, score = min(near, key=lambda candidate: candidate[:2])
    if not lacks[0]:
        return _some(question, metric, score)
    return _whole(question, metric.needs.kind)


def is_left_out(score: MissingScoreLike) -> bool:
    """Whether a score was not evaluated because others were chosen, not for lack of evidence."""
    return len(score.needs) == 1 and score.needs[0] in (NOT_AMONG_METRICS, NOT_AMONG_QUESTIONS)


def _lacks(metric: Metric, score: MissingScoreLike) -> tuple[bool, int]:
    """Return whether all evidence of its kind is missing, and how many arrays."""
    return f"{metric.needs.kind} evidence" in score.needs, len(score.needs)


def _whole(question: Question, kind: str) -> MissingEvidence:
    return MissingEvidence(question, kind, (), f"{_way(question, kind)}: {_see(kind)}")


def _some(question: Question, metric: Metric, score: MissingScoreLike) -> MissingEvidence:
    kind = metric.needs.kind
    arrays = tuple(name.rpartition(".")[2] for name in score.needs)
    if len(arrays) > MOST:
        words = _way(question, kind)
    else:
        described = [
            (array, _phrase(metric, name)) for array, name in zip(arrays, score.needs, strict=True)
        ]
        words = " and ".join(
            f"`{array}` ({holds})" if holds else array for array, holds in described
        )
    return MissingEvidence(question, kind, arrays, f"{words}: {_see(kind)}")


def _way(question: Question, kind: str) -> str:
    """What a question needs of a kind, in words."""
    declared = kinds()[kind]
    first = summarize_kind(declared).rstrip(".")
    return declared.ways.get(question, first[:1].lower() + first[1:])


def _phrase(metric: Metric, name: str) -> str:
    """What an array holds; ``inner.name`` is one of the bundle inside."""
    inside, _, array = name.rpartition(".")
    kind = dict(metric.needs.inner_kinds()).get(inside, metric.needs)
    return describe_briefly(kind, array)


def _see(kind: str) -> str:
    return f"{kinds()[kind].__name__}, see `theodolite evidence {kind}`"
