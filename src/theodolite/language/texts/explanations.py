"""Explanations of latents: text, author and the texts it was written from; stored next to evidence.

An explanation must not be scored on the texts it was written from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from theodolite._storage.tables import read_parquet, write_parquet
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import LatentExplanations
from theodolite.evidence.kinds.token import TokenEvidence

FILE = "explanations.parquet"
ExplanationKind = Literal["text", "formula", "tokens", "none"]
COLUMNS = ("latent", "kind", "text", "author", "made_from")
MAX_TEXT_CHARS = 10_000


@dataclass(frozen=True)
class LatentExplanation:
    """Explanation of one latent.

    Args:
        latent: Its number.
        kind: Free words, the name of a predicate or concept, a set of tokens, or none.
        text: What is said.
        author: Who says so.
        made_from: Ids of the sequences that it was written from; None: not known.
    """

    latent: int
    kind: ExplanationKind
    text: str
    author: str = ""
    made_from: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(ExplanationKind):
            raise EvidenceError("kind", repr(self.kind), f"one of {get_args(ExplanationKind)}")
        if isinstance(self.latent, bool) or not isinstance(self.latent, int) or self.latent < 0:
            raise EvidenceError("latent", repr(self.latent), "a number from 0 on")
        if not isinstance(self.text, str) or len(self.text) > MAX_TEXT_CHARS:
            raise EvidenceError("text", "another thing", f"up to {MAX_TEXT_CHARS:,} characters")


def save_explanations(explanations: Sequence[LatentExplanation], folder: Path | str) -> None:
    """Write the explanations to the evidence folder."""
    columns: dict[str, list[Any]] = {
        name: [getattr(each, name) for each in explanations] for name in COLUMNS
    }
    columns["made_from"] = [None if ids is None else list(ids) for ids in columns["made_from"]]
    write_parquet(Path(folder) / FILE, columns)


def load_explanations(folder: Path | str) -> list[LatentExplanation]:
    """Read the explanations from an evidence folder."""
    columns = read_parquet(Path(folder) / FILE)
    if set(columns) != set(COLUMNS):
        raise UnsafeInputError(FILE, f"columns {sorted(columns)}"[:200], f"{sorted(COLUMNS)}")
    rows = zip(*(columns[name] for name in COLUMNS), strict=True)
    return [
        LatentExplanation(latent, kind, text, author, None if ids is None else tuple(ids))
        for latent, kind, text, author, ids in rows
    ]


def with_explanations(
    evidence: TokenEvidence, explanations: Sequence[LatentExplanation]
) -> tuple[TokenEvidence, list[str]]:
    """Add explanations to evidence; return it with notes for the reader.

    A formula is the name of a predicate, or of a concept. An explanation that was written from a
    sequence of the evidence is refused: leave those sequences out.
    """
    ids = evidence.samples.ids
    known = set() if ids is None else set(map(str, ids))
    unknown = [each for each in explanations if each.made_from is None]
    for each in explanations:
        own = known & set(each.made_from or ())
        if own or (each.made_from and ids is None):
            got = f"the sequence {min(own)!r}" if own else "sequences without ids"
            name = f"explanation of {evidence.latents.name(each.latent)}"
            raise EvidenceError(
                name, f"{got}: scored on what it was written from", "other sequences",
                "Leave out those in `made_from`, and give ids of sequences.",
            )  # fmt: skip
    predicates, concepts = (
        {name: at for at, name in enumerate(axis.names)}
        for axis in (evidence.predicates, evidence.concepts)
    )
    texts = [each.text if each.kind == "formula" else "" for each in explanations]
    explained = replace(
        evidence,
        explained=np.array([each.latent for each in explanations], np.int64),
        predicate_of=np.array([predicates.get(text, -1) for text in texts], np.int64),
        concept_of=np.array([concepts.get(text, -1) for text in texts], np.int64),
        explanations=LatentExplanations(
            tuple(
                f"{number}: {evidence.latents.name(each.latent)}"
                for number, each in enumerate(explanations)
            )
        ),
    )
    if not unknown:
        return explained, []
    finding = f"{len(unknown)} explanations may have been scored on what they were written from"
    return explained, [finding]
