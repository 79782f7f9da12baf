"""Judge that is a small causal language model: the log-odds of Yes against No after a question."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion
from theodolite.language.judges.prompts import VERSION, build_text_prompt

MIN_CALIBRATION_ANSWERS = 4
"""Smallest number of known answers for calibration."""


@dataclass(frozen=True)
class LogOddsJudge:
    """Judge by log p(Yes) - log p(No), as a probability; optionally calibrated.

    Small models say Yes to everything: without a scale (``calibrated``) their odds are only good
    for an order.
    """

    model: Any = field(default=None, repr=False, compare=False)
    """Causal model of transformers, in evaluation mode."""
    tokenizer: Any = field(default=None, repr=False, compare=False)
    identity: str = ""
    """Identity of the weights, such as the digest of their file; part of cache keys."""
    longest: int = 1024
    """Largest number of tokens of a question; longer ones get no answer."""
    slope: float = 1.0
    start: float = 0.0
    name: str = "log_odds"

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        return {
            "identity": self.identity, "longest": self.longest, "slope": self.slope,
            "start": self.start, "prompt": VERSION,
        }  # fmt: skip

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        answers = []
        for question in questions:
            odds, tokens = self.odds(question)
            raw = " ".join(f"{value:.6g}" for value in odds)
            if question.task == "intruder" and not np.isnan(odds).any():
                least = odds == odds.min()  # the text of which Yes is least likely
                shares = least / least.sum()
            else:
                values = np.clip(self.slope * odds + self.start, -700, 700)
                shares = np.where(question.task == "intruder", np.nan, 1 / (1 + np.exp(-values)))
            answers.append(JudgeAnswer(tuple(map(float, shares)), raw, tokens))
        return answers

    def odds(self, question: JudgeQuestion) -> tuple[np.ndarray, int]:
        """Return the log-odds of Yes for each text, NaN for too long questions, and the tokens."""
        torch = require("torch", "the judge log_odds", "torch")
        yes, no = (self._first_token(word) for word in (" Yes", " No"))
        odds, tokens = np.full(len(question.texts), np.nan), 0
        for number in range(len(question.texts)):
            ids = self.tokenizer.encode(build_text_prompt(question, number))
            if len(ids) > self.longest:
                continue
            with torch.no_grad():
                logits = self.model(torch.tensor([ids])).logits[0, -1]
            # both log probabilities have the same sum of all powers, which falls out
            odds[number] = float(logits[yes]) - float(logits[no])
            tokens += len(ids)
        return odds, tokens

    def _first_token(self, word: str) -> int:
        ids = self.tokenizer.encode(word, add_special_tokens=False)
        if not ids:
            raise EvidenceError("tokenizer", f"no token of {word!r}", "one")
        return int(ids[0])

    def calibrated(
        self, questions: Sequence[JudgeQuestion], active: Sequence[Sequence[bool]]
    ) -> "LogOddsJudge":
        """Return this judge calibrated on texts with known truth, which are not asked about."""
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  half a second

        odds = np.concatenate([self.odds(question)[0] for question in questions])
        truth = np.concatenate([np.asarray(row, bool) for row in active])
        rows = ~np.isnan(odds)
        if rows.sum() < MIN_CALIBRATION_ANSWERS or len(np.unique(truth[rows])) < 2:
            raise EvidenceError(
                "calibration",
                f"{int(rows.sum())} answers",
                f"{MIN_CALIBRATION_ANSWERS} or more, of both kinds",
            )
        fit = LogisticRegression().fit(odds[rows, None], truth[rows])
        return replace(self, slope=float(fit.coef_[0, 0]), start=float(fit.intercept_[0]))
