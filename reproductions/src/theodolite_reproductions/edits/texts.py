"""Texts with aspects that people praised or criticized in them, and edits of one aspect each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from theodolite.errors import EvidenceError

PRAISED, CRITICIZED = "praised", "criticized"
SIDES = (PRAISED, CRITICIZED)


@dataclass(frozen=True, eq=False)
class EditedTexts:
    """Texts, what people read in them, and pairs of an original and its edit."""

    name: str
    texts: tuple[str, ...]
    ids: tuple[str, ...]
    originals: Int[np.ndarray, " texts"]
    """Which original each text is or was made from."""
    aspects: tuple[str, ...]
    states: Int[np.ndarray, "texts aspects"]
    """1 where the aspect is praised, -1 where it is criticized, 0 where it is not spoken of."""
    known: Bool[np.ndarray, "texts aspects"]
    """Where people agreed on that."""
    labels: Int[np.ndarray, " texts"]
    """Numbers of classes; -1 where people did not agree."""
    classes: tuple[str, ...]
    train: Int[np.ndarray, " train"]
    test: Int[np.ndarray, " test"]
    edits: Int[np.ndarray, "edits 2"]
    """Texts of an original and of an edit of it, both for testing."""
    edited: Int[np.ndarray, " edits"]
    """Which aspect was edited."""
    direction: Int[np.ndarray, " edits"]
    """1 where it was to become more praised, -1 where it was to become less."""
    notes: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.train) or not len(self.test):
            raise EvidenceError(self.name, "no texts to train on or to test", "both")
        if not len(self.edits):
            raise EvidenceError(self.name, "no edits", "pairs of an original and its edit")

    @property
    def concepts(self) -> tuple[str, ...]:
        """Each aspect praised, and criticized."""
        return tuple(f"{aspect} {side}" for aspect in self.aspects for side in SIDES)

    @property
    def truth(self) -> Bool[np.ndarray, "texts concepts"]:
        """Whether a text has each of these; nowhere that people did not agree."""
        sides = np.stack([self.states == 1, self.states == -1], axis=2)
        return np.asarray((sides & self.known[:, :, None]).reshape(len(self.texts), -1))

    @property
    def truth_known(self) -> Bool[np.ndarray, "texts concepts"]:
        """Where the truth of each concept is known."""
        return np.repeat(self.known, len(SIDES), axis=1)
