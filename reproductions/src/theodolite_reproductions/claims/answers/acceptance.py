"""Answers to entries of kazmierczak2024 from scores that were learned from votes at hand."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import ComparedFile, ScoreRecord, ScoresFile, numbers
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.answers.printed_statistics import (
    SignedEffect,
    correlation_p,
    student,
    welch_of,
)
from theodolite_reproductions.claims.power import detectable_correlation
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove
from theodolite_reproductions.findings.leakage import FindingsFile
from theodolite_reproductions.findings.vote_correlations import (
    VoteCorrelationRow,
    VoteCorrelationsRecord,
)

AGREEMENT, CORRELATION = "predicted_rating_agreement", "predicted_rating_correlation"
PERSON = "rater_agreement"
DEFAULT, OWN_WORDS, RATED_WORDS = "default", "people's own", "saliency of words"
VOTES = "on explanations in words"
VARIANTS = {
    "mean-label": ("P004-AB-01", "mode minus mean"),
    "with-label": ("P004-AB-02", "embedding minus embedding and label"),
    "svm": ("P004-AB-03", "linear minus SVM"),
    "ridge": ("P004-AB-03", "linear minus ridge"),
    "lasso": ("P004-AB-03", "linear minus lasso"),
    "mlp": ("P004-AB-03", "linear minus MLP"),
}
"""Scores that are tested on the same explanations as the default, where a run has them."""
Runs = Float[np.ndarray, " runs"]


@dataclass(frozen=True)
class LearnedScores:
    """Scores of a run by the name of what they are of."""

    by_name: Mapping[str, list[ScoreRecord]]

    @classmethod
    def read(cls, folder: Path) -> "LearnedScores":
        """Of the first score, of those beside it, and of votes from which nothing was learned."""
        first = read_record(folder / "scores.json", ScoresFile).scores
        models = read_record(folder / "compared.json", ComparedFile).models
        by_name = {str(model.about.get("votes", model.name)): model.scores for model in models}
        return cls({DEFAULT: first} | by_name)

    def one(self, name: str, metric: str, **options: str) -> ScoreRecord:
        """The score with these options; of votes, whose name contains this one."""
        chosen = [
            score
            for own, scores in self.by_name.items()
            if own == name or (own not in VARIANTS and name in own)
            for score in scores
            if score.metric == metric and options.items() <= score.options.items()
        ]
        if len(chosen) != 1:
            raise UnsafeInputError("scores", f"{len(chosen)} {metric} of {name!r}", "just one")
        return chosen[0]

    def runs(self, name: str, metric: str = AGREEMENT) -> Runs:
        """The score in each run."""
        return numbers(self.one(name, metric).per_seed)


def variant_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Variants of a learned score; the headline is the paper's own tables."""
    scores = LearnedScores.read(folder)
    return [*_variants(scores), *_between(scores)], []


def own_words_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """People's own words, ties of the mode, and a rank correlation as it is printed."""
    scores = LearnedScores.read(folder)
    return list(_own_words(folder)), [*_ties(scores), _with_p_value(scores)]


def _cell(label: str) -> dict[str, str]:
    return {"votes": VOTES, "difference": label}


def _variants(scores: LearnedScores) -> Iterator[EntryAnswer]:
    default = scores.runs(DEFAULT)
    for name, (entry, label) in VARIANTS.items():
        if name not in scores.by_name:
            continue
        other = scores.runs(name)
        effect = student(default - other, "runs")
        ours = {"kappa": float(default.mean()), "taken off": float(other.mean())}
        yield effect.answer(entry, _cell(label), ours, nearest=False)
        if name == "with-label":
            yield effect.answer("P004-F0-15", _cell(label), ours, nearest=False)


def _between(scores: LearnedScores) -> Iterator[EntryAnswer]:
    """A person, the score, words counted; no restriction and new questions."""
    default, words, free = (scores.runs(name) for name in (DEFAULT, "words-only", "no-restriction"))
    person = scores.one(DEFAULT, PERSON)
    value = math.nan if person.value is None else person.value
    effects: dict[tuple[str, str], SignedEffect] = {
        ("P004-F0-13", "person minus scorer"): student(value - default, "runs"),
        ("P004-F0-13", "scorer minus features"): student(default - words, "runs"),
        ("P004-F0-14", "none minus question"): welch_of(free, default, "runs"),
    }
    for (entry, label), effect in effects.items():
        yield effect.answer(entry, _cell(label), {}, nearest=False)


def _correlations(folder: Path) -> list[VoteCorrelationRow]:
    records = read_record(folder / "findings.json", FindingsFile).findings
    return [row for record in records if isinstance(record, VoteCorrelationsRecord)
            for row in record.rows]  # fmt: skip


def _own_words(folder: Path) -> Iterator[EntryAnswer]:
    for row in _correlations(folder):
        if OWN_WORDS not in row.votes or None in (row.r, row.low, row.high):
            continue
        nearest = (row.measure, row.method) == ("rouge_1", "pearson")
        yield EntryAnswer(
            entry="P004-F0-09", nearest=nearest, effect=row.r, low=row.low, high=row.high, p=row.p,
            unit="explanations, questions as clusters", n=row.n,
            min_detectable_effect=detectable_correlation(row.n), ours={"r": row.r},
            settings={"votes": VOTES, "measure": row.measure, "coefficient": row.method},
        )  # fmt: skip


def _ties(scores: LearnedScores) -> Iterator[OptionMove]:
    """A person's agreement with the mode, on ratings from 1 to 7."""
    for own in ("left out", "included"):
        lowest, median = (
            scores.one(RATED_WORDS, PERSON, own=own, ties=ties) for ties in ("lowest", "median")
        )
        if lowest.value is None or median.value is None:
            continue
        value = median.value - lowest.value
        # as if of other votes, which is too wide: both are of the same
        half = math.hypot(_half(lowest), _half(median))
        yield OptionMove(
            option="P004-O-01", entry="P004-F0-13", before=f"lowest, own vote {own}",
            after=f"median, own vote {own}", value=value, low=value - half, high=value + half,
        )  # fmt: skip


def _half(score: ScoreRecord) -> float:
    return math.nan if score.interval is None else (score.interval.high - score.interval.low) / 2


def _with_p_value(scores: LearnedScores) -> OptionMove:
    """The rank correlation of the learned score, and its mean with its p-value."""
    score = scores.one(DEFAULT, CORRELATION)
    if score.value is None or score.interval is None:
        raise UnsafeInputError("scores", "no rank correlation", "one with its interval")

    def change(r: float) -> float:
        return (correlation_p(r, score.n) - r) / 2

    return OptionMove(
        option="P004-O-02", entry="P004-T3-03", before="coefficient", after="as printed",
        value=change(score.value), low=change(score.interval.high),
        high=change(score.interval.low),
    )  # fmt: skip
