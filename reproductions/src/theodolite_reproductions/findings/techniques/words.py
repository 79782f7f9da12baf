"""How like people's own words the concepts of an explanation are: BLEU and ROUGE."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite_reproductions.datasets.votes.word_overlap import overlaps
from theodolite_reproductions.findings.techniques.record import TechniqueRow, row_from
from theodolite_reproductions.findings.techniques.voted_table import VotedTable
from theodolite_reproductions.unit_resamples import UnitResamples

FIRST = 5
"""So many concepts are named, those that speak most for the class."""
MEASURES = ("rouge_1", "rouge_l", "bleu")


def named_words(concepts: str, first: int = FIRST) -> str:
    """The words of the concepts that speak most for the class; none where none speaks for it."""
    values = sorted(json.loads(concepts).items(), key=lambda item: (-item[1], item[0]))
    return " ".join(name for name, value in values[:first] if value > 0)


def overlap_against_votes(
    table: VotedTable, words: Mapping[str, Sequence[Any]], resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    """Each person's own words against the concepts that they were shown, with their own vote.

    A pair is one vote; whole images are resampled. What nobody wrote about is left out.
    """
    place = {name: at for at, name in enumerate(table.ids)}
    column = {name: at for at, name in enumerate(table.people)}
    pairs = []
    for explanation, person, text in zip(
        *(words.get(n, ()) for n in ("explanation", "person", "text")), strict=True
    ):
        row, who = place.get(explanation), column.get(person)
        if row is None or who is None or not text or table.concepts[row] is None:
            continue
        if named := named_words(str(table.concepts[row])):
            pairs.append((row, who, *overlaps(named, [text])))
    if not pairs:
        return
    rows, people = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    _, units = np.unique(table.of["image"][rows], return_inverse=True)
    n = int(units.max()) + 1
    redraws = UnitResamples.draw_within_groups(
        np.zeros(n, int), "images", resamples, seed
    ).expand_to_rows(units)
    for at, measure in enumerate(MEASURES, start=2):
        values = np.array([pair[at] for pair in pairs])
        for question, votes in table.votes.items():
            vote = votes[rows, people]
            both = int((~np.isnan(values + vote)).sum())
            names = {"measure": measure, "question": question}
            yield row_from(names, redraws.correlation(values, vote), redraws, n, both)
