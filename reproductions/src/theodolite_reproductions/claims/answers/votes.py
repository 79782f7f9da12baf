"""Answers to entries of kazmierczak2024 from votes of people; scripted votes answer nothing."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import ComparedFile, ScoreRecord
from theodolite.errors import UnsafeInputError
from theodolite.evidence.technique_columns import QUALITIES, QUESTIONS, SCRIPTED
from theodolite_reproductions.claims.answers.bottleneck_scores import COMPARED
from theodolite_reproductions.claims.answers.printed_statistics import SignedEffect, student
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove
from theodolite_reproductions.findings.leakage import read_findings
from theodolite_reproductions.findings.techniques.components import NETWORK_OVER_METHOD
from theodolite_reproductions.findings.techniques.record import TechniqueRow, TechniquesVotesRecord

FROM = "votes"
NUMBERS = {
    "removal (ROAD)": ("P004-T1-01", "P004-F0-06", 1),
    "removal (black)": ("P004-T1-02", "P004-F0-06", 1),
    "removal (uniform noise)": ("P004-T1-03", "P004-F0-06", 1),
    "removal (Gaussian noise)": ("P004-T1-04", "P004-F0-06", 1),
    "sensitivity (uniform noise)": ("P004-T9-01", "P004-F0-07", -1),
    "sensitivity (Gaussian noise)": ("P004-T9-02", "P004-F0-07", -1),
    "sparseness": ("P004-T10-01", None, -1),
}
"""Columns of scores: the entries that they decide, and the sign of the claim."""
CLAIMED = {-1: QUESTIONS[:4], 1: QUESTIONS}
"""Questions that a claim is about: what speaks against liking a map is said of Q1 to Q4."""
DEFAULT = "paper"
VARIANTS = {
    "P004-AB-01": ("label-median", "label-mean"), "P004-AB-02": ("with-label",),
    "P004-AB-03": ("svm", "ridge", "lasso", "mlp"), "P004-AB-04": ("masked",),
    "P004-AB-05": ("words-5", "words-10", "words-15", "words-25", "words-30"),
    "P004-AB-06": ("weighted", "template"), "P004-AB-07": ("llava",),
}  # fmt: skip
"""Tables 15 to 20: names of compared scores."""
HARDLY = ("P004-AB-02", "P004-AB-04", "P004-AB-05", "P004-AB-06")
TABLES_3 = {"P004-T3-01": "predicted_rating_error", "P004-T3-02": "predicted_rating_agreement",
            "P004-T3-03": "predicted_rating_correlation"}  # fmt: skip
KAPPA = "predicted_rating_agreement"


def vote_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What a run on votes says of kazmierczak2024, cell by cell; refused if nobody voted."""
    records = [r for r in read_findings(folder) if isinstance(r, TechniquesVotesRecord)]
    if any(record.source == SCRIPTED for record in records):
        raise UnsafeInputError(f"run {folder.name!r}", f"votes by {SCRIPTED}", "votes of people")
    answers = [answer for record in records for answer in technique_answers(record)]
    answers += learned_answers({
        model.name: model.scores for model in read_record(folder / COMPARED, ComparedFile).models
    })  # fmt: skip
    return answers, []


def technique_answers(record: TechniquesVotesRecord) -> Iterator[EntryAnswer]:
    """Claims about techniques and their votes."""
    for row in record.rows("modality_contrast"):
        if row.names["of"] in QUALITIES:
            cell = {"from": FROM, "quality": row.names["of"]}
            yield from _answer("P004-F0-01", row, cell, nearest=row.names["of"] == "fidelity")
    for row in record.rows("network_contrast", of="fidelity"):
        first, _, second = row.names["contrast"].partition(" minus ")
        if "ResNet50" in (first, second):
            sign, other = (1, second) if first == "ResNet50" else (-1, first)
            nearest = other.startswith("others than")
            yield from _answer(
                "P004-F0-02", row, {"from": FROM, "minus": other}, sign, nearest=nearest
            )
    for row in record.rows("liked"):
        yield EntryAnswer(
            entry="P004-F0-03", settings={"from": FROM}, nearest=True, effect=row.value,
            low=row.low, high=row.high, unit=row.unit, n=row.units,
        )  # fmt: skip
    for row in record.rows("method_contrast", contrast="EigenCAM minus other maps", of="fidelity"):
        yield from _answer("P004-F0-04", row, {"from": FROM}, nearest=True)
    for row in record.rows("components", component=NETWORK_OVER_METHOD):
        cell = {"from": FROM, "question": row.names["question"]}
        yield from _answer("P004-F0-05", row, cell, nearest=row.names["question"] == "Q1")
    yield from _number_answers(record)
    yield from _question_answers(record)
    yield from _means(record)


def _question_answers(record: TechniquesVotesRecord) -> Iterator[EntryAnswer]:
    """Questions among each other, against words, and between groups of people."""
    for row in record.rows("questions_together"):
        cell = {"from": FROM, "over": row.names["over"]}
        yield from _answer("P004-F0-08", row, cell, nearest=row.names["over"] == "all")
    for row in record.rows("words"):
        cell = {"from": FROM, "measure": row.names["measure"], "question": row.names["question"]}
        nearest = (row.names["measure"], row.names["question"]) == ("rouge_1", "Q1")
        yield from _answer("P004-F0-09", row, cell, nearest=nearest)
    for row in record.rows("agreement", question="Q1"):
        if " minus " in row.names["group"]:
            cell = {"from": FROM, "band": row.names["band"], "groups": row.names["group"]}
            yield from _answer("P004-F0-10", row, cell, nearest=False)


