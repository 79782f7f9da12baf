"""The first screen: whether to rely on it, how many questions it fails, and each in a sentence."""

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pytest

import theodolite
from theodolite._verdicts.bottom_line import RELY, bottom_line, reliance
from theodolite._verdicts.leakage import JOINT
from theodolite.evidence.subject import Outputs, Subject, make_unstated_subject
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, Question
from theodolite.report.head import card
from theodolite.report.sentences import sentence, with_noun
from theodolite.results import Answer, Interval, Null, Score, Verdict

GIVEN = make_unstated_subject()
METRIC = {
    "exists": "concept_existence", "located": "concept_location",
    "leak_free": "joint_task_leakage", "faithful": "surrogate_distance",
    "detects": "unit_iou", "accepted": "acceptance",
}  # fmt: skip


def score_of(metric: str, value: float, null: float, away: tuple[float, float]) -> Score:
    """A score with an interval of a tenth, and how far it surely is from its null."""
    entry = catalogue()[metric]
    interval = Interval(value - 0.05, value + 0.05, 0.95, "samples", "", 10)
    options = entry.options() | entry.headline
    difference = Interval(*away, 0.95, "samples", "", 10)
    return Score(metric, entry.version, entry.question, value, entry.better, entry.bounds,
                 entry.bounds[1] if entry.better == "higher" else max(entry.bounds[0], 0.0), 100, 0,
                 "samples", options=options, intervals=(interval,),
                 nulls=(Null("always the same", null, difference),))  # fmt: skip


def answers_to(answers: dict[Question, Answer]) -> list[Verdict]:
    """Verdicts on all six questions, in their order."""
    return [
        Verdict(q, asks, answers.get(q, "not_evaluated"), "Needs `values`.",
                score_of(METRIC[q], 0.5, 0.2, (0.2, 0.4)) if q in answers else None)
        for q, asks in QUESTIONS.items()
    ]  # fmt: skip


def test_it_says_what_to_do_and_counts() -> None:
    three = answers_to({"exists": "no", "located": "no", "leak_free": "no", "faithful": "partly"})
    assert reliance(three) == (
        "no",
        "Do not rely on it.",
        "It fails three of four questions and passes one in part.",
    )
    assert reliance(answers_to({"faithful": "no", "accepted": "yes"}))[2] == (
        "It fails one of two questions and passes one."
    )
    assert reliance(answers_to({"exists": "yes"})) == (
        "yes",
        "Rely on it.",
        "It passes the one question that was evaluated.",
    )
    unsure = reliance(answers_to({"exists": "inconclusive", "located": "inconclusive"}))
    assert unsure[1:] == (
        "The evidence is inconclusive.",
        "The answers to both questions are inconclusive.",
    )
    half = reliance(answers_to({"exists": "inconclusive", "located": "yes"}))
    assert half[1:] == (
        "Rely on it in part.",
        "It passes one of two questions. One is inconclusive.",
    )
    assert reliance(answers_to({})) == ("", "No question could be answered.", "")
    assert bottom_line(answers_to({})) == "No question could be answered."


@pytest.mark.parametrize(
    "answers", list(product(["yes", "partly", "no", "inconclusive", "not_evaluated"], repeat=3))
)
def test_the_worst_answer_decides(answers: tuple[Answer, ...]) -> None:
    asked: dict[Question, Answer] = {
        q: a
        for q, a in zip(("exists", "leak_free", "accepted"), answers, strict=True)
        if a != "not_evaluated"
    }
    worst, rely, counts = reliance(answers_to(asked))
    assert rely == RELY[worst]
    assert (worst == "no") == ("no" in answers)
    assert (worst == "yes") == (bool(asked) and set(asked.values()) == {"yes"})
    assert ("fail" in counts) == ("no" in answers)
    assert "not evaluated" not in counts


def deciding() -> list[str]:
    """Metrics whose score alone decides; of leakage, cards quote the verdict."""
    return [name for name, m in catalogue().items() if m.decides and name != JOINT]


