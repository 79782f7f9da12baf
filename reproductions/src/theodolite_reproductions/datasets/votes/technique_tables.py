"""Votes from wherever they are as tables of explanations and of votes, a person's votes a row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.study_tables import concepts_text
from theodolite.evidence.technique_columns import (
    EXPLANATIONS,
    NUMBERS,
    QUESTIONS,
    VOTES,
    split_technique,
)

Columns = dict[str, list[Any]]


def technique_tables(data: VotedExplanations) -> dict[str, Columns]:
    """Tables ``explanations``, ``votes``, ``numbers`` and what else is known, each with its source.

    Where the data do not say of which method and network a technique is, its name does
    (``method / network``); where they do not say the modality, it is that of what was shown. Votes
    on other questions than Q1 to Q6 have no such tables.
    """
    if not {question.upper() for question in data.questions} <= set(QUESTIONS):
        return {}
    evidence = next(iter(data.questions.values()))
    ids = [evidence.samples.name(row) for row in range(len(data))]
    tables: dict[str, Mapping[str, Sequence[Any]]] = {
        EXPLANATIONS: {"explanation": ids, **_explanations(data, evidence)},
        VOTES: _votes(data, ids),
        **data.more,
    }
    if data.numbers:
        tables[NUMBERS] = {"explanation": ids} | {
            name: [None if np.isnan(v) else float(v) for v in values]
            for name, values in data.numbers.items()
        }
    return {name: with_source(table, data.source) for name, table in tables.items()}


def with_source(table: Mapping[str, Sequence[Any]], source: str) -> Columns:
    """The table with a column that says who voted."""
    n = len(next(iter(table.values()), ()))
    return {**{name: list(values) for name, values in table.items()}, "source": [source] * n}


def _explanations(data: VotedExplanations, evidence: RatingEvidence) -> Columns:
    names, codes = evidence.techniques.names, evidence.technique
    technique = ["not said"] * len(data) if codes is None else [names[int(i)] for i in codes]
    parts = [split_technique(name) for name in technique]
    clusters = evidence.samples.clusters
    images = np.arange(len(data)) if clusters is None else clusters
    usual = {
        "image": [f"image {number}" for number in images],
        "data_set": [""] * len(data),
        "method": [method for method, _ in parts],
        "network": [network for _, network in parts],
        "modality": [
            "saliency" if explanation.concepts is None else "concept"
            for explanation in data.explanations
        ],
        "label": [""] * len(data),
    }
    kinds = {name: list(data.kinds.get(name, values)) for name, values in usual.items()}
    return {
        **kinds,
        "technique": technique,
        "predicted": [explanation.label or None for explanation in data.explanations],
        "concepts": [
            None if not explanation.concepts else concepts_text(explanation.concepts)
            for explanation in data.explanations
        ],
    }


def _votes(data: VotedExplanations, ids: Sequence[str]) -> Columns:
    ratings = {name.upper(): np.asarray(own.ratings) for name, own in data.questions.items()}
    raters = next(iter(data.questions.values())).raters.names
    voted = np.logical_or.reduce([~np.isnan(own) for own in ratings.values()])
    rows, people = np.nonzero(voted)
    return {
        "explanation": [ids[int(row)] for row in rows],
        "person": [raters[int(who)] for who in people],
        **{
            name: [None if np.isnan(v) else int(v) for v in own[rows, people]]
            for name, own in ratings.items()
        },
    }
