"""What is kept of votes and predictions beside the evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.evidence.axes import Measures
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite_reproductions.acceptance.features import Explanations
from theodolite_reproductions.acceptance.models import RatedExplanations


def votes_name(data: VotedExplanations, question: str) -> str:
    """A set of votes; its question is named where there are several."""
    return f"{data.name}: {question}" if len(data.questions) > 1 else data.name


def with_numbers(data: VotedExplanations, evidence: RatingEvidence) -> RatingEvidence:
    """Votes with what else is known of the explanations, to be held against them."""
    if not data.numbers:
        return evidence
    columns = np.stack([np.asarray(column, float) for column in data.numbers.values()], axis=1)
    varied = [i for i in range(columns.shape[1]) if len(np.unique(columns[:, i])) > 1]
    if not varied:
        return evidence
    names = list(data.numbers)
    return replace(
        evidence, measured=columns[:, varied], measures=Measures(tuple(names[i] for i in varied))
    )


def words_of(data: VotedExplanations) -> dict[str, list[object]]:
    """What was explained and how, where it was in words."""
    if not any(explanation.text for explanation in data.explanations):
        return {}
    return {
        "context": [explanation.context for explanation in data.explanations],
        "text": [explanation.text for explanation in data.explanations],
    }


def explanations_of(data: VotedExplanations, evidence: RatingEvidence) -> Explanations:
    """What was rated, without the ratings."""
    names = evidence.techniques.names
    of_each = (
        [""] * len(data) if evidence.technique is None else [names[i] for i in evidence.technique]
    )
    clusters = evidence.samples.clusters
    return Explanations(
        data.explanations,
        of_each,
        np.arange(len(data)) if clusters is None else clusters,
        data.numbers,
    )


def table_of(
    evidence: RatingEvidence,
    rated: RatedExplanations,
    predictions_by_model: Mapping[str, list[np.ndarray]],
) -> dict[str, list[object]]:
    """Each explanation with what people said and what each score expects, with the first seed."""
    columns: dict[str, list[object]] = {
        "explanation": [evidence.samples.name(row) for row in range(len(evidence))],
        "rating": _nan_to_none(rated.low + rated.targets * (rated.high - rated.low)),
    }
    return columns | {
        f"predicted by {name}": _nan_to_none(seeds[0])
        for name, seeds in predictions_by_model.items()
    }


def _nan_to_none(values: np.ndarray) -> list[object]:
    return [None if np.isnan(value) else float(value) for value in values]


def mean_known(
    seeds: Sequence[Float[np.ndarray, " explanations"]],
) -> Float[np.ndarray, " explanations"]:
    """The mean over the seeds that had an explanation in their test; NaN if none had."""
    values = np.stack(seeds)
    known = ~np.isnan(values)
    sums, n = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    return np.asarray(np.divide(sums, n, out=np.full(len(sums), np.nan), where=n > 0))
