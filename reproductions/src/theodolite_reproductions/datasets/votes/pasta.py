"""PASTA: votes of five people on explanations of images, from 1 to 5, on six questions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_csv, read_json
from theodolite.datasets.votes.own_scores import own_scores
from theodolite.datasets.votes.rows import plain_text
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Samples, Techniques
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.technique_columns import UNNAMED, WORDS

QUESTIONS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
MOST_VOTES = 1000
NAMED = {
    39: "CLIP-QDA-sample", 40: "CLIP-Linear-sample", 41: "LIME-CBM on CLIP-QDA",
    42: "SHAP-CBM on CLIP-QDA", 43: "LIME-CBM on CBM-logistic", 44: "SHAP-CBM on CBM-logistic",
    45: "X-NeSyL", 46: "B-cos", 47: "B-cos", 48: "RISE-CBM", 49: "RISE-CBM",
}  # fmt: skip
"""What is known of the numbers of techniques; the others are maps over the image."""
CONCEPT_NUMBERS = frozenset(range(39, 46)) | {48, 49}
"""Those that explain by concepts."""
IMAGE_NAME = re.compile(r"(?P<data>[^_]+)_(?P<image>\d{1,9})_(?P<label>.+)\.(?:png|jpe?g)")
"""How images are named."""
TECHNIQUE_FILE = "techniques.csv"
_EXPLANATION = re.compile(
    r"(?P<data>[^_]+)_(?P<image>\d{1,9})_(?P<technique>\d{1,9})_(?P<label>.+)\.(?:png|jpe?g)"
)


@dataclass
class _Entry:
    """One explanation and its votes."""

    id: str
    data: str
    image: int
    technique: int
    explanation: ShownExplanation
    votes: list[Mapping[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """What each annotator wrote before, where the file has it."""


def pasta_votes(root: Path, *, file: str = "human_annotations.json") -> VotedExplanations:
    """Read the annotations, and point to images and maps of the folder that are there.

    Of the paths in the file only what follows the last ``imgs/`` and ``expl/`` counts: images are
    looked for in ``imgs``, explanations in ``expl`` and ``activations`` of the folder. Maps are
    ``.npy``, concepts ``.json``; what is not there is None. The file numbers its techniques; a
    table ``techniques.csv`` of one's own (number, method, network, modality) says what they are;
    ``scores.csv`` (explanation, a column a score) holds scores that need no people.

    Args:
        root: The folder.
        file: The file of annotations in it; those of the batches have other names.
    """
    path = confined(Path(root), file)
    by_id, without = _entries(path, Path(root))
    techniques = sorted({entry.technique for entry in by_id.values()})
    images = {key: i for i, key in enumerate(dict.fromkeys(_image(e) for e in by_id.values()))}
    entries = list(by_id.values())
    raters = max((len(entry.votes) for entry in entries), default=0)
    if not raters:
        raise UnsafeInputError(f"file {path.name!r}", "no annotations", "some in `Annotation`")
    arguments: dict[str, Any] = {
        "scale": np.array(SCALE),
        "samples": Samples(
            ids=np.array([entry.id for entry in entries]),
            clusters=np.array([images[_image(entry)] for entry in entries]),
        ),
        "technique": np.array([techniques.index(entry.technique) for entry in entries]),
        "techniques": Techniques(tuple(_technique(number) for number in techniques)),
        "raters": tuple(f"vote {i + 1}" for i in range(raters)),
    }
    tables = {question: _table(entries, question, raters) for question in QUESTIONS}
    return VotedExplanations(
        name=f"PASTA {path.stem}",
        questions={
            question: RatingEvidence(ratings=table, **arguments)
            for question, table in tables.items()
            if not np.isnan(table).all()
        },
        explanations=tuple(entry.explanation for entry in entries),
        notes=_notes(entries, without),
        tables=(path,),
        source=UNNAMED,
        kinds=_kinds(entries, Path(root)),
        more=_words(entries),
        numbers=own_scores(Path(root), [entry.id for entry in entries]),
    )


def _words(entries: Sequence["_Entry"]) -> dict[str, dict[str, list[str]]]:
    """People's own words, where the file has any."""
    rows = [
        (entry.id, f"vote {at + 1}", text)
        for entry in entries
        for at, text in enumerate(entry.words)
        if text
    ]
    names = ("explanation", "person", "text")
    return {WORDS: {n: [row[i] for row in rows] for i, n in enumerate(names)}} if rows else {}


def _kinds(entries: Sequence["_Entry"], root: Path) -> dict[str, list[str]]:
    """Image, data set and label of each, and what its technique is as far as that is known."""
    path = confined(root, TECHNIQUE_FILE)
    rows = list(read_csv(path, "table of techniques")) if path.is_file() else []
    needed = ("number", "method", "network", "modality")
    if missing := [name for name in needed if rows and name not in rows[0]]:
        raise UnsafeInputError(
            f"table {path.name!r}", f"no column {missing[0]!r}", ", ".join(needed)
        )
    known = {row["number"].strip(): row for row in rows}

    def of(entry: _Entry, column: str) -> str:
        if (row := known.get(str(entry.technique))) is not None:
            return plain_text(row[column], 300)
        if column == "modality":
            named = entry.technique in CONCEPT_NUMBERS or entry.explanation.concepts is not None
            return "concept" if named else "saliency"
        method, _, network = _technique(entry.technique).partition(" on ")
        return method if column == "method" else network

    return {
        "image": [f"{entry.data} {entry.image}" for entry in entries],
        "data_set": [entry.data for entry in entries],
        "label": [entry.explanation.context.rpartition("true class: ")[2] for entry in entries],
        **{column: [of(entry, column) for entry in entries] for column in needed[1:]},
    }


