"""All that pages of features are written from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite.errors import printable
from theodolite.evidence.axes import Latents
from theodolite.language.dashboard.nulls import FeatureScore
from theodolite.language.dashboard.peaks import Activity
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.vocabulary import Vocabulary

LONGEST_LABEL = 160
"""Characters of what a feature is said to stand for, in the list."""
LONGEST_TEXT = 2_000
"""And on its own page."""


SHAPES = {
    "capitalized": "capitalized", "all capitals": "in capitals", "lower": "in small letters",
    "digit": "digits", "punctuation": "punctuation", "non-ASCII": "characters beyond ASCII",
    "starts a word": "the start of a word",
}  # fmt: skip


def formula_words(name: str) -> str:
    """A predicate of tokens in words, as a page has it.

    >>> formula_words("word school"), formula_words("place 5-8"), formula_words("after ' of'")
    ('the word “school”', 'token 5 to 8 of a text', "what follows ' of'")
    """
    family, _, value = name.partition(" ")
    if family == "place":
        ends = value.partition("-")
        return f"token {ends[0]} to {ends[2]} of a text" if ends[2] else f"the {value} of a text"
    words = {
        "token": f"the token {value}",
        "word": f"the word “{value}”",
        "shape": SHAPES.get(value, value),
        "after": f"what follows {value}",
        "before": f"what comes before {value}",
        "topic": f"texts about “{value}”",
    }
    return words.get(family, name)


@dataclass(frozen=True)
class Judged:
    """A judge's answer about a feature and a text."""

    sequence: int
    active: bool
    answer: float
    """From 0 (no) to 1 (yes); NaN where it could not be read."""
    judge: str


@dataclass(frozen=True, eq=False)
class FeatureMaterial:
    """A dictionary and its features, as pages have them."""

    title: str
    latents: Latents
    vocabulary: Vocabulary
    activity: Activity
    scores: Sequence[FeatureScore] = ()
    """The first is the one that the verdict is of."""
    formulas: Mapping[int, str] = field(default_factory=dict)
    """What was looked for and describes a latent best, by its number."""
    explanations: Mapping[int, Sequence[LatentExplanation]] = field(default_factory=dict)
    answers: Mapping[int, Sequence[Judged]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """What a reader should know."""

    def __len__(self) -> int:
        return len(self.latents)

    @property
    def dead(self) -> int:
        """Latents that are never active."""
        return int((self.activity.active_tokens == 0).sum())

    def label(self, latent: int) -> str:
        """What a feature is said to stand for, on one line; nothing where nobody says it."""
        words = [self.latents.names[latent]] if self.latents.names else []
        words += [own.text for own in self.explanations.get(latent, ()) if own.text][:1]
        if len(words) < 1 + bool(self.latents.names) and latent in self.formulas:
            words.append(self.formulas[latent])
        return printable(" · ".join(words), LONGEST_LABEL)

    def texts(self, latent: int) -> dict[str, Any]:
        """What is said of a feature on its own page."""
        texts: dict[str, Any] = {}
        if latent in self.formulas:
            texts["formula"] = printable(self.formulas[latent], LONGEST_TEXT)
        own = [
            [printable(each.text, LONGEST_TEXT), each.kind, printable(each.author, 120)]
            for each in self.explanations.get(latent, ())
            if each.text
        ]
        if own:
            texts["explanations"] = own
        answers = [
            [int(each.active), None if np.isnan(each.answer) else round(float(each.answer), 4),
             printable(each.judge, 120)]
            for each in self.answers.get(latent, ())
        ]  # fmt: skip
        if answers:
            texts["answers"] = answers
        return texts
