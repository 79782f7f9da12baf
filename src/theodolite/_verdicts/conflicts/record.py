"""The file ``conflicts.json``: where the questions disagree on one model."""

from typing import Literal

from theodolite._storage.records import Record
from theodolite._verdicts.conflicts.sentences import Level, claim_text, meaning
from theodolite._verdicts.scores_file import IntervalRecord, NullRecord
from theodolite.evidence.subject import Subject
from theodolite.questions import Question
from theodolite.results import Answer

SURE = 0.05
FEWEST_TO_TELL = 6
"""Clusters, all of like size."""
StandsOut = Literal["more", "less", "as", "few"]


class JudgedRecord(Record):
    """A question, the score that judges explanations or concepts by it, and its line."""

    question: Question
    level: Level
    metric: str
    options: dict[str, object]
    better: Literal["higher", "lower"]
    threshold: float
    """An item is good if its value reaches it."""
    threshold_kind: Literal["enough", "null", "accepted"]
    """``enough``: the card's convention; ``null``: the null's value, where the card has none;
    ``accepted``: a clean null and what we accept above it."""
    n: int
    n_undefined: int
    n_good: int


class ConflictExampleRecord(Record):
    """An explanation or concept, with its values on both questions."""

    name: str
    good_value: float
    bad_value: float


class ConflictRecord(Record):
    """How many explanations or concepts are good for one question and bad for another."""

    good: Question
    bad: Question
    level: Level
    n: int
    """Judged by both."""
    n_conflicts: int
    n_undefined: int
    """Asked by both, but undefined for at least one."""
    n_unmatched: int
    """Known to only one of the two."""
    share: float | None
    interval: IntervalRecord | None
    n_clusters: int
    """Clusters that were permuted as a whole, or items where there are no clusters."""
    null: NullRecord
    """Share expected if the two questions were unrelated, and how often permuted judgments lie
    as far from it."""
    p: float | None = None
    """The same, corrected (Holm) for all pairs of questions of the report; null where there are too
    few clusters to tell."""
    by_number: bool = False
    """Whether two kinds of evidence were matched by the numbers of their rows, for want of ids."""
    kappa: float | None
    """Agreement beyond chance: 1 always, 0 as unrelated; null where neither ever varies."""
    kappa_interval: IntervalRecord | None
    """Null also where too few are good, or bad, for one of the questions."""
    examples: list[ConflictExampleRecord]

    @property
    def stands_out(self) -> StandsOut:
        """Whether it is surely more or less often than of unrelated questions.

        Shuffles by whole clusters must say so, when all pairs of questions are looked at together.
        """
        if self.p is None:
            return "few"
        if self.p > SURE + 1e-12 or self.share is None or self.null.value is None:
            return "as"
        return "more" if self.share > self.null.value else "less"

    @property
    def too_few(self) -> str:
        """What there is too little of to tell; empty where there is enough."""
        if self.stands_out != "few":
            return ""
        items = "clusters" if self.n_clusters < self.n else self.level
        like = " of like size" if self.n_clusters >= FEWEST_TO_TELL else ""
        return f"too few {items}{like} to tell"

    def means(self, subject: Subject) -> str:
        """What such a conflict means for a reader."""
        return meaning(self.good, self.bad, subject)

    def cause(self, subject: Subject) -> str:
        """The same, if there is more to it than chance: else nothing."""
        return self.means(subject) if self.stands_out in ("more", "less") else ""

    def claim(self, subject: Subject) -> str:
        """What they are and are not, to follow "the explanations that"."""
        return claim_text(self.level, self.good, self.bad, subject)

    def statement(self, subject: Subject) -> str:
        """The finding in one sentence."""
        if self.share is None or self.null.value is None:
            return f"None of the {self.level} could be judged by both."
        interval = self.interval
        ends = "" if interval is None else f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
        return (
            f"{100 * self.share:.1f} % of the {self.level}{ends} {self.claim(subject)}; "
            f"{100 * self.null.value:.1f} % if the two had nothing to do with each other"
            f"{self.too_few and f' ({self.too_few})'}."
        )


class VerdictConflictRecord(Record):
    """Two verdicts of one audit that point in different directions."""

    good: Question
    bad: Question
    good_answer: Answer
    bad_answer: Answer

    def means(self, subject: Subject) -> str:
        """What that means for a reader; nothing where the better answer is only partly so."""
        return meaning(self.good, self.bad, subject) if self.good_answer == "yes" else ""


class ConflictsFile(Record):
    """The file ``conflicts.json``."""

    format: Literal["theodolite-conflicts"] = "theodolite-conflicts"
    format_version: Literal[3] = 3
    verdicts: list[VerdictConflictRecord]
    judged: list[JudgedRecord]
    conflicts: list[ConflictRecord]

    @property
    def strongest(self) -> list[ConflictRecord]:
        """Conflicts that there are: those that stand out first, then the more frequent."""
        conflicts = [conflict for conflict in self.conflicts if conflict.n_conflicts]
        return sorted(
            conflicts,
            key=lambda conflict: (conflict.stands_out != "more", -(conflict.share or 0.0)),
        )
