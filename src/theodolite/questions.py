"""The six questions, and the kinds of evidence that each is usually asked of."""

import warnings
from collections.abc import Mapping
from typing import Any, Literal

Question = Literal["exists", "located", "leak_free", "faithful", "detects", "accepted"]
QUESTIONS: dict[Question, str] = {
    "exists": "Is the named concept in the input?",
    "located": "Does the explanation look where the concept is?",
    "leak_free": "Do the concepts carry only what their names say?",
    "faithful": "Do concepts and importances add up to the output?",
    "detects": "Does a unit detect the concept?",
    "accepted": "Would people agree?",
}
USUAL_KINDS: dict[Question, tuple[str, ...]] = {
    "exists": ("concept", "edit", "token"),
    "located": ("location", "saliency", "token"),
    "leak_free": ("concept", "embedding", "intervention", "edit", "token"),
    "faithful": ("surrogate", "saliency", "edit", "token", "attribution"),
    "detects": ("unit", "token", "judgement"),
    "accepted": ("rating",),
}
"""By kind, the usual one first: what a question that was not asked is said to need. The order is
declared here, so that a package that is installed changes nobody's sentences."""
FORMER: dict[str, Question] = {"leaks": "leak_free"}
"""Names of 0.1.0. Only the name changed: in both, yes is the good answer."""


class FormerName(FutureWarning):
    """An old name in a file. Shown by default: it is for whoever wrote the file."""


def question_now(word: Any) -> Any:
    """A question by its name of today: an old name warns, anything else stays what it is."""
    name = FORMER.get(word) if isinstance(word, str) else None
    if name is None:
        return word
    text = (
        f"the question {word!r} is called {name!r} now and means the same: yes is the good answer; "
        "the old name goes in theodolite 0.4"
    )
    warnings.warn(text, FormerName, stacklevel=3)
    return name


def questions_now(content: Any) -> Any:
    """Keys that are questions, by their names of today; both names at once are refused."""
    if not isinstance(content, Mapping):
        return content
    for old, new in FORMER.items():
        if old in content and new in content:
            message = f"{old!r} and {new!r}, which are one question: keep {new!r}"
            raise ValueError(message)
    return {question_now(key): value for key, value in content.items()}
