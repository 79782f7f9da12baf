"""Count the votes by explanation, question and answer. Used by the export and by agreement."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

UNDEFINED = (None,) * 4


@dataclass
class VoteCounts:
    """Counts of each answer, collected from batches of the table of votes."""

    questions: Mapping[str, int]
    """Number of scale points by column of a question."""
    instances: int
    people: int
    counted: int = 0
    surplus: int = 0
    exposures: Int[np.ndarray, " times"] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Number of counted votes by raters who saw the image for the n-th time."""
    _parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of votes."""
        counts = batch["counted"].to_numpy(zero_copy_only=False)
        self.surplus += int((~counts).sum())
        self.counted += int(counts.sum())
        met = batch["image_exposure_index"].to_numpy()[counts]
        size = max(len(self.exposures), int(met.max(initial=0)) + 1)
        longer = np.zeros(size, np.int64)
        longer[: len(self.exposures)] = self.exposures
        self.exposures = longer + np.bincount(met, minlength=size)
        answers = [
            batch[name].fill_null(0).to_numpy()[counts].astype(np.uint8) for name in self.questions
        ]
        codes = [
            batch[name].to_numpy()[counts].astype(np.int32) for name in ("_instance", "_person")
        ]
        self._parts.append((*codes, *answers))

    def column(self, at: int) -> np.ndarray:
        """Return one column of all counted votes: 0 explanation, 1 rater, then the answers."""
        if not self._parts:
            return np.zeros(0, np.int32)
        return np.concatenate([part[at] for part in self._parts])

    def histogram(
        self, question: str, people: Bool[np.ndarray, " people"] | None = None
    ) -> Int[np.ndarray, "instances points"]:
        """Count each answer to each explanation, of all or some raters."""
        points = self.questions[question]
        instance, answer = self.column(0), self.column(2 + list(self.questions).index(question))
        known = answer > 0
        if people is not None:
            known &= people[self.column(1)]
        cells = instance[known].astype(np.int64) * points + answer[known] - 1
        counts = np.bincount(cells, minlength=self.instances * points)
        return counts.reshape(self.instances, points)

    def of_instances(self) -> Int[np.ndarray, " instances"]:
        """Return the number of counted votes of each explanation."""
        return np.bincount(self.column(0), minlength=self.instances)

    def of_people(self) -> Int[np.ndarray, " people"]:
        """Return the number of counted votes of each rater."""
        return np.bincount(self.column(1), minlength=self.people)


def iterate_summaries(
    counts: Int[np.ndarray, "instances points"],
) -> Iterator[tuple[int, int | None, bool | None, float | None, float | None]]:
    """Yield n, mode (the lowest of the most frequent), whether it ties, median and mean of each
    explanation."""
    n = counts.sum(axis=1)
    most = counts.max(axis=1, keepdims=True)
    mode = counts.argmax(axis=1) + 1
    tie = (counts == most).sum(axis=1) > 1
    up_to = counts.cumsum(axis=1)
    low = (up_to > ((n - 1) // 2)[:, None]).argmax(axis=1) + 1
    high = (up_to > (n // 2)[:, None]).argmax(axis=1) + 1
    mean = (counts @ np.arange(1, counts.shape[1] + 1)) / np.maximum(n, 1)
    for i, votes in enumerate(n.tolist()):
        if votes:
            yield (
                votes, int(mode[i]), bool(tie[i]), float(low[i] + high[i]) / 2, float(mean[i])
            )  # fmt: skip
        else:
            yield (0, *UNDEFINED)