@pytest.mark.parametrize("name", deciding())
def test_every_score_that_decides_has_a_sentence(name: str) -> None:
    entry = catalogue()[name]
    says = entry.card.template
    for field in ("{value}", "{low}", "{high}", "{null}"):
        assert field in says, field
    if entry.threshold is not None or entry.is_defect_metric:
        assert "{enough}" in says
    assert name not in says and entry.title not in says, "no names of metrics"
    score = score_of(name, 0.5, 0.2, (0.2, 0.4))
    told = str(sentence(Verdict(entry.question, "?", "yes", "", score), "elements"))
    assert told.endswith(".") and "{" not in told and "always the same" in told
    assert "<b>50.0\u00a0%</b>" in told or "<b>0.50</b>" in told
    assert "concepts" not in told, "the data set's own word"


def test_card_of_leakage_quotes_the_concept_that_decided() -> None:
    random = np.random.default_rng(0)
    truth = random.random((200, 3)) < 0.4
    labels = truth[:, 0] + 2 * truth[:, 1]  # settled by the true concepts
    values = truth + random.normal(scale=0.4, size=truth.shape)
    values[:, 2] += labels
    result = theodolite.audit_concepts(
        values, truth, labels, questions=["leak_free"], resamples=20, names=["a", "b", "leaking"]
    )
    verdict = next(v for v in result.verdicts if v.answer == "no")
    told = str(sentence(verdict)).replace("\u00a0", " ")
    assert "The value of leaking tells" in told and "Drawn: mean over concepts" in told


def test_card_says_what_lowered_an_answer() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4))
    evidence = theodolite.AttributionEvidence(
        values=rows, inputs=rows, background=np.zeros((1, 4)), base=1.0,
        respond=lambda table: table.sum(axis=1),
    )  # fmt: skip
    result = theodolite.audit(evidence, resamples=20)
    (verdict,) = (v for v in result.verdicts if v.question == "faithful")
    assert verdict.answer == "partly" and "another model" in str(sentence(verdict))


def test_a_sure_difference_is_told_where_the_interval_holds_the_null() -> None:
    near = score_of("concept_existence", 0.30, 0.27, (0.009, 0.052))
    told = str(sentence(Verdict("exists", "?", "partly", "", near)))
    assert "3.0 points better (0.9 to 5.2)" in told
    worse = score_of("surrogate_distance", 0.30, 0.28, (0.004, 0.04))
    assert "2.0 points worse (0.4 to 4.0)" in str(
        sentence(Verdict("faithful", "?", "no", "", worse))
    )
    unsure = score_of("concept_existence", 0.30, 0.27, (-0.01, 0.07))
    assert "points" not in str(sentence(Verdict("exists", "?", "no", "", unsure)))
    far = score_of("concept_existence", 0.50, 0.27, (0.2, 0.26))
    assert "points" not in str(sentence(Verdict("exists", "?", "partly", "", far)))


def test_what_cannot_be_told_says_why() -> None:
    score = score_of("concept_existence", 0.30, 0.27, (-0.2, 0.3))
    verdict = Verdict(
        "exists", "?", "inconclusive", "30.0 % [25.0, 35.0], from 4 clusters: too few.", score
    )
    assert "too few" in sentence(verdict)


def test_only_faithful_names_its_reference() -> None:
    verdicts = answers_to({"exists": "no", "faithful": "no"})
    by_question = {v.question: card(v, GIVEN) for v in verdicts if v.score is not None}
    assert by_question["faithful"]["reference"] == "The reference is the outputs you gave."
    assert by_question["exists"]["reference"] == ""
    for outputs in get_args(Outputs):
        reference = Subject("maps", "resnet18", outputs).reference
        assert bool(reference) == (outputs != "none")


def test_names_are_escaped_and_nouns_are_the_data_sets() -> None:
    score = score_of("concept_existence", 0.5, 0.2, (0.2, 0.4))
    evil = replace(score, nulls=(replace(score.nulls[0], name="<script>"),))
    assert "<script>" not in sentence(Verdict("exists", "?", "yes", "", evil))
    assert with_noun("Are concepts there?", "attributes") == "Are attributes there?"
    drawn = card(Verdict("exists", QUESTIONS["exists"], "yes", "", score), GIVEN, "elements")
    assert "element" in drawn["asks"] and drawn["strip"] and drawn["method"]
    assert score.metric in drawn["hint"]
