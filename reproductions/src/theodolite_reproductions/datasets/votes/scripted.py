"""Votes that nobody gave, with planted effects: a rehearsal of a study's analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.technique_columns import (
    PEOPLE,
    QUESTIONS,
    RANKINGS,
    SCRIPTED,
    VOTES,
    WORDS,
)

ASKED_AFTER = {
    "Q7": ("trust", "complexity", "robustness", "expectedness", "objectivity"),
    "Q8": QUESTIONS,
    "Q9": QUESTIONS,
}
"""What is put in order after the study."""


@dataclass(frozen=True, kw_only=True)
class PlantedEffects:
    """vote = round(base + modality + network + technique + image + person + noise), 1 to 5.

    Effects of named things are as given; those of techniques, images and people are drawn with
    these spreads. Q1 to Q4 share a noise of each vote, and so do Q5 and Q6, which are not moved by
    the modality.
    """

    __pydantic_config__ = {"extra": "forbid"}

    base: float = 2.8
    modality: Mapping[str, float] = field(default_factory=dict)
    network: Mapping[str, float] = field(default_factory=dict)
    technique: float = 0.3
    image: float = 0.3
    person: float = 0.3
    shared: float = 0.6
    noise: float = 0.5
    people: int = 15
    votes: int = 5
    """On each explanation, by as many people."""
    by_score: Mapping[str, float] = field(default_factory=dict)
    """How much a vote rises with a standard deviation of a number that is known of explanations."""

    def __post_init__(self) -> None:
        if not 1 <= self.votes <= self.people:
            got = f"{self.votes} votes of {self.people} people"
            raise EvidenceError("votes", got, "at least one, and no more than there are people")


def scripted_tables(
    explanations: Mapping[str, Sequence[Any]],
    planted: PlantedEffects,
    seed: int,
    numbers: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, dict[str, list[Any]]]:
    """Tables of votes, own words, orders and people, as those of a study, each named as scripted.

    Args:
        explanations: The table ``explanations``.
        planted: What is to be found again.
        seed: Of everything that is drawn.
        numbers: Columns that ``by_score`` names, a value for each explanation.
    """
    random = np.random.default_rng(seed)
    n = len(explanations["explanation"])
    people = [f"script {i + 1:02d}" for i in range(planted.people)]
    level = _levels(explanations, planted, random, numbers or {})
    rows, who = _dealt(n, planted, random)
    habit = random.normal(0, planted.person, planted.people)
    votes = _votes(planted, (level, habit), (rows, who), random)
    ids = [explanations["explanation"][row] for row in rows]
    persons = [people[at] for at in who]
    tables: dict[str, dict[str, list[Any]]] = {
        VOTES: {"explanation": ids, "person": persons, **votes},
        WORDS: {
            "explanation": ids, "person": persons,
            "text": [_text(explanations, int(row), random) for row in rows],
        },
        RANKINGS: _orders(people, random),
        PEOPLE: {
            "person": people,
            "gender": [("woman", "man")[i % 2] for i in range(len(people))],
            "age_band": [("18–34", "35–99")[i // 2 % 2] for i in range(len(people))],
        },
    }  # fmt: skip
    return {
        name: {
            **{n: list(v) for n, v in table.items()},
            "source": [SCRIPTED] * len(next(iter(table.values()))),
        }
        for name, table in tables.items()
    }


def _levels(
    explanations: Mapping[str, Sequence[Any]],
    planted: PlantedEffects,
    random: np.random.Generator,
    numbers: Mapping[str, Sequence[float]],
) -> Float[np.ndarray, "2 explanations"]:
    """What moves all votes on an explanation: on Q1 to Q4, and on Q5 and Q6."""
    level = np.full(len(explanations["explanation"]), planted.base)
    for kind, spread in (("technique", planted.technique), ("image", planted.image)):
        names, codes = np.unique([str(v) for v in explanations[kind]], return_inverse=True)
        level += random.normal(0, spread, len(names))[codes]
    level += [planted.network.get(str(v), 0.0) for v in explanations["network"]]
    for name, slope in planted.by_score.items():
        values = np.asarray(numbers[name], float)
        standard = (values - np.nanmean(values)) / max(float(np.nanstd(values)), 1e-12)
        level += slope * np.nan_to_num(standard)
    modality = np.array([planted.modality.get(str(v), 0.0) for v in explanations["modality"]])
    return np.stack([level + modality, level])


def _dealt(
    n: int, planted: PlantedEffects, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return which people vote on which explanation: everybody on about as many."""
    load = np.zeros(planted.people)
    who = np.empty((n, planted.votes), int)
    for row in random.permutation(n):
        # those with the fewest so far, ties by chance
        who[row] = np.argsort(load + random.uniform(0, 0.5, planted.people))[: planted.votes]
        load[who[row]] += 1
    return np.repeat(np.arange(n), planted.votes), who.ravel()


def _votes(
    planted: PlantedEffects,
    effects: tuple[np.ndarray, np.ndarray],
    pairs: tuple[np.ndarray, np.ndarray],
    random: np.random.Generator,
) -> dict[str, list[Any]]:
    (level, habit), (rows, who) = effects, pairs
    shared = random.normal(0, planted.shared, (2, len(rows)))
    votes: dict[str, list[Any]] = {}
    for at, question in enumerate(QUESTIONS):
        group = int(at >= 4)
        noise = shared[group] + random.normal(0, planted.noise, len(rows))
        exact = level[group, rows] + habit[who] + noise
        votes[question] = np.clip(np.floor(exact + 0.5), 1, 5).astype(int).tolist()
    return votes


def _text(explanations: Mapping[str, Sequence[Any]], row: int, random: np.random.Generator) -> str:
    """The image's label, and sometimes a thing that is named beside it."""
    label = str(explanations["label"][row] or "something").replace("_", " ")
    return f"{label} {random.choice(['door', 'arch', 'window', 'sky', 'face'])}"


def _orders(people: Sequence[str], random: np.random.Generator) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {n: [] for n in ("person", "question", "item", "place")}
    for person in people:
        for question, items in ASKED_AFTER.items():
            for place, at in enumerate(random.permutation(len(items)), start=1):
                cell = {"person": person, "question": question, "item": items[at], "place": place}
                for name, value in cell.items():
                    columns[name].append(value)
    return columns
