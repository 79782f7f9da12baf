"""Content of a latent dashboard, gathered by :mod:`.pages` and written by :mod:`.writer`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite.errors import printable
from theodolite.evidence.axes import Latents
from theodolite.language.dashboard.nulls import FeatureScore
from theodolite.language.dashboard.peaks import Activity
from theodolite.language.models.latent_logits import LatentLogits
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.vocabulary import Vocabulary

MAX_LABEL_CHARS = 160
"""Largest number of characters of a label in the list of latents."""
MAX_TEXT_CHARS = 2_000
"""Largest number of characters of an explanation on a latent's page."""
MAX_WORDS, MAX_WORD_CHARS = 5, 24
"""Tokens of each kind by which a latent is found in the list, and their largest length."""
SHAPES = {
    "capitalized": "capitalized", "all capitals": "in capitals", "lower": "in small letters",
    "digit": "digits", "punctuation": "punctuation", "non-ASCII": "characters beyond ASCII",
    "starts a word": "the start of a word",
}  # fmt: skip
"""Text on the page for each shape of a token."""


def describe_formula(name: str) -> str:
    """Return a token predicate in words, as a page shows it.

    >>> [describe_formula(name) for name in ("word school", "place 5-8", "after ' of'")]
    ['the word “school”', 'token 5 to 8 of a text', "what follows ' of'"]
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
    """Answer of a judge whether a latent is active in a text."""

    sequence: int
    active: bool
    answer: float
    """Answer from 0 (no) to 1 (yes); NaN if it could not be read."""
    judge: str


@dataclass(frozen=True)
class MeasuredEffect:
    """What ablating or steering a latent did to the tokens it is said to stand for."""

    act: str
    concept: str
    answer: str
    sentence: str


@dataclass(frozen=True, eq=False)
class FeatureMaterial:
    """Content of the pages of a dashboard: the latents of an SAE with scores and explanations.

    The pages call a latent a feature, as do the names of these classes.
    """

    title: str
    latents: Latents
    vocabulary: Vocabulary
    activity: Activity
    scores: Sequence[FeatureScore] = ()
    """Scores of the latents; the verdict is about the first."""
    formulas: Mapping[int, str] = field(default_factory=dict)
    """Best formula found for each latent, by its number."""
    explanations: Mapping[int, Sequence[LatentExplanation]] = field(default_factory=dict)
    answers: Mapping[int, Sequence[Judged]] = field(default_factory=dict)
    logits: LatentLogits | None = None
    effects: Mapping[int, Sequence[MeasuredEffect]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """Notes for the reader."""

    def __len__(self) -> int:
        return len(self.latents)

    @property
    def dead(self) -> int:
        """Number of latents that are never active."""
        return int((self.activity.active_tokens == 0).sum())

    def label(self, latent: int) -> str:
        """Return the explanation of a latent on one line, or an empty string."""
        words = [self.latents.names[latent]] if self.latents.names else []
        words += [own.text for own in self.explanations.get(latent, ()) if own.text][:1]
        if len(words) < 1 + bool(self.latents.names) and latent in self.formulas:
            words.append(self.formulas[latent])
        return printable(" · ".join(words), MAX_LABEL_CHARS)

    def texts(self, latent: int) -> dict[str, Any]:
        """Return all explanations of a latent for its own page."""
        texts: dict[str, Any] = {}
        if latent in self.formulas:
            texts["formula"] = printable(self.formulas[latent], MAX_TEXT_CHARS)
        own = [
            [printable(each.text, MAX_TEXT_CHARS), each.kind, printable(each.author, 120)]
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
        effects = [
            [printable(own.act, 40), printable(own.concept, MAX_LABEL_CHARS),
             printable(own.answer, 40), printable(own.sentence, MAX_TEXT_CHARS)]
            for own in self.effects.get(latent, ())
        ]  # fmt: skip
        if effects:
            texts["effects"] = effects
        return texts

    def words(self, latent: int, peaks: Sequence[int]) -> list[str]:
        """Return the tokens at which a latent is strongest, and those it makes most probable.

        ``peaks`` are tokens, the strongest first; each list is one text, which is searched.
        """
        most = self.logits is not None and self.logits.tokens[latent, :MAX_WORDS].tolist()
        return [
            " ".join(dict.fromkeys(self._word(token) for token in tokens))
            for tokens in (list(dict.fromkeys(peaks))[:MAX_WORDS], most or [])
        ]

    def _word(self, token: int) -> str:
        text = self.vocabulary[token][: 2 * MAX_WORD_CHARS].decode("utf-8", "replace")
        return printable(text.strip(), MAX_WORD_CHARS)
