"""Explanations by what made them, the votes on them, and what is known of each without people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.rating_summary import aggregate_ratings
from theodolite.evidence.technique_columns import (
    EXPLANATIONS,
    KINDS,
    NUMBERS,
    QUALITIES,
    QUESTIONS,
    VOTES,
    Tables,
)

SCALE = np.arange(1.0, 6.0)
Texts = np.ndarray


@dataclass(frozen=True, eq=False)
class VotedTable:
    """A row for each explanation that somebody voted on."""

    ids: Texts
    of: Mapping[str, Texts]
    """Image, data set, technique, method, network and modality of each."""
    votes: Mapping[str, Float[np.ndarray, "rows people"]]
    """By question; NaN where a person was not asked."""
    people: tuple[str, ...]
    source: str
    """Who voted: ``people``, ``unnamed people`` (columns are no persons), or SCRIPTED."""
    numbers: Mapping[str, Float[np.ndarray, " rows"]] = field(default_factory=dict)
    """Scores and other numbers that need no people; NaN where there is none."""
    concepts: tuple[str | None, ...] = ()
    """What each explanation names, where it names something."""

    @classmethod
    def of_tables(cls, tables: Tables) -> "VotedTable":
        """From the stored tables ``explanations``, ``votes`` and ``numbers``."""
        explained, votes = tables[EXPLANATIONS], tables[VOTES]
        rated = set(votes["explanation"])
        rows = [i for i, name in enumerate(explained["explanation"]) if name in rated]
        if not rows:
            raise EvidenceError("votes", "none on these explanations", "at least one")
        ids = np.array([explained["explanation"][i] for i in rows])
        place = {name: at for at, name in enumerate(ids)}
        people = tuple(dict.fromkeys(votes["person"]))
        column = {name: at for at, name in enumerate(people)}
        at = ([place[e] for e in votes["explanation"]], [column[p] for p in votes["person"]])
        questions = {}
        for question in (q for q in QUESTIONS if q in votes):
            ratings = np.full((len(ids), len(people)), np.nan)
            ratings[at] = [np.nan if v is None else v for v in votes[question]]
            questions[question] = ratings
        return cls(
            ids=ids,
            of={k: np.array([str(explained[k][i] or "") for i in rows]) for k in KINDS},
            votes=questions, people=people, source=str(explained["source"][0]),
            numbers=_numbers(tables.get(NUMBERS, {}), place),
            concepts=tuple(explained["concepts"][i] for i in rows),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _ratings(self) -> dict[str, Float[np.ndarray, " rows"]]:
        return {name: self._rating(name) for name in self.asked}

    def rating(self, question: str) -> Float[np.ndarray, " rows"]:
        """The mode of the votes on a question, ties to the lowest; of a quality the mean of its
        questions' modes."""
        ratings = self._ratings
        return ratings[question] if question in ratings else np.full(len(self), np.nan)

    def _rating(self, question: str) -> Float[np.ndarray, " rows"]:
        names = [q for q in QUALITIES.get(question, (question,)) if q in self.votes]
        modes = np.stack([aggregate_ratings(self.votes[q], SCALE, "mode", "lowest") for q in names])
        known = ~np.isnan(modes)
        sums = np.where(known, modes, 0.0).sum(axis=0)
        n = known.sum(axis=0)
        return np.asarray(np.where(n > 0, sums / np.maximum(n, 1), np.nan))

    @property
    def asked(self) -> tuple[str, ...]:
        """Qualities and questions that somebody answered."""
        there = tuple(q for q in QUESTIONS if q in self.votes)
        return (*(q for q, own in QUALITIES.items() if set(own) & set(there)), *there)

    def codes(self, kind: str) -> tuple[list[str], Int[np.ndarray, " rows"]]:
        """The names of a kind, and which of them each row has."""
        names, codes = np.unique(self.of[kind], return_inverse=True)
        return [str(name) for name in names], np.asarray(codes)


def _numbers(table: Mapping[str, Sequence[Any]], place: Mapping[str, int]) -> dict[str, np.ndarray]:
    columns = {}
    for name, values in table.items():
        if name in ("explanation", "source"):
            continue
        column = np.full(len(place), np.nan)
        for explanation, value in zip(table["explanation"], values, strict=True):
            if explanation in place and value is not None:
                column[place[explanation]] = value
        columns[name] = column
    return columns
