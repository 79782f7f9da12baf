"""Explain in a sentence what a conflict between two questions means for the reader."""

from typing import Literal

from theodolite.evidence.subject import Subject
from theodolite.questions import Question

Level = Literal["explanations", "concepts"]

WORDS: dict[Level, dict[Question, tuple[str, str]]] = {
    "explanations": {
        "exists": ("name what is there", "name what is not there"),
        "located": ("look at the right place", "look elsewhere"),
        "leak_free": ("carry no more than they say", "leak"),
        "faithful": ("are faithful to {name}", "are unfaithful to {name}"),
        "detects": ("come from units that detect", "come from units that do not detect"),
        "accepted": ("are accepted by people", "are not accepted by people"),
    },
    "concepts": {
        "exists": ("stand for what is there", "do not stand for what is there"),
        "located": ("are looked at where they are", "are looked at elsewhere"),
        "leak_free": ("are free of leaks", "leak"),
        "faithful": ("are used as said", "are not used as said"),
        "detects": ("are detected", "are not detected"),
        "accepted": ("are accepted by people", "are not accepted by people"),
    },
}
"""What is said of explanations or concepts that are good or bad for a question."""

SHORT: dict[Question, tuple[str, str]] = {
    "exists": ("concepts are there", "concepts are not there"),
    "located": ("looks at the right place", "looks elsewhere"),
    "leak_free": ("free of leaks", "leaks"),
    "faithful": ("faithful", "unfaithful"),
    "detects": ("units detect", "units do not detect"),
    "accepted": ("accepted", "not accepted"),
}
"""The same for the heads of a table."""

MEANS: dict[tuple[Question, Question], str] = {
    ("exists", "located"): "The concepts are in the image, but the explanation looks elsewhere: "
    "they may have been guessed from the surroundings.",
    ("located", "exists"): "The explanation looks at the right place and names concepts that "
    "are not there: the place is right, the name is not.",
    ("exists", "leak_free"): "The concepts are there, but they carry more than they say: part of "
    "the answer travels beside the words you read.",
    ("leak_free", "exists"): "The concepts carry nothing else, but they are not there: clean words "
    "for the wrong things.",
    ("exists", "faithful"): "The explanation names true things that do not make up {puts_out}: a "
    "description of the input, not of {reasons}.",
    ("faithful", "exists"): "These concepts do make up {puts_out}, though they are not there: the "
    "explanation is honest about a mistake.",
    ("exists", "detects"): "The named concepts are there, but no unit detects them: the names do "
    "not come from where they are said to come from.",
    ("detects", "exists"): "Units detect their concepts, yet explanations name ones that are not "
    "there: what is detected is not what gets named.",
    ("exists", "accepted"): "What is named is there, and people still do not agree: true, but not "
    "what they were looking for.",
    ("accepted", "exists"): "People accept explanations that name what is not there: they sound "
    "right and are wrong.",
    ("located", "leak_free"): "The explanation looks where the concepts are, but these carry more "
    "than they say: looking at the right place does not keep them clean.",
    ("leak_free", "located"): "The concepts carry nothing else, but the explanation looks "
    "elsewhere for them: clean words with the wrong place.",
    ("located", "faithful"): "The right place is marked, but it did not decide: a good image of "
    "the object, not of {reasons}.",
    ("faithful", "located"): "The marked places did decide, and they are not where they should be: "
    "the decision goes by something else, and the explanation says so.",
    ("located", "detects"): "The explanation looks where the concept is, but no unit detects it: "
    "the map is right and the unit's name is not.",
    ("detects", "located"): "Units detect their concepts, but the explanation looks elsewhere: the "
    "knowledge is there and is not what is shown.",
    ("located", "accepted"): "The explanation looks at the right place, and people still do not "
    "agree: being right is not yet being convincing.",
    ("accepted", "located"): "People accept explanations that look at the wrong place: do not take "
    "their agreement for a check of the place.",
    ("leak_free", "faithful"): "The concepts carry nothing else, but they do not make up "
    "{puts_out}: clean words that do not decide.",
    ("faithful", "leak_free"): "The concepts make up {puts_out}, but with more than they say: the "
    "sum is right and the words are not.",
    ("leak_free", "detects"): "The concepts carry nothing else, but no unit detects them: they are "
    "clean and not found in any unit.",
    ("detects", "leak_free"): "Units detect their concepts and carry other things beside them: the "
    "name tells only part of it.",
    ("leak_free", "accepted"): "The concepts carry nothing else, and people do not accept them: "
    "clean, but not what people would say.",
    ("accepted", "leak_free"): "People accept concepts that carry more than they say: what "
    "convinces them is not all that decides.",
    ("faithful", "detects"): "The concepts make up {puts_out}, but no unit detects them: they are "
    "used under names that do not fit.",
    ("detects", "faithful"): "Units detect their concepts, but these do not make up {puts_out}: "
    "what is detected is not what is used.",
    ("faithful", "accepted"): "The explanation fits {puts_out}, and people do not accept it: "
    "{reasons} may be the trouble, not the explanation.",
    ("accepted", "faithful"): "People accept explanations that do not fit {puts_out}: persuasion, "
    "not evidence.",
    ("detects", "accepted"): "Units detect their concepts, and people do not accept what is made "
    "of them: right parts, unconvincing whole.",
    ("accepted", "detects"): "People accept explanations from units that do not detect what they "
    "are named after: the names please, the units do not fit.",
}  # fmt: skip
"""(answered well, answered badly): what that means. ``{name}``, ``{puts_out}`` and ``{reasons}``
are those of the audit's subject."""


def meaning(good: Question, bad: Question, subject: Subject) -> str:
    """What it means for a reader that one question is answered well and another badly."""
    return MEANS[good, bad].format(**vars(subject.wording))


def claim_text(of: Level, good: Question, bad: Question, subject: Subject) -> str:
    """What explanations or concepts are and are not."""
    text = f"{WORDS[of][good][0]} but {WORDS[of][bad][1]}"
    return text.format(**vars(subject.wording))