def _entries(path: Path, root: Path) -> tuple[dict[str, _Entry], int]:
    content = read_json(path, "file of annotations")
    if not isinstance(content, list):
        raise UnsafeInputError(f"file {path.name!r}", type(content).__name__, "a list of entries")
    entries: dict[str, _Entry] = {}
    without = 0
    for number, raw in enumerate(content):
        where = f"entry {number} of {path.name!r}"
        if not isinstance(raw, dict):
            raise UnsafeInputError(where, type(raw).__name__, "an object")
        if raw.get("Annotation") is None:
            without += 1
            continue
        entry = _entry(raw, where, root)
        votes = raw["Annotation"]
        if not isinstance(votes, list) or not all(isinstance(vote, dict) for vote in votes):
            raise UnsafeInputError(where, "other votes", "a list of one object per annotator")
        known = entries.setdefault(entry.id, entry)
        known.votes.extend({q: _rating(v, q, where) for q in QUESTIONS if q in v} for v in votes)
        known.words.extend(plain_text(vote.get("Q0.1") or "", 2000) for vote in votes)
        if len(known.votes) > MOST_VOTES:
            raise UnsafeInputError(where, "more votes", f"at most {MOST_VOTES}")
    return entries, without


def _entry(raw: Mapping[str, Any], where: str, root: Path) -> _Entry:
    image_file = _below(raw.get("img"), "imgs", where)
    explanation_file = _below(raw.get("explication"), "expl", where)
    of_image = IMAGE_NAME.fullmatch(PurePosixPath(image_file).name)
    of_explanation = _EXPLANATION.fullmatch(PurePosixPath(explanation_file).name)
    if of_explanation is None or of_image is None:
        got = f"paths {image_file!r} and {explanation_file!r}"
        needed = "imgs/{data}_{image}_{label}.png, expl/{data}_{image}_{technique}_{class}.png"
        raise UnsafeInputError(where, got, needed)
    if (of_explanation["data"], of_explanation["image"]) != (
        of_image["data"],
        of_image["image"],
    ):
        raise UnsafeInputError(
            where, f"{explanation_file!r} of {image_file!r}", "one and the same image"
        )
    predicted, true = (plain_text(raw.get(k, ""), 300) for k in ("predictedclass", "GTclass"))
    explanation = _explanation(
        root, image_file, explanation_file, predicted, true or of_explanation["label"]
    )
    name = PurePosixPath(explanation_file).stem
    return _Entry(
        name,
        of_explanation["data"],
        int(of_explanation["image"]),
        int(of_explanation["technique"]),
        explanation,
    )


def _explanation(
    root: Path, image_file: str, explanation_file: str, predicted: str, true: str
) -> ShownExplanation:
    stem = f"activations/{PurePosixPath(explanation_file).with_suffix('')}"
    values = _there(root, f"{stem}.json")
    return ShownExplanation(
        context=f"predicted: {predicted}; true class: {true}",
        image=_there(root, f"imgs/{image_file}"),
        map=_there(root, f"{stem}.npy") or _there(root, f"expl/{explanation_file}"),
        concepts=None if values is None else _concepts(values),
        label=predicted,
    )


def _below(path: Any, folder: str, where: str) -> str:
    """What follows the last folder of this name in a path that somebody else wrote."""
    if not isinstance(path, str) or f"{folder}/" not in path:
        raise UnsafeInputError(where, f"path {path!r}"[:200], f"one with {folder}/ in it")
    return path.rpartition(f"{folder}/")[2]


def _there(root: Path, relative: str) -> Path | None:
    path = confined(root, relative)
    return path if path.is_file() else None


def _concepts(path: Path) -> dict[str, float]:
    content = read_json(path, "file of concepts")
    if not isinstance(content, dict):
        raise UnsafeInputError(f"file {path.name!r}", type(content).__name__, "concept: value")
    values = {}
    for name, value in content.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise UnsafeInputError(f"file {path.name!r}", f"{value!r}"[:60], "a number per concept")
        values[plain_text(name, 300)] = float(value)
    return values


def _rating(vote: Mapping[str, Any], question: str, where: str) -> float:
    value = vote[question]
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in SCALE:
        raise UnsafeInputError(where, f"{question} = {value!r}"[:60], "a whole number from 1 to 5")
    return float(value)


def _table(entries: Sequence[_Entry], question: str, raters: int) -> np.ndarray:
    table = np.full((len(entries), raters), np.nan)
    for row, entry in enumerate(entries):
        for column, vote in enumerate(entry.votes):
            table[row, column] = vote.get(question, np.nan)
    return table


def _image(entry: _Entry) -> tuple[str, int]:
    return entry.data, entry.image


def _technique(number: int) -> str:
    return f"{number} {NAMED[number]}" if number in NAMED else f"{number}"


def _notes(entries: Sequence[_Entry], without: int) -> tuple[str, ...]:
    images = sum(entry.explanation.image is not None for entry in entries)
    maps = sum(entry.explanation.map is not None for entry in entries)
    return (
        "Raters are not identified: vote 1 of two explanations is of two people. Only what does "
        "not change when an explanation's votes change places means something; agreement by pairs "
        "of columns is over positions.",
        f"{len(entries):,} explanations; {images:,} images and {maps:,} maps are at hand.",
        *([f"{without:,} entries without votes are left out."] if without else []),
    )
