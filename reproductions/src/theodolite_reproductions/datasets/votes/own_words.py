"""Explanations in words beside what people wrote themselves of the same question."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite_reproductions.datasets.votes.text import FINE, text_acceptability, text_quality
from theodolite_reproductions.datasets.votes.word_overlap import overlaps

WRITTEN_BY_PEOPLE = ("cose", "ecqa", "esnli")
"""Sources of explanations that people wrote."""


def text_own_words(root: Path) -> VotedExplanations:
    """Votes on explanations of a language model where people explained the same question.

    Read from the files of ``text_acceptability`` and ``text_quality``. Numbers of each explanation
    are ROUGE-1, ROUGE-L and BLEU against people's words, the likest of those that people wrote.
    """
    votes, quality = text_acceptability(root), text_quality(root)
    written = _written(quality)
    keep = [
        row for row, explanation in enumerate(votes.explanations) if explanation.context in written
    ]
    if not keep:
        raise UnsafeInputError("votes", "no question that people explained", f"one of {list(FINE)}")
    explanations = tuple(votes.explanations[row] for row in keep)
    table = np.array(
        [overlaps(explanation.text, written[explanation.context]) for explanation in explanations],
        np.float64,
    )
    evidence = _of_rows(votes.questions["acceptable"], np.array(keep))
    return replace(
        votes, name="explanations in words beside people's own",
        questions={"acceptable": evidence}, explanations=explanations,
        numbers=dict(zip(("rouge_1", "rouge_l", "bleu"), table.T, strict=True)),
        tables=(*votes.tables, *quality.tables),
    )  # fmt: skip


def _of_rows(evidence: RatingEvidence, rows: Int[np.ndarray, " rows"]) -> RatingEvidence:
    ids, clusters = evidence.samples.ids, evidence.samples.clusters
    if ids is None or clusters is None or evidence.technique is None:
        raise UnsafeInputError("votes", "no names, questions or sources", "all three")
    return replace(
        evidence, ratings=evidence.ratings[rows], technique=evidence.technique[rows],
        samples=Samples(ids=ids[rows], clusters=clusters[rows]),
    )  # fmt: skip


def _written(quality: VotedExplanations) -> Mapping[str, list[str]]:
    evidence = quality.questions["acceptable"]
    if evidence.technique is None:
        raise UnsafeInputError("votes", "no source of explanations", "who wrote each")
    by_context: dict[str, list[str]] = {}
    for explanation, number in zip(quality.explanations, evidence.technique, strict=True):
        if evidence.techniques.names[number] in WRITTEN_BY_PEOPLE:
            by_context.setdefault(explanation.context, []).append(explanation.text)
    return by_context
