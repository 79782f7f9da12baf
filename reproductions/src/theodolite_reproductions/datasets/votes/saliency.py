"""How important a word seems to people who see a saliency map over the sentence: 1 to 7."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_csv
from theodolite.datasets.votes.rows import Vote, explanations_from, plain_name, rating_from
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import EvidenceError, UnsafeInputError

PARTS = ("en", "de", "correction")
SCALE = tuple(float(i) for i in range(1, 8))
NEEDED = ("sentence_id", "word_position", "worker_id", "human_importance_rating", "saliency")
NUMBERS = (
    "saliency", "normalized_saliency_rank", "word_length", "sentence_length",
    "relative_word_frequency", "lemma_polarity", "word_position",
)  # fmt: skip


def saliency_ratings(
    root: Path, part: Literal["en", "de", "correction"] = "en"
) -> VotedExplanations:
    """Read ``responses_en.csv``, ``responses_de.csv`` or ``responses_correction.csv``, or a .gz.

    An item is a word of a sentence (and, in ``correction``, a way to show its saliency, which is
    the technique). Words of one sentence are one cluster. In ``en`` and ``de`` each rater saw other
    saliency values for the same word: there the number is the mean of those shown, and raters who
    disagree may have seen different things.
    """
    if part not in PARTS:
        raise EvidenceError("part", f"{part!r}", f"one of {list(PARTS)}")
    path = confined(Path(root), f"responses_{part}.csv")
    path = path if path.is_file() else confined(Path(root), f"{path.name}.gz")
    rows = list(read_csv(path, "table of ratings"))
    if missing := [name for name in NEEDED if not rows or name not in rows[0]]:
        raise UnsafeInputError(f"table {path.name!r}", f"no {missing}", "columns of that data set")
    votes: list[Vote] = []
    explanations: dict[str, ShownExplanation] = {}
    for number, row in enumerate(rows, start=2):
        way = row.get("visualization_condition", "")
        word = f"{row['sentence_id']}/{row['word_position']}"
        item = plain_name(f"{word}/{way}" if way else word, f"item in row {number}")
        votes.append(
            Vote(
                item,
                f"worker {plain_name(row['worker_id'], 'worker')}",
                "importance",
                rating_from(row["human_importance_rating"], f"rating in row {number}"),
                technique=way,
                image=row["sentence_id"],
            )
        )
        context = f"sentence {row['sentence_id']}, word {row['word_position']}"
        explanations.setdefault(item, ShownExplanation(context=plain_name(context, "sentence")))
    data_set = explanations_from(
        votes,
        name=f"saliency of words, {part}",
        explanations=explanations,
        scale=SCALE,
        tables=(path,),
    )
    numbers, differ = _numbers(rows, [vote.item for vote in votes], list(explanations))
    notes = [*data_set.notes, "The sentences themselves are not in the table, only their numbers."]
    if differ:
        notes.append(
            f"{', '.join(differ)} differ between raters of the same word: each saw other values, "
            "and here is their mean. Agreement of raters is therefore not that on one and the "
            "same explanation."
        )
    return replace(data_set, numbers=numbers, notes=tuple(notes))


def _numbers(
    rows: Sequence[dict[str, str]], of_row: Sequence[str], items: Sequence[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    place = {item: i for i, item in enumerate(items)}
    at = np.array([place[item] for item in of_row])
    votes = np.bincount(at, minlength=len(items))
    numbers, differ = {}, []
    for name in NUMBERS:
        if name not in rows[0]:
            continue
        values = np.array([rating_from(row[name], name) for row in rows])
        mean = np.bincount(at, weights=values, minlength=len(items)) / votes
        if not np.allclose(values, mean[at], atol=1e-9, equal_nan=True):
            differ.append(name)
        numbers[name] = mean
    return numbers, differ
