"""Word what practice items and checks ask for, with the numbers that questions have on the page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Views = Sequence[Mapping[str, Any]]
Translate = Callable[[str], str]


def number_questions(views: Views) -> list[dict[str, Any]]:
    """Return blocks with the numbers under which a page shows its ratings, 1 to k."""
    numbered, number = [], 0
    rated = sum(view["kind"] == "likert" for view in views)
    for view in views:
        number += view["kind"] == "likert"
        own = number if rated > 1 and view["kind"] == "likert" else None
        numbered.append({**view, "number": own})
    return numbered


def describe_task(task: Mapping[str, Any] | None, views: Views, _: Translate) -> str:
    """Return what an item asks for, in the participant's language; empty if nothing.

    Args:
        task: Task of the explanation.
        views: Blocks of the page with ratings, numbered.
        _: Translates a text of ours.
    """
    if not task:
        return ""
    if "instruction" in task:
        return str(task["instruction"])
    if task["kind"] == "frame":
        sentence = _("Please draw one frame around the whole object: {object}.")
        return sentence.replace("{object}", str(task["object"]))
    question = _name_question(task["question"], views, _)
    if task["kind"] == "pair":
        return _("Look closely at the two explanations of {question}.").replace(
            "{question}", question
        )
    sentence = _("Please give {question} the rating {rating}, whatever you think of it.")
    return sentence.replace("{rating}", str(task["rating"])).replace("{question}", question)


def describe_feedback(
    task: Mapping[str, Any] | None, views: Views, _: Translate, written: str
) -> str:
    """Return why an answer to a practice item is right."""
    if not task or "kind" not in task:
        return written
    if task["kind"] == "frame":
        sentence = _("A good frame holds the whole object and little else: {object}.")
        return sentence.replace("{object}", str(task["object"]))
    question = _name_question(task["question"], views, _)
    if task["kind"] == "pair":
        sentence = _("Both explanations are the same, so the answer to {question} is 1.")
        return sentence.replace("{question}", question)
    sentence = _("The item asked for the rating {rating} in {question}.")
    return sentence.replace("{rating}", str(task["rating"])).replace("{question}", question)


def _name_question(name: str, views: Views, _: Translate) -> str:
    """Return number and words of a question: question 1 (“…”)."""
    for view in views:
        if view["name"] == name:
            if view["number"] is None:
                return _("the question “{words}”").replace("{words}", view["ask"])
            numbered = _("question {number} (“{words}”)").replace("{number}", str(view["number"]))
            return numbered.replace("{words}", view["ask"])
    return _("the question")
