"""Texts with concept labels, and their tokens. Used by the SAE pipeline."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from theodolite.errors import EvidenceError
from theodolite.language.models.loading import LanguageModel
from theodolite.language.models.token_evidence import SequenceLabels, token_ids


@runtime_checkable
class ConceptTexts(Protocol):
    """Data set of texts with concept labels."""

    @property
    def name(self) -> str: ...
    @property
    def texts(self) -> Sequence[str]: ...
    @property
    def concepts(self) -> Sequence[str]: ...
    @property
    def truth(self) -> Bool[np.ndarray, "texts concepts"]: ...
    @property
    def known(self) -> Bool[np.ndarray, "texts concepts"]: ...
    @property
    def at_end(self) -> Bool[np.ndarray, " texts"]:
        """Whether a text that is too long loses its beginning."""

    @property
    def documents(self) -> Int[np.ndarray, " texts"] | None: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def digests(self) -> Mapping[str, str] | None: ...


def tokenize_texts(
    loaded: LanguageModel, data: ConceptTexts, most: int
) -> tuple[Int[np.ndarray, " rows"], list[list[int]]]:
    """Return the tokens of all non-empty texts, and which texts these are."""
    ids = [
        token_ids(loaded.tokenizer, [text], most, "left" if at_end else "right")[0]
        for text, at_end in zip(data.texts, data.at_end.tolist(), strict=True)
    ]
    rows = np.array([number for number, own in enumerate(ids) if own], int)
    if len(rows) < 2:
        raise EvidenceError("texts", f"{len(rows)} with any token", "two or more")
    some = [ids[row] for row in rows]
    loaded.check_fits(some)
    return rows, some


def select_labels(data: ConceptTexts, rows: Int[np.ndarray, " rows"]) -> SequenceLabels:
    """Return the labels of some of the texts."""
    documents = None if data.documents is None else np.asarray(data.documents)[rows]
    if not len(data.concepts):
        return SequenceLabels(documents=documents)
    return SequenceLabels(
        truth=data.truth[rows], known=data.known[rows], concepts=data.concepts, documents=documents
    )
