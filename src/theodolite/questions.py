"""The six questions."""

from typing import Literal

Question = Literal["exists", "located", "leak_free", "faithful", "detects", "accepted"]
QUESTIONS: dict[Question, str] = {
    "exists": "Is the named concept in the input?",
    "located": "Does the explanation look where the concept is?",
    "leak_free": "Are the concepts free of what they should not carry?",
    "faithful": "Do concepts and importances add up to the output?",
    "detects": "Does a unit detect the concept?",
    "accepted": "Would people agree?",
}
