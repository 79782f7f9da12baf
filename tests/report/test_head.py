"""The head: one sentence that says what may be relied upon, what not, and what was not asked."""

from dataclasses import replace
from itertools import product

import pytest

from theodolite.questions import QUESTIONS, Question
from theodolite.report.head import BY_VOTES, FOR, bottom_line, card
from theodolite.results import Answer, Interval, Null, Score, Verdict
from theodolite.subject import unstated

GIVEN = unstated()

METRIC = {
    "exists": "concept_existence", "located": "concept_location", "leak_free": "concept_task_leakage",
    "faithful": "surrogate_distance", "detects": "unit_iou", "accepted": "acceptance",
}  # fmt: skip


def found(answers: dict[Question, Answer]) -> list[Verdict]:
    """Verdicts on all six questions, in their order."""
    score = Score("concept_existence", 1, "exists", 0.5, "higher", (0.0, 1.0), 1.0, 10, 0, "samples",
                  intervals=(Interval(0.4, 0.6, 0.95, "samples", "", 10),),
                  nulls=(Null("shuffled", 0.2, None),))  # fmt: skip
    return [
        Verdict(q, asks, answers.get(q, "not asked"), "Needs `values`.",
                replace(score, metric=METRIC[q], question=q) if q in answers else None)
        for q, asks in QUESTIONS.items()
    ]  # fmt: skip


def test_it_says_what_to_do() -> None:
    said = bottom_line(found({"exists": "yes", "located": "no", "leak_free": "partly"}))
    assert said == (
        "Rely on this explanation for which concepts are in the input; only partly for "
        "what its concepts carry; not for where its concepts are. Three of the six questions were not asked."
    )
    assert bottom_line(found({"faithful": "no", "accepted": "yes"})) == (
        "Do not rely on this explanation for what the output is made of. "
        "People accept these explanations. Four of the six questions were not asked."
    )
    assert bottom_line(found({})) == "No question could be asked."


def test_of_edits_only_edits_are_spoken() -> None:
    verdicts = [
        replace(v, score=v.score and replace(v.score, metric="edit_effect_error"))
        for v in found({"faithful": "yes"})
    ]
    assert "for what an edit does to the output" in bottom_line(verdicts)
    faithful = next(v for v in verdicts if v.question == "faithful")
    text = card(faithful, GIVEN)["what"]
    assert text.startswith("The concepts predict what an edit does to") and "make up" not in text


@pytest.mark.parametrize(
    "answers", list(product(["yes", "partly", "no", "cannot tell", "not asked"], repeat=3))
)
def test_no_answer_is_turned_around(answers: tuple[Answer, ...]) -> None:
    asked: dict[Question, Answer] = {
        q: a
        for q, a in zip(("exists", "leak_free", "accepted"), answers, strict=True)
        if a != "not asked"
    }
    said = bottom_line(found(asked))
    first = said.split(". ")[0]
    for question in ("exists", "leak_free"):
        answer = asked.get(question)
        assert (FOR[question] in said) == (answer is not None)
        if answer == "yes":
            assert first.startswith("Rely on") and FOR[question] in first.split("; ")[0]
        if answer in ("no", "partly"):
            part = next(p for p in first.split("; ") if FOR[question] in p)
            part = part.replace("should not carry", "")
            assert ("not" in part.split() or "not for" in part) == (answer == "no")
            assert ("only partly" in part) == (answer == "partly")
    if "accepted" in asked:
        assert BY_VOTES[asked["accepted"]] in said
    assert ("not asked" in said) == bool(asked)


def test_cards_are_full_or_quiet() -> None:
    cards = [card(v, GIVEN) for v in found({"located": "no"})]
    assert [c["question"] for c in cards] == list(QUESTIONS)
    assert cards[1]["word"] == "No" and cards[1]["strip"] and cards[1]["method"]
    assert cards[0]["css"] == "not-asked" and not cards[0]["strip"]
    assert str(cards[0]["because"]) == "Needs <code>values</code>."
