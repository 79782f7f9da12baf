"""The six questions, and the kinds of evidence that each is usually asked of."""

from typing import Literal

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
    "detects": ("unit", "token", "judgment"),
    "accepted": ("rating",),
}
"""By kind, the usual one first: what a question that was not asked is said to need. The order is
declared here, so that a package that is installed changes nobody's sentences."""
