"""Define null baselines: evidence with an uninformative explanation, or without a defect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from theodolite._stats.sampling import POOLED, draw_other_rows, draw_pool
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.metrics.states import PerSample


@dataclass(frozen=True)
class NullModel:
    """A null: the same evidence with the explanation made meaningless, or with no fault left."""

    name: str
    description: str
    """Description in a reader's words."""
    make: Callable[..., Any] | None = None
    """(evidence, seed) -> evidence; or (state, seed) -> state. Evidence may be a shard of many, and
    the same seed is given with each: draw what holds for all samples from the seed alone, and what
    is a sample's own from the seed and its number (``theodolite.ext.hash_to_uniforms``)."""
    expected: Callable[..., PerSample] | None = None
    """In place of ``make``, where it is known what each sample contributes on average under the
    null, for a mean over samples: (evidence, counting options) -> PerSample. Nothing is drawn,
    so that the difference to the null has the score's own error and no other."""
    sums: Callable[[Any], Mapping[str, np.ndarray]] | None = None
    """(evidence) -> sums over samples, or a pool of them (``theodolite.ext.draw_pool``), for a
    null that must know all of them: then ``make`` gets (evidence, seed, sums), and ``expected``
    (evidence, sums, counting options)."""
    on: Literal["evidence", "state"] = "evidence"
    """A null that only changes what the sums are compared with is made on the state: cheap, so it
    is drawn often, and its own spread is what the score must stand out from."""
    random: bool = True
    is_reference: bool = False
    """The same evidence without the fault that the score looks for: what it must not exceed, where
    other nulls are what a score must beat."""
    per_item: bool = False
    """Whether it was itself drawn for each concept, class or unit apart, once: these are then a
    sample too, and the difference to it varies over samples and items."""
    draws_in: str = ""
    """The array of the evidence, with an axis ``chances``, in which draws of it travel: ``make``
    gets the number of one for a seed, and a claim must exceed them all (``verdicts.draws``)."""
    beaten: str = ""
    """Claim for a score that beats it, shown only."""
    if_not_beaten: str = ""
    """What is said, as partly, of a score that beats the other nulls and not surely this one."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the metric that only make sense otherwise under this null."""
    of_columns: Callable[..., Any] | None = None
    """(evidence about some concepts in a row, seed, truth of all, number of the first) -> what
    ``make`` gives of these concepts: for states that are measured some concepts at a time
    (``metrics.blocks``)."""
    label: str = ""
    """Display text; the name with spaces if not given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))
        if (self.make is None) == (self.expected is None):
            message = f"the null {self.name!r} needs either `make` or `expected`"
            raise ValueError(message)
        if self.on == "state" and self.sums is not None:
            message = f"the null {self.name!r} is made on the state, which has all sums already"
            raise ValueError(message)
        if self.expected is not None and (self.random or self.on != "evidence"):
            message = f"the null {self.name!r} is not drawn: random=False, on='evidence'"
            raise ValueError(message)

    def made(self, evidence: Any, seed: int, sums: Mapping[str, np.ndarray] | None = None) -> Any:
        """Return the evidence or state under the null; without sums, from all samples."""
        if self.make is None:
            message = f"the null {self.name!r} is not drawn: read it from `Metric.null_state`"
            raise ValueError(message)
        if self.sums is None:
            return self.make(evidence, seed)
        return self.make(evidence, seed, sums or self.sums(evidence))

    def expectation(
        self, evidence: Any, sums: Mapping[str, np.ndarray] | None = None, **options: Any
    ) -> PerSample:
        """Return what each sample contributes on average under the null."""
        assert self.expected is not None  # noqa: S101  else it is drawn
        if self.sums is None:
            return self.expected(evidence, **options)
        return self.expected(evidence, sums or self.sums(evidence), **options)


def from_another_sample(name: str, says: str, *arrays: str) -> NullModel:
    """Return the null in which each sample has these arrays of another, in another cluster."""

    def pool(evidence: Any) -> dict[str, np.ndarray]:
        samples, present = evidence.samples, [array for array in arrays if evidence.has(array)]
        columns = {array: np.asarray(getattr(evidence, array)) for array in present}
        return draw_pool(np.asarray(samples.index), columns, samples.clusters)

    def make(evidence: Any, seed: int, sums: Mapping[str, np.ndarray]) -> Any:
        samples = evidence.samples
        other = draw_other_rows(sums, np.asarray(samples.index), (), seed, samples.clusters)
        present = [array for array in arrays if POOLED + array in sums]
        return replace_arrays(evidence, **{array: sums[POOLED + array][other] for array in present})

    return NullModel(name, says, make, sums=pool)
