"""Ask a judge many questions: check the budget first, use cached answers, save new ones
regularly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.errors import EvidenceError
from theodolite.language.judges.answer_cache import AnswerCache
from theodolite.language.judges.base import Judge, JudgeAnswer, JudgeQuestion, question_key
from theodolite.language.judges.http import HttpJudge
from theodolite.language.judges.prompts import estimate_tokens

QUESTIONS_TOGETHER = 64
"""Number of questions that a judge gets at once, unless it gives answers as they come."""
OVERRUN = 1.2
"""How far the price of answers may exceed the budget before no more are asked."""
REPLY_TOKENS = 20
"""Estimated tokens of one answer."""


@dataclass(frozen=True)
class Budget:
    """Limits on questions and tokens, checked before the first question."""

    most_questions: int = 10_000
    most_tokens: int = 5_000_000
    """Largest number of tokens sent and received, at four characters per token."""
    longest_text: int = 20_000
    """Largest number of characters of a text or an explanation."""
    money: float = math.inf
    """Largest price of all questions, in the currency of the prices. It is estimated before the
    first question; answers that cost 1.2 times as much in all end the run, and are kept."""
    price_in: float = 0.0
    """Price of a million tokens sent."""
    price_out: float = 0.0
    """Price of a million tokens received."""

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """Return the price of some tokens."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6

    def check_spent(self, answers: Sequence[JudgeAnswer]) -> None:
        """Raise if answers cost far more than was allowed."""
        spent = sum(self.price(own.tokens_in, own.tokens_out) for own in answers)
        if spent > OVERRUN * self.money:
            do = "All answers are kept: allow more, and give the same command again."
            raise EvidenceError("budget of judges", f"{spent:.2f} spent", f"{self.money:.2f}", do)

    def check(self, questions: Sequence[JudgeQuestion]) -> None:
        """Raise if the questions exceed a limit, and say by how much."""
        for question in questions:
            longest = max(len(text) for text in (question.explanation, *question.texts))
            if longest > self.longest_text:
                raise EvidenceError(
                    "budget of judges", f"a text of {longest:,} characters",
                    f"at most {self.longest_text:,} (`longest_text`)", "Cut it, or allow more.",
                )  # fmt: skip
        if len(questions) > self.most_questions:
            raise EvidenceError(
                "budget of judges", f"{len(questions):,} questions",
                f"at most {self.most_questions:,} (`most_questions`)", "Ask less, or allow more.",
            )  # fmt: skip
        sent = sum(estimate_tokens(question) for question in questions)
        tokens = sent + REPLY_TOKENS * len(questions)
        price = self.price(sent, REPLY_TOKENS * len(questions))
        if price > self.money:
            raise EvidenceError(
                "budget of judges", f"about {price:.2f}", f"at most {self.money:.2f} (`money`)",
                "Ask less, or allow more.",
            )  # fmt: skip
        if tokens > self.most_tokens:
            raise EvidenceError(
                "budget of judges", f"about {tokens:,} tokens",
                f"at most {self.most_tokens:,} (`most_tokens`)", "Ask less, or allow more.",
            )  # fmt: skip


def ask_judge(
    judge: Judge,
    questions: Sequence[JudgeQuestion],
    *,
    cache: AnswerCache | None = None,
    budget: Budget | None = None,
    repeats: int = 1,
) -> list[list[JudgeAnswer]]:
    """Return the answers to all questions, once for each repeat.

    Args:
        judge: Who is asked.
        questions: What.
        cache: Answers that are known already; new ones are added and written beside its file as
            they come, so that none is lost if the judge fails or the process is killed.
        budget: How much may be asked of it.
        repeats: How often; each is remembered apart.
    """
    if repeats < 1:
        raise EvidenceError("repeats", f"{repeats}", "1 or more")
    known = AnswerCache() if cache is None else cache
    budget = budget or Budget()
    keys = [[question_key(judge, q, repeat) for q in questions] for repeat in range(repeats)]
    new = {
        key: question
        for row in keys
        for key, question in zip(row, questions, strict=True)
        if known.get(key) is None
    }
    budget.check(list(new.values()))
    paid: list[JudgeAnswer] = []
    try:
        waiting = list(new.items())
        if isinstance(judge, HttpJudge) and waiting:
            for number, answer in judge.answers([question for _, question in waiting]):
                known.add(waiting[number][0], judge.name, answer)
                paid.append(answer)
                budget.check_spent(paid)
        else:
            for at in range(0, len(waiting), QUESTIONS_TOGETHER):
                _ask(judge, dict(waiting[at : at + QUESTIONS_TOGETHER]), known)
    finally:
        known.write()
    return [[_known_answer(known, key) for key in row] for row in keys]


def _ask(judge: Judge, waiting: dict[str, JudgeQuestion], known: AnswerCache) -> None:
    answers = judge(list(waiting.values()))
    if len(answers) != len(waiting):
        raise EvidenceError(
            judge.name, f"{len(answers)} answers", f"{len(waiting)}, one a question"
        )
    for (key, question), answer in zip(waiting.items(), answers, strict=True):
        if len(answer.values) != len(question.texts):
            raise EvidenceError(
                judge.name, f"{len(answer.values)} numbers", f"{len(question.texts)}, one a text"
            )
        known.add(key, judge.name, answer)


def _known_answer(known: AnswerCache, key: str) -> JudgeAnswer:
    answer = known.get(key)
    assert answer is not None  # noqa: S101  all were asked
    return answer
