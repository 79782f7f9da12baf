"""A report asks what applies to its kind of explanation, and nothing else."""

import re
from pathlib import Path

import pytest

import theodolite
from theodolite._planted.attributions import planted_attributions
from theodolite._planted.concepts import planted_concepts
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite._planted.tokens import planted_tokens
from theodolite._planted.units import planted_units
from theodolite._verdicts.words import not_evaluated_text
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, QUESTIONS_BY_KIND, applicable_questions

PLANTED = {
    "concept": planted_concepts, "attribution": planted_attributions,
    "saliency": planted_saliency, "unit": planted_units, "rating": planted_ratings,
    "token": planted_tokens,
}  # fmt: skip
DECIDING = [metric for metric in catalogue().values() if metric.decides]


def words(kind: str) -> set[str]:
    """How questions are worded for a kind of evidence, and how in general."""
    own = applicable_questions([kind])
    texts = {m.asked_as or QUESTIONS[m.question] for m in DECIDING if m.needs.kind == kind}
    return texts | {QUESTIONS[question] for question in own}


@pytest.mark.parametrize("kind", PLANTED)
def test_report_asks_only_questions_that_apply(kind: str, tmp_path: Path) -> None:
    result = theodolite.audit(PLANTED[kind](40), resamples=20)
    own = list(applicable_questions([kind]))
    assert [verdict.question for verdict in result.verdicts] == own
    page = result.report(tmp_path / "report.html").read_text()
    text = re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))
    strange = {text for other in QUESTIONS_BY_KIND for text in words(other)} - words(kind)
    for pages in (text, result._repr_html_(), not_evaluated_text(result.verdicts)):
        assert not [question for question in strange if question in pages]
        assert pages.lower().count("not evaluated") <= 1
    if kind != "rating":
        assert "Would people agree?" not in text


def test_arguments_that_are_missing_are_named_once() -> None:
    result = theodolite.audit(planted_concepts(40), resamples=20)
    assert not_evaluated_text(result.verdicts) == (
        "Not evaluated: located (pass maps=, masks=); faithful (pass outputs=); "
        "accepted (pass ratings=)."
    )
    chosen = theodolite.audit(planted_concepts(40), resamples=20, questions=["exists"])
    assert "leak_free, faithful, accepted (not among `questions`)" in not_evaluated_text(
        chosen.verdicts
    )


def test_kinds_together_ask_the_questions_of_both() -> None:
    assert list(applicable_questions(["concept", "unit"])) == list(QUESTIONS)
    assert list(applicable_questions(["of another package"])) == []
    assert list(applicable_questions([])) == list(QUESTIONS)
