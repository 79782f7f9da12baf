"""For each explanation and question: how often each answer was given, and what that comes to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.ext.studies import SCALE, RatingEvidence, Table, summary
from theodolite_study.answers import questions_of
from theodolite_study.export_rows import Snapshot
from theodolite_study.vote_tables import rating_evidence

HISTOGRAM = tuple(f"n_{level}" for level in SCALE)
AGGREGATES = (
    "instance", "technique", "picture_key", "question", "n", "mode", "mode_tie", "median", "mean",
    *HISTOGRAM,
)  # fmt: skip


def evidence_of(
    votes: Table, question: str, groups: Mapping[str, str] | None = None
) -> RatingEvidence | None:
    """The counted votes on a question; None if there is none."""
    answered = zip(votes[question], votes["counted"], strict=True)
    if not any(counted and answer is not None for answer, counted in answered):
        return None
    return rating_evidence(votes, question, groups=groups)


def aggregates_table(study: Snapshot, votes: Table) -> dict[str, list[Any]]:
    """A row for each explanation and each question that was asked about it, voted on or not.

    ``mode`` is the lowest of the answers given most often; ``mode_tie`` says that there are
    several. Without a vote there is none of them.
    """
    asked = {
        one.key: questions_of(study.protocol, one) for one in study.material() if one.kind == "real"
    }
    found = {name: _summed(votes, name) for name in study.protocol.questions}
    rows: list[Sequence[Any]] = []
    for row in study.of_kind("real").values():
        for name in asked[row.key]:
            numbers = found[name].get(row.key) or (0, None, None, None, None, *[0] * len(SCALE))
            rows.append((row.key, row.technique, row.picture_key, name, *numbers))
    return {name: [row[at] for row in rows] for at, name in enumerate(AGGREGATES)}


def _summed(votes: Table, question: str) -> dict[str, tuple[Any, ...]]:
    """By instance: n, mode, whether it ties, median, mean, and how often each answer was given."""
    evidence = evidence_of(votes, question)
    if evidence is None:
        return {}
    if evidence.samples.ids is None:
        raise EvidenceError("votes", "no keys", "a key for each explanation")
    found = summary(evidence)
    return {
        str(key): (
            int(found.votes[i]), int(found.mode[i]), bool(found.mode_tie[i]),
            float(found.median[i]), float(found.mean[i]), *found.histogram[i].tolist(),
        )
        for i, key in enumerate(np.asarray(evidence.samples.ids))
        if found.votes[i]
    }  # fmt: skip
