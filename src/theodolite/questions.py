"""The six questions."""

from typing import Literal

Question = Literal["exists", "located", "leaks", "faithful", "detects", "accepted"]
QUESTIONS: dict[Question, str] = {
    "exists": "Is the named concept in the input?",
    "located": "Does the model look where the concept is?",
    "leaks": "Are the concepts free of what they should not carry?",
    "faithful": "Do concepts and importances add up to the output?",
    "detects": "Does a unit detect the concept?",
    "accepted": "Would people agree?",
}
