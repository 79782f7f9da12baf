"""What is kept of votes and predictions beside the evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.evidence.axes import Measures
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.pipelines.acceptance.features import Explanations
from theodolite.pipelines.acceptance.models import RatedExplanations


def named(data: VotedExplanations, question: str) -> str:
    """A set of votes; its question is named where there are several."""
    return f"{data.name}: {question}" if len(data.questions) > 1 else data.name


def with_numbers(data: VotedExplanations, asked: RatingEvidence) -> RatingEvidence:
    """Votes with what else is known of the explanations, to be held against them."""
    if not data.numbers:
        return asked
    columns = np.stack([np.asarray(column, float) for column in data.numbers.values()], axis=1)
    varied = [i for i in range(columns.shape[1]) if len(np.unique(columns[:, i])) > 1]
    if not varied:
        return asked
    names = list(data.numbers)
    return replace(
        asked, measured=columns[:, varied], measures=Measures(tuple(names[i] for i in varied))
    )


def words_of(data: VotedExplanations) -> dict[str, list[object]]:
    """What was explained and how, where it was in words."""
    if not any(one.text for one in data.shown):
        return {}
    return {
        "context": [one.context for one in data.shown],
        "text": [one.text for one in data.shown],
    }


def explanations_of(data: VotedExplanations, asked: RatingEvidence) -> Explanations:
    """What was rated, without the ratings."""
    names = asked.techniques.names
    of_each = [""] * len(data) if asked.technique is None else [names[i] for i in asked.technique]
    clusters = asked.samples.clusters
    return Explanations(
        data.shown, of_each, np.arange(len(data)) if clusters is None else clusters, data.numbers
    )


def table_of(
    asked: RatingEvidence, rated: RatedExplanations, found: Mapping[str, list[np.ndarray]]
) -> dict[str, list[object]]:
    """Each explanation with what people said and what each score expects, with the first seed."""
    columns: dict[str, list[object]] = {
        "explanation": [asked.samples.name(row) for row in range(len(asked))],
        "rating": _plain(rated.low + rated.targets * (rated.high - rated.low)),
    }
    return columns | {f"predicted by {name}": _plain(seeds[0]) for name, seeds in found.items()}


def _plain(values: np.ndarray) -> list[object]:
    return [None if np.isnan(value) else float(value) for value in values]


def mean_known(
    seeds: Sequence[Float[np.ndarray, " explanations"]],
) -> Float[np.ndarray, " explanations"]:
    """The mean over the seeds that had an explanation in their test; NaN if none had."""
    values = np.stack(seeds)
    known = ~np.isnan(values)
    sums, n = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    return np.asarray(np.divide(sums, n, out=np.full(len(sums), np.nan), where=n > 0))
