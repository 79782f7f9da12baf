"""Let a learned score rate explanations that nobody has rated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import TypeAdapter, ValidationError

from theodolite.datasets.voted import Shown
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.io.paths import confined
from theodolite.io.text import json_from, read_csv, read_json, read_text
from theodolite.models.acceptance.score_file import LearnedScore, ScoreCard
from theodolite.pipelines._acceptance_embedding import Embedder
from theodolite.pipelines._acceptance_features import NEED_VECTORS, Described, Explanations
from theodolite.pipelines._acceptance_rendering import Rendering

TEXTS = ("text", "context", "label", "technique", "id")
PICTURES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True, eq=False)
class Unrated:
    """Explanations from a file or folder, with their names."""

    ids: tuple[str, ...]
    given: Explanations


def needs_embedding(card: ScoreCard) -> bool:
    """Whether vectors are needed to use a score."""
    return bool(NEED_VECTORS.intersection((*card.features, *card.straight)))


def rendering_of(card: ScoreCard) -> Rendering:
    """How maps and concepts were shown when the score was learnt."""
    try:
        return TypeAdapter(Rendering).validate_python(card.rendering)
    except ValidationError as error:
        raise RefusedInput("card", f"rendering {card.rendering}", "a known one") from error


def rated(
    learned: LearnedScore, given: Explanations, embedder: Embedder | None
) -> Float[np.ndarray, " explanations"]:
    """What people would say of each explanation, on their scale."""
    card = learned.card
    if embedder is not None and embedder.embedding.name != card.embedding:
        raise EvidenceError(
            "embedding", repr(embedder.embedding.name), f"{card.embedding!r}, as the score's"
        )
    described = Described(given, embedder, rendering_of(card), card.labels)
    features = described.matrix((*card.features, *card.straight))
    try:
        return learned.ratings(features)
    except ValueError as error:
        came = f"{features.shape[1]} features"
        raise RefusedInput("learned score", came, "as many as it was learnt from") from error


def read_explanations(path: Path) -> Unrated:
    """A table (.csv, .jsonl) with a column ``text``, or a folder of maps or concepts.

    Of a table, ``context``, ``label``, ``technique`` and ``id`` are read as well if they are there,
    and all other columns as numbers. A folder has ``maps/NAME.npy`` with ``pictures/NAME.png``, or
    ``concepts/NAME.json``. Explanations of one context, or of one picture, belong together.
    """
    if path.is_dir():
        return _from_folder(path)
    if path.suffix == ".csv":
        return _from_rows([dict(row) for row in read_csv(path, "table of explanations")], path.name)
    if path.suffix == ".jsonl":
        lines = read_text(path, "explanations").splitlines()
        return _from_rows([json_from(o.encode(), path.name) for o in lines if o.strip()], path.name)
    raise EvidenceError("explanations", repr(path.name), "a .csv or .jsonl file, or a folder")


def _from_rows(rows: Sequence[Mapping[str, Any]], name: str) -> Unrated:
    if not rows or not all(isinstance(row, dict) and "text" in row for row in rows):
        raise RefusedInput(f"table {name!r}", "no column 'text'", "an explanation in each row")
    said = [[str(row.get(key, "")) for key in ("context", "text", "label")] for row in rows]
    shown = [Shown(context, text, label=label) for context, text, label in said]
    known = [key for key in rows[0] if key not in TEXTS]
    numbers = {key: _numbers(rows, key, name) for key in known}
    ids = tuple(str(row.get("id", number)) for number, row in enumerate(rows))
    techniques = [str(row.get("technique", "")) for row in rows]
    together = [one.context or f"\0{number}" for number, one in enumerate(shown)]
    clusters = np.unique(together, return_inverse=True)[1]
    return Unrated(ids, Explanations(shown, techniques, clusters, numbers))


def _numbers(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> np.ndarray:
    try:
        found = np.array([float(row[key]) for row in rows])
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedInput(f"table {name!r}", f"column {key!r}", "a number in each row") from error
    if not np.isfinite(found).all():
        raise RefusedInput(f"table {name!r}", f"NaN or infinite {key!r}", "finite numbers")
    return found


def _from_folder(path: Path) -> Unrated:
    maps = sorted((path / "maps").glob("*.npy"))
    spoken = sorted((path / "concepts").glob("*.json"))
    shown = [
        Shown(map=confined(path, f"maps/{one.name}"), picture=_picture(path, one.stem))
        for one in maps
    ]
    shown += [Shown(concepts=_concepts(confined(path, f"concepts/{one.name}"))) for one in spoken]
    ids = tuple(one.stem for one in (*maps, *spoken))
    if not ids:
        raise RefusedInput(
            f"folder {path.name!r}", "no maps/*.npy and no concepts/*.json", "some explanations"
        )
    clusters = np.unique(ids, return_inverse=True)[1]
    return Unrated(ids, Explanations(shown, [""] * len(ids), clusters, {}))


def _picture(folder: Path, stem: str) -> Path:
    for ending in PICTURES:
        found = confined(folder, f"pictures/{stem}{ending}")
        if found.is_file():
            return found
    raise RefusedInput(f"map {stem!r}", "no picture of that name", f"pictures/{stem}.png")


def _concepts(path: Path) -> dict[str, float]:
    content = read_json(path, "concepts")
    plain = isinstance(content, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
        for value in content.values()
    )
    if not plain:
        raise RefusedInput(f"concepts {path.name!r}", "other content", "a number for each concept")
    return {str(name): float(value) for name, value in content.items()}
