"""Evidence about answers of judges (models or people) to questions on explanations of latents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Judges, Latents, Samples, Tasks
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question

TASKS = ("detection", "fuzzing", "fuzzing across", "intruder")
"""Names of the tasks that a judge can get."""
MIN_REPORTED_UNREAD = 0.02
"""Smallest fraction of unreadable answers to report."""
DEFAULT_INTRUDER_TEXTS = 5
"""Number of texts in an intruder round unless ``texts`` gives it."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class JudgmentEvidence(Evidence):
    """Answers of judges, models or people, a row for each question.

    A judge is shown the explanation of a latent and a sequence of tokens, and says whether the
    latent is active in it (``detection``); or whether the marked tokens are those on which it is
    (``fuzzing``: the wrong marks are in a sequence in which it is active; ``fuzzing across``: in
    one in which it is not). In a round of ``intruder`` a judge sees several sequences and no
    explanation, and names the one in which the latent is not active: the row is of that sequence.

    What is resampled are sequences: where ``Samples(clusters=...)`` does not say which document a
    sequence is from, questions about one sequence are a cluster.
    """

    kind = "judgment"
    version = 1
    marker = "answer"
    samples_are = "questions"
    ways: ClassVar[Mapping[Question, str]] = {
        "detects": "what judges answer about latents (`latent`, `sequence`, `active`, `answer`)"
    }

    latent: Int[np.ndarray, " samples"] = array("samples", content="index", points_to="latents")
    """Which latent the question is about."""
    sequence: Int[np.ndarray, " samples"] = array("samples", content="index")
    """The number of the sequence of tokens."""
    active: Bool[np.ndarray, " samples"] = array("samples", content="flag")
    """What is true: whether the latent is active there; of marks, whether they are the right ones;
    of a round of intruders, 0."""
    answer: Float[np.ndarray, " samples"] = array("samples", may_be_nan=True)
    """From 0 (no) to 1 (yes); NaN where no answer could be read. Of a round of intruders, 1 where
    the judge named it, and a share where several were named."""
    task: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="tasks", optional=True
    )
    """What was asked, by name or as a number (detection, fuzzing, fuzzing across, intruder); where
    it is not said, whether the latent is active (``detection``)."""
    judge: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="judges", optional=True
    )
    """Who answered."""
    explanation: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="latents", optional=True
    )
    """Whose explanation the judge saw: the latent's own where it is not said. With that of another
    latent a question is one of the null."""
    decile: Int[np.ndarray, " samples"] | None = array("samples", content="index", optional=True)
    """Of the latent's activation in that sequence, among its activations; -1 where not active."""
    texts: Int[np.ndarray, " samples"] | None = array("samples", content="index", optional=True)
    """How many sequences a round of intruders has; 5 where it is not said."""
    written_from: Bool[np.ndarray, " samples"] | None = array(
        "samples", content="flag", optional=True
    )
    """Whether the explanation was written from this very sequence: such questions are refused."""
    frequency: Float[np.ndarray, " latents"] | None = array("latents", optional=True)
    """The share of sequences in which each latent is active."""
    latents: Latents = Latents()
    tasks: Tasks = Tasks()
    judges: Judges = Judges()

    def __post_init__(self) -> None:
        super().__post_init__()
        sequence, samples = np.asarray(self.sequence), self.samples
        if samples.clusters is None and len(np.unique(sequence)) < len(sequence):
            by_sequence = Samples(samples.index, samples.ids, clusters=sequence)
            object.__setattr__(self, "samples", by_sequence)

    def check(self) -> None:
        answers = np.asarray(self.answer)
        outside = np.flatnonzero((answers < 0) | (answers > 1))  # NaN is neither
        if len(outside):
            row = int(outside[0])
            raise EvidenceError("answer", f"{answers[row]:g} in row {row}", "numbers from 0 to 1")
        if self.task is not None:
            self._name_numbers()
            strange = [name for name in self.tasks.names if name not in TASKS]
            if strange:
                raise EvidenceError("tasks", f"{strange[0]!r}", f"some of {', '.join(TASKS)}")
        if (np.asarray(self.active) & self.is_task("intruder")).any():
            raise EvidenceError(
                "active", "a round of intruders with 1", "0",
                "The row of a round is that of the sequence in which the latent is not active.",
            )  # fmt: skip
        self._check_numbers()
        seen = self.written_from
        if seen is not None and (seen & self.is_own() & ~self.is_task("intruder")).any():
            row = int(np.flatnonzero(seen & self.is_own())[0])
            raise EvidenceError(
                "written_from", f"row {row} is scored on what its explanation was written from",
                "other sequences", "Leave these questions out.",
            )  # fmt: skip

    def _name_numbers(self) -> None:
        """Name numbered tasks by their position in ``TASKS``."""
        n = len(self.tasks)
        if n <= len(TASKS) and self.tasks == Tasks.numbered(n):
            object.__setattr__(self, "tasks", Tasks(TASKS[:n]))

    def _check_numbers(self) -> None:
        decile, texts = self.decile, self.texts
        if decile is not None:
            wrong = (decile < -1) | (decile > 9) | ((decile >= 0) != self.active)
            if (wrong & self.is_task("detection")).any():
                row = int(np.flatnonzero(wrong & self.is_task("detection"))[0])
                raise EvidenceError(
                    "decile", f"{decile[row]} in row {row}", "0 to 9 where active, else -1"
                )
        if texts is not None and (texts[self.is_task("intruder")] < 2).any():
            raise EvidenceError("texts", "a round of fewer than 2", "2 or more")
        if self.frequency is not None and (self.frequency.min() < 0 or self.frequency.max() > 1):
            raise EvidenceError("frequency", "numbers outside 0 to 1", "shares of sequences")

    def is_task(self, name: str) -> Bool[np.ndarray, " samples"]:
        """Return which questions belong to a task."""
        if self.task is None:
            return np.full(len(self.answer), name == "detection")
        number = self.tasks.names.index(name) if name in self.tasks.names else -1
        return np.asarray(self.task == number)

    def explained_latent(self) -> Int[np.ndarray, " samples"]:
        """Return the latent whose explanation the judge saw."""
        return np.asarray(self.latent if self.explanation is None else self.explanation)

    def is_own(self) -> Bool[np.ndarray, " samples"]:
        """Return where the judge saw the explanation of the tested latent itself."""
        return np.asarray(self.explained_latent() == self.latent)

    @property
    def n_unread(self) -> int:
        """Number of answers that could not be read."""
        return int(np.isnan(self.answer).sum())

    def warnings(self) -> list[str]:
        lines = []
        if self.n_unread > MIN_REPORTED_UNREAD * len(self):
            share = 100 * self.n_unread / len(self)
            lines.append(
                f"{self.n_unread:,} of {len(self):,} answers of judges ({share:.1f} %) could not "
                "be read; they are left out"
            )
        if self.written_from is None and not self.is_task("intruder").all():
            lines.append(
                "explanations may have been scored on what they were written from: `written_from` "
                "does not say"
            )
        return lines
