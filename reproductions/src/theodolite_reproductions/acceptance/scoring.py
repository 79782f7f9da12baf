"""Let a learned score rate explanations that nobody has rated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import TypeAdapter, ValidationError

from theodolite._storage.paths import confined
from theodolite._storage.text import json_from, read_csv, read_json, read_text
from theodolite.datasets.votes.voted import ShownExplanation
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite_reproductions.acceptance.embedding import Embedder
from theodolite_reproductions.acceptance.features import (
    BLOCKS,
    NEED_VECTORS,
    ExplanationFeatures,
    Explanations,
)
from theodolite_reproductions.acceptance.rendering import Rendering
from theodolite_reproductions.acceptance.score_file import LearnedScore, ScoreCard, load_scorer

TEXTS = ("text", "context", "label", "technique", "id")
IMAGES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True, eq=False)
class UnratedExplanations:
    """Explanations from a file or folder, with their names."""

    ids: tuple[str, ...]
    explanations: Explanations


def load_learned(folder: Path) -> LearnedScore:
    """A score that can be used: its file, and all that the card says of how."""
    learned = load_scorer(folder)
    rendering_of(learned.card)
    return learned


def numbers_of(card: ScoreCard) -> tuple[str, ...]:
    """Numbers that must be known of an explanation."""
    return tuple(name for name in (*card.features, *card.straight) if name not in BLOCKS)


def needs_embedding(card: ScoreCard) -> bool:
    """Return whether vectors are needed to use a score."""
    return bool(NEED_VECTORS.intersection((*card.features, *card.straight)))


def rendering_of(card: ScoreCard) -> Rendering:
    """Return how maps and concepts were shown when the score was learned."""
    try:
        return TypeAdapter(Rendering).validate_python(card.rendering)
    except (ValidationError, EvidenceError) as error:
        got = printable(f"rendering {card.rendering}", 200)
        raise UnsafeInputError("card", got, "a known one") from error


def rate_explanations(
    learned: LearnedScore, explanations: Explanations, embedder: Embedder | None
) -> Float[np.ndarray, " explanations"]:
    """What people would say of each explanation, on their scale."""
    card = learned.card
    if embedder is not None and embedder.embedding.name != card.embedding:
        raise EvidenceError(
            "embedding", repr(embedder.embedding.name), f"{card.embedding!r}, as the score's"
        )
    rendering, blocks = rendering_of(card), (*card.features, *card.straight)
    _check_columns(card, explanations.beside(blocks, rendering))
    return learned.ratings(
        ExplanationFeatures(explanations, embedder, rendering, card.labels).matrix(blocks)
    )


def _check_columns(card: ScoreCard, columns: Mapping[str, Sequence[str]]) -> None:
    """What raters were told of each explanation must be told to the score."""
    for name, values in columns.items():
        without = [row for row, value in enumerate(values) if not value]
        enough = {"always": 0, "sometimes": len(values) - 1}.get(card.takes.get(name, ""))
        if enough is not None and len(without) > enough:
            raise EvidenceError(
                name, f"none for {len(without)} of {len(values)} explanations",
                f"it for {'each' if not enough else 'some'}, as the score was learned with it",
                f"Add a column {name!r}.",
            )  # fmt: skip


def read_explanations(path: Path, numbers: Sequence[str] | None = None) -> UnratedExplanations:
    """A table (.csv, .jsonl) with a column ``text``, or a folder of maps or concepts.

    Of a table, ``context``, ``label``, ``technique`` and ``id`` are read as well if they are there,
    and the columns that ``numbers`` names; without it all columns of nothing but numbers. Others
    are passed over. A folder has ``maps/NAME.npy`` with ``images/NAME.png``, or
    ``concepts/NAME.json``. Explanations of one context, or of one image, belong together.
    """
    if path.is_dir():
        return _from_folder(path)
    if path.suffix == ".csv":
        rows = [dict(row) for row in read_csv(path, "table of explanations")]
        return _from_rows(rows, path.name, numbers)
    if path.suffix == ".jsonl":
        lines = read_text(path, "explanations").splitlines()
        rows = [json_from(line.encode(), path.name) for line in lines if line.strip()]
        return _from_rows(rows, path.name, numbers)
    raise EvidenceError("explanations", repr(path.name), "a .csv or .jsonl file, or a folder")


def _from_rows(
    rows: Sequence[Mapping[str, Any]], name: str, number_columns: Sequence[str] | None
) -> UnratedExplanations:
    if not rows or not all(isinstance(r, dict) and r.get("text") is not None for r in rows):
        raise UnsafeInputError(
            f"table {name!r}", "a row without 'text'", "an explanation in each row"
        )
    texts = [[_text(row, key) for key in ("context", "text", "label")] for row in rows]
    explanations = [ShownExplanation(context, text, label=label) for context, text, label in texts]
    known = [key for key in rows[0] if key not in TEXTS]
    if number_columns is None:
        numbers = {key: values for key in known if (values := _all_numbers(rows, key)) is not None}
    else:
        numbers = {key: _numbers(rows, key, name) for key in number_columns if key in known}
    ids = tuple(_text(row, "id") or str(number) for number, row in enumerate(rows))
    techniques = [_text(row, "technique") for row in rows]
    together = [
        explanation.context or f"\0{number}" for number, explanation in enumerate(explanations)
    ]
    clusters = np.unique(together, return_inverse=True)[1]
    return UnratedExplanations(ids, Explanations(explanations, techniques, clusters, numbers))


def _text(row: Mapping[str, Any], key: str) -> str:
    """Nothing where nothing is said: JSON's null is no word."""
    value = row.get(key)
    return "" if value is None else str(value)


def _numbers(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> np.ndarray:
    values = _all_numbers(rows, key)
    if values is None:
        raise UnsafeInputError(
            f"table {name!r}", f"column {printable(key, 60)!r}", "a finite number in each row"
        )
    return values


def _all_numbers(rows: Sequence[Mapping[str, Any]], key: str) -> np.ndarray | None:
    try:
        values = np.array([float(row[key]) for row in rows])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return values if np.isfinite(values).all() else None


def _from_folder(path: Path) -> UnratedExplanations:
    map_files = sorted((path / "maps").glob("*.npy"))
    concept_files = sorted((path / "concepts").glob("*.json"))
    explanations = [
        ShownExplanation(map=confined(path, f"maps/{file.name}"), image=_image(path, file.stem))
        for file in map_files
    ]
    explanations += [
        ShownExplanation(concepts=_concepts(confined(path, f"concepts/{file.name}")))
        for file in concept_files
    ]
    ids = tuple(file.stem for file in (*map_files, *concept_files))
    if not ids:
        raise UnsafeInputError(
            f"folder {path.name!r}", "no maps/*.npy and no concepts/*.json", "some explanations"
        )
    clusters = np.unique(ids, return_inverse=True)[1]
    return UnratedExplanations(ids, Explanations(explanations, [""] * len(ids), clusters, {}))


def _image(folder: Path, stem: str) -> Path:
    for ending in IMAGES:
        file = confined(folder, f"images/{stem}{ending}")
        if file.is_file():
            return file
    raise UnsafeInputError(f"map {stem!r}", "no image of that name", f"images/{stem}.png")


def _concepts(path: Path) -> dict[str, float]:
    content = read_json(path, "concepts")
    plain = isinstance(content, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
        for value in content.values()
    )
    if not plain:
        raise UnsafeInputError(
            f"concepts {path.name!r}", "other content", "a number for each concept"
        )
    return {str(name): float(value) for name, value in content.items()}
