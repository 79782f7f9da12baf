"""Explanations that people rated: what every reader of votes returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.technique_columns import Source, Tables


@dataclass(frozen=True)
class ShownExplanation:
    """What the raters of one explanation saw, as far as it is at hand."""

    context: str = ""
    """What was to be explained: a question and its answer, a sentence, a predicted class."""
    text: str = ""
    """An explanation in words."""
    image: Path | None = None
    map: Path | None = None
    """Saliency map over the image: .npy, or .png as it was rendered."""
    overlay: bool = False
    """The map is rendered without its image: its colors lie over it, half transparent."""
    concepts: Mapping[str, float] | None = None
    """An explanation by concepts: how much each of them matters."""
    label: str = ""
    """The class that the model predicted."""


@dataclass(frozen=True, eq=False)
class VotedExplanations:
    """Ratings of explanations, question by question, and what was shown."""

    name: str
    questions: Mapping[str, RatingEvidence]
    """By the question's name; the same explanations in the same order in each."""
    explanations: Sequence[ShownExplanation]
    numbers: Mapping[str, Float[np.ndarray, " explanations"]] = field(default_factory=dict)
    """Further numbers of each explanation that are known before it is rated."""
    notes: Sequence[str] = ()
    tables: Sequence[Path] = ()
    """The files that were read."""
    beside: Sequence["VotedExplanations"] = ()
    """Further ratings, whose agreement is to be seen beside that of these."""

    source: Source = "people"
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further things that are known of each explanation: ``image``, ``data_set``, ``method``,
    ``network``, ``modality``, ``label``."""
    more: Tables = field(default_factory=dict)
    """Further tables: people's own ``words`` and ``boxes``, their ``rankings``, who they are."""

    def __post_init__(self) -> None:
        if not self.questions:
            raise EvidenceError("questions", "none", "at least one")
        lengths: dict[str, Any] = {name: len(evidence) for name, evidence in self.questions.items()}
        lengths |= {"shown": len(self.explanations)} | {n: len(v) for n, v in self.numbers.items()}
        lengths |= {name: len(values) for name, values in self.kinds.items()}
        if len(set(lengths.values())) > 1:
            raise EvidenceError("explanations", f"{lengths}", "the same number everywhere")

    def __len__(self) -> int:
        return len(self.explanations)

    def digests(self) -> dict[str, str]:
        """What was read, by file."""
        own = {path.name: sha256_of(path) for path in self.tables}
        return own | {n: d for other in self.beside for n, d in other.digests().items()}
