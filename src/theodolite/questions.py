"""The six questions, the kinds of evidence that each is usually asked of, and those that apply."""

from collections.abc import Collection, Mapping
from typing import Literal

Question = Literal["exists", "located", "leak_free", "faithful", "detects", "accepted"]
QUESTIONS: dict[Question, str] = {
    "exists": "Is the named concept in the input?",
    "located": "Does each concept's map mark the concept?",
    "leak_free": "Do the concepts carry only what their names say?",
    "faithful": "Do the concepts and their weights reproduce the output?",
    "detects": "Does a unit detect the concept?",
    "accepted": "Would people agree?",
}
USUAL_KINDS: dict[Question, tuple[str, ...]] = {
    "exists": ("concept", "edit", "token"),
    "located": ("location", "saliency", "token"),
    "leak_free": ("concept", "embedding", "intervention", "edit", "token"),
    "faithful": ("surrogate", "saliency", "edit", "token", "attribution"),
    "detects": ("unit", "token", "judgment"),
    "accepted": ("rating",),
}
"""By kind, the usual one first: what a question that was not asked is said to need. The order is
declared here, so that a package that is installed changes nobody's sentences."""

_CONCEPTS: dict[Question, str] = {
    "exists": "truth=",
    "located": "maps=, masks=",
    "leak_free": "labels=",
    "faithful": "outputs=",
    "accepted": "ratings=",
}
QUESTIONS_BY_KIND: Mapping[str, Mapping[Question, str]] = {
    "concept": _CONCEPTS,
    "location": _CONCEPTS,
    "embedding": _CONCEPTS,
    "intervention": _CONCEPTS,
    "surrogate": _CONCEPTS,
    "edit": _CONCEPTS,
    "attribution": {"faithful": "model=, background=", "accepted": "ratings="},
    "saliency": {"located": "masks=", "faithful": "model=, images=", "accepted": "ratings="},
    "unit": {"detects": "masks="},
    "judgment": {"detects": "answer="},
    "rating": {"accepted": "ratings="},
    "token": {
        "exists": "truth=",
        "located": "rationale=, relevance=",
        "faithful": "importance=, effect=",
    },
}
"""By kind of evidence the questions that apply, each with the arguments that it needs."""


def applicable_questions(kinds: Collection[str]) -> dict[Question, str]:
    """Return the questions that apply to kinds of evidence, with the arguments that each needs.

    All of them, without arguments, if there is no kind.

    >>> applicable_questions(["attribution"])
    {'faithful': 'model=, background=', 'accepted': 'ratings='}
    """
    known = {q: text for kind in kinds for q, text in QUESTIONS_BY_KIND.get(kind, {}).items()}
    return {q: known.get(q, "") for q in QUESTIONS if q in known or not kinds}
