"""Ask a judge many questions: check the budget first, use cached answers, save new ones
regularly."""

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.errors import EvidenceError
from theodolite.language.judges.answer_cache import AnswerCache
from theodolite.language.judges.base import Judge, JudgeAnswer, JudgeQuestion, question_key
from theodolite.language.judges.http import HttpJudge
from theodolite.language.judges.prompts import estimate_tokens

QUESTIONS_TOGETHER = 64
"""Number of questions that a judge gets at once, unless it gives answers as they come."""
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
        tokens = sum(estimate_tokens(question) + REPLY_TOKENS for question in questions)
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
    keys = [[question_key(judge, q, repeat) for q in questions] for repeat in range(repeats)]
    new = {
        key: question
        for row in keys
        for key, question in zip(row, questions, strict=True)
        if known.get(key) is None
    }
    (budget or Budget()).check(list(new.values()))
    try:
        waiting = list(new.items())
        if isinstance(judge, HttpJudge) and waiting:
            for number, answer in judge.answers([question for _, question in waiting]):
                known.add(waiting[number][0], judge.name, answer)
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