def _number_answers(record: TechniquesVotesRecord) -> Iterator[EntryAnswer]:
    """Tables 1, 9 and 10, over all explanations, within techniques and between their means."""
    for name, (table, claim, sign) in NUMBERS.items():
        for row in record.rows("numbers", number=name):
            question, over, method = (row.names[n] for n in ("question", "over", "method"))
            if question not in CLAIMED[sign]:
                continue
            cell = {"from": FROM, "question": question, "over": over, "coefficient": method}
            nearest = (question, over, method) == ("Q1", "all", "pearson")
            yield from _answer(table, row, cell, sign, nearest=nearest)
            if claim and method == "pearson":
                first = nearest and name in ("removal (ROAD)", "sensitivity (uniform noise)")
                yield from _answer(claim, row, {**cell, "number": name}, sign, nearest=first)


def _means(record: TechniquesVotesRecord) -> Iterator[EntryAnswer]:
    """Figures beside the printed ones: Tables 11, 12, 13 and 14."""
    for entry, table, kind in (("P004-T12-01", "technique", "technique"),
                               ("P004-T12-02", "modality", "modality"),
                               ("P004-T11-01", "scores", "technique")):  # fmt: skip
        for name in dict.fromkeys(row.names[kind] for row in record.rows(table)):
            rows = record.rows(table, **{kind: name})
            ours = {r.names["of"]: r.value for r in rows if not r.names["of"].startswith("Q")}
            yield EntryAnswer(entry=entry, settings={"from": FROM, kind: name}, ours=ours)
    for question, entry in (("Q7", "P004-T13-01"), ("Q8", "P004-T14-01"), ("Q9", "P004-T14-01")):
        if rows := record.rows("rankings", question=question):
            ours = {row.names["item"]: row.value for row in rows}
            yield EntryAnswer(entry=entry, settings={"from": FROM, "question": question}, ours=ours)


def learned_answers(models: Mapping[str, list[ScoreRecord]]) -> list[EntryAnswer]:
    """Claims about scores that are learned from votes: Tables 3, 4 and 15 to 20."""
    by_question = {"Q1": DEFAULT} | {q: q.lower() for q in QUESTIONS[1:]}
    answers = [
        EntryAnswer(entry=entry, settings={"from": FROM, "question": question},
                    ours={"mean over runs": float(np.mean(runs)), "spread": float(np.std(runs))})
        for entry, metric in TABLES_3.items()
        for question, name in by_question.items()
        if len(runs := _runs(models, name, metric))
    ]  # fmt: skip
    for more, less in (("apart-none", DEFAULT), ("apart-none", "apart-technique"),
                       ("apart-technique", DEFAULT)):  # fmt: skip
        label = f"{more} minus {less}"
        nearest = (more, less) == ("apart-none", DEFAULT)
        answers += _difference("P004-F0-14", models, more, less, label, nearest=nearest)
    for entry, names in VARIANTS.items():
        for at, name in enumerate(names):
            label = f"{DEFAULT} minus {name}"
            answers += _difference(entry, models, DEFAULT, name, label, nearest=at == 0)
            if entry in HARDLY:
                first = entry == HARDLY[0] and at == 0
                answers += _difference("P004-F0-15", models, DEFAULT, name, label, nearest=first)
    person = _score(models, DEFAULT, "rater_agreement", own="included")
    learned = _score(models, DEFAULT, KAPPA)
    if person is not None and learned is not None:
        answers += _person(person, learned)
    return answers


def _person(person: ScoreRecord, learned: ScoreRecord) -> Iterator[EntryAnswer]:
    """One person minus the scorer, with errors as if the two were independent."""
    if person.value is None or learned.value is None:
        return
    halves = [
        (score.interval.high - score.interval.low) / 2
        for score in (person, learned) if score.interval is not None
    ]  # fmt: skip
    if len(halves) < 2:
        return
    value, half = person.value - learned.value, math.hypot(*halves)
    row = TechniqueRow(
        names={}, value=value, low=value - half, high=value + half, error=half / 1.96,
        unit="explanations", units=learned.n,
    )  # fmt: skip
    yield from _answer("P004-F0-13", row, {"from": FROM, "question": "Q1"}, nearest=True)


def _difference(
    entry: str, models: Mapping[str, list[ScoreRecord]], more: str, less: str, label: str, *,
    nearest: bool,
) -> Iterator[EntryAnswer]:  # fmt: skip
    """Of two scores' kappas, run by run."""
    first, second = _runs(models, more, KAPPA), _runs(models, less, KAPPA)
    n = min(len(first), len(second))
    if n > 1:
        effect = student(first[:n] - second[:n], "runs")
        yield effect.answer(entry, {"from": FROM, "difference": label}, {}, nearest=nearest)


def _runs(models: Mapping[str, list[ScoreRecord]], name: str, metric: str) -> np.ndarray:
    score = _score(models, name, metric)
    return np.array([] if score is None else [v for v in score.per_seed if v is not None], float)


def _score(
    models: Mapping[str, list[ScoreRecord]], name: str, metric: str, **options: Any
) -> ScoreRecord | None:
    for score in models.get(name, []):
        if score.metric == metric and all(score.options.get(k) == v for k, v in options.items()):
            return score
    return None


def _answer(
    entry: str, row: TechniqueRow, cell: Mapping[str, Any], sign: int = 1, *, nearest: bool
) -> Iterator[EntryAnswer]:
    """A row as an answer, if it has an interval."""
    if row.value is None or row.low is None or row.high is None or not row.error:
        return
    low, high = sorted((sign * row.low, sign * row.high))
    p = float(2 * ndtr(-abs(row.value) / row.error))
    effect = SignedEffect(sign * row.value, low, high, row.error, p, row.units, row.unit)
    yield effect.answer(entry, cell, {"n": row.n}, nearest=nearest)
