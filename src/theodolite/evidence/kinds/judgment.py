"""Evidence about answers of judges (models or people) to questions on explanations of latents.

`language.judges` and tables of answers create it; `metrics.language` and dashboards read it.
"""

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

    There are four tasks:

    - ``detection``: the judge sees the explanation of a latent and a sequence of tokens, and says
      whether the latent is active in it.
    - ``fuzzing``: the judge sees the explanation and a sequence with marked tokens, and says
      whether the latent is active on these. Wrong marks are in a sequence in which it is active.
    - ``fuzzing across``: the same, but wrong marks are in a sequence in which it is not active.
    - ``intruder``: the judge sees several sequences and no explanation, and names the one in which
      the latent is not active. The row is about that sequence.

    Sequences are resampled: if ``Samples(clusters=...)`` does not name the document of each
    sequence, all questions about one sequence form a cluster.
    """

    kind = "judgment"
    version = 1
    marker = "answer"
    samples_are = "questions"
    ways: ClassVar[Mapping[Question, str]] = {
        "detects": "what judges answer about latents (`latent`, `sequence`, `active`, `answer`)"
    }

    latent: Int[np.ndarray, " samples"] = array("samples", content="index", points_to="latents")
    """Latent that the question is about."""
    sequence: Int[np.ndarray, " samples"] = array("samples", content="index")
    """Number of the sequence of tokens."""
    active: Bool[np.ndarray, " samples"] = array("samples", content="flag")
    """True answer: whether the latent is active in the sequence, or on the marked tokens; 0 for a
    round of intruders."""
    answer: Float[np.ndarray, " samples"] = array("samples", may_be_nan=True)
    """Answer of the judge from 0 (no) to 1 (yes); NaN if it could not be read. For a round of
    intruders, 1 if the judge named this sequence, and a fraction if it named several."""
    task: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="tasks", optional=True
    )
    """Task, by name or by number (detection, fuzzing, fuzzing across, intruder); ``detection`` if
    not given."""
    judge: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="judges", optional=True
    )
    """Judge that answered."""
    explanation: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="latents", optional=True
    )
    """Latent whose explanation the judge saw; the tested latent if not given. Questions with the
    explanation of another latent belong to the baseline."""
    decile: Int[np.ndarray, " samples"] | None = array("samples", content="index", optional=True)
    """Decile of the latent's activation in the sequence, among its activations; -1 if inactive."""
    texts: Int[np.ndarray, " samples"] | None = array("samples", content="index", optional=True)
    """Number of sequences in a round of intruders; 5 if not given."""
    written_from: Bool[np.ndarray, " samples"] | None = array(
        "samples", content="flag", optional=True
    )
    """Whether the explanation was written from this sequence; such questions raise an error."""
    frequency: Float[np.ndarray, " latents"] | None = array("latents", optional=True)
    """Fraction of sequences in which each latent is active."""
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
            self._name_numbered_tasks()
            unknown = [name for name in self.tasks.names if name not in TASKS]
            if unknown:
                raise EvidenceError("tasks", f"{unknown[0]!r}", f"some of {', '.join(TASKS)}")
        if (np.asarray(self.active) & self.is_task("intruder")).any():
            raise EvidenceError(
                "active", "a round of intruders with 1", "0",
                "The row of a round is that of the sequence in which the latent is not active.",
            )  # fmt: skip
        self._check_optional_arrays()
        seen = self.written_from
        if seen is not None and (seen & self.is_own() & ~self.is_task("intruder")).any():
            row = int(np.flatnonzero(seen & self.is_own())[0])
            raise EvidenceError(
                "written_from", f"row {row} is scored on what its explanation was written from",
                "other sequences", "Leave these questions out.",
            )  # fmt: skip

    def _name_numbered_tasks(self) -> None:
        """Name numbered tasks by their position in ``TASKS``."""
        n = len(self.tasks)
        if n <= len(TASKS) and self.tasks == Tasks.numbered(n):
            object.__setattr__(self, "tasks", Tasks(TASKS[:n]))

    def _check_optional_arrays(self) -> None:
        decile, texts = self.decile, self.texts
        if decile is not None:
            wrong = (decile < -1) | (decile > 9) | ((decile >= 0) != self.active)
            if (wrong & self.is_task("detection")).any():
                row = int(np.flatnonzero(wrong & self.is_task("detection"))[0])
                raise EvidenceError(
                    "decile", f"{decile[row]} in row {row}", "0 to 9 where active, otherwise -1"
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
