"""Explanations in words beside what people wrote themselves of the same question."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from theodolite.datasets.votes.text import FINE, text_acceptability, text_quality
from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.errors import RefusedInput
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.rating import RatingEvidence

WRITTEN_BY_PEOPLE = ("cose", "ecqa", "esnli")
"""Sources of explanations that people wrote."""
WORD = re.compile(r"[a-z0-9']+")
LONGEST = 4
"""Of the runs of words that BLEU counts."""


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
        raise RefusedInput("votes", "no question that people explained", f"one of {list(FINE)}")
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
        raise RefusedInput("votes", "no names, questions or sources", "all three")
    return replace(
        evidence, ratings=evidence.ratings[rows], technique=evidence.technique[rows],
        samples=Samples(ids=ids[rows], clusters=clusters[rows]),
    )  # fmt: skip


def _written(quality: VotedExplanations) -> Mapping[str, list[str]]:
    evidence = quality.questions["acceptable"]
    if evidence.technique is None:
        raise RefusedInput("votes", "no source of explanations", "who wrote each")
    by_context: dict[str, list[str]] = {}
    for explanation, number in zip(quality.explanations, evidence.technique, strict=True):
        if evidence.techniques.names[number] in WRITTEN_BY_PEOPLE:
            by_context.setdefault(explanation.context, []).append(explanation.text)
    return by_context


def overlaps(text: str, references: Sequence[str]) -> tuple[float, float, float]:
    """ROUGE-1, ROUGE-L and BLEU of a text, each against the reference it is likest to.

    >>> overlaps("The cat sat.", ["the cat sat"]), overlaps("a", ["b"])
    ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    """
    words = WORD.findall(text.lower())
    others = [WORD.findall(reference.lower()) for reference in references]
    return (
        max(_f1(sum((Counter(words) & Counter(own)).values()), words, own) for own in others),
        max(_f1(longest_common(words, own), words, own) for own in others),
        max(bleu(words, own) for own in others),
    )


def _f1(common: int, words: Sequence[str], own: Sequence[str]) -> float:
    return 2 * common / (len(words) + len(own)) if words or own else 0.0


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Words in the longest sequence that both have in this order, not in one piece."""
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, start=1):
            here = row[at]
            row[at] = before + 1 if word == other else max(row[at], row[at - 1])
            before = here
    return row[-1]


def bleu(words: Sequence[str], own: Sequence[str]) -> float:
    """Of one sentence: runs of up to four words, counts of longer ones raised by one.

    Where a text is shorter than four words, only shorter runs are counted.
    """
    longest = min(LONGEST, len(words), len(own))
    if not longest:
        return 0.0
    logs = []
    for size in range(1, longest + 1):
        counts, theirs = (
            Counter(tuple(side[i : i + size]) for i in range(len(side) - size + 1))
            for side in (words, own)
        )
        more = int(size > 1)
        share = (sum((counts & theirs).values()) + more) / (sum(counts.values()) + more)
        if not share:
            return 0.0
        logs.append(math.log(share))
    shorter = min(0.0, 1 - len(own) / len(words))
    return math.exp(shorter + sum(logs) / longest)
