"""Ask a model what a latent stands for, from texts that no question is later drawn from."""

from collections.abc import Sequence

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.language.judges.answer_cache import AnswerCache
from theodolite.language.judges.asking import Budget, ask_judge
from theodolite.language.judges.base import Judge, JudgeQuestion
from theodolite.language.judges.latent_texts import LatentTexts
from theodolite.language.texts.explanations import LatentExplanation

TEXTS = 10
"""Texts with the largest values of a latent that the model reads."""


def draw_explanation_questions(
    source: LatentTexts, latents: Sequence[int], texts: int = TEXTS
) -> list[JudgeQuestion]:
    """Return a question for each latent that is active in the choosing half, with its active
    tokens marked."""
    if not 1 <= texts <= 50:
        raise EvidenceError("texts", f"{texts}", "1 to 50")
    starts = source.starts
    questions = []
    for latent in latents:
        row, token, value = source.active(latent)
        own = source.choosing[row]
        row, token, value = row[own], token[own], np.asarray(value[own], float)
        if not len(row):
            continue
        rows, place = np.unique(row, return_inverse=True)
        largest = np.zeros(len(rows))
        np.maximum.at(largest, place, value)
        best = rows[np.argsort(-largest, kind="stable")[:texts]].tolist()
        marks = (source.spans(n, (token[row == n] - starts[n]).tolist()) for n in best)
        questions.append(JudgeQuestion(
            tuple(source.text(n) for n in best), task="explanation", marks=tuple(marks),
            latent=latent, sequences=tuple(best),
        ))  # fmt: skip
    return questions


def explain_latents(
    judge: Judge,
    source: LatentTexts,
    latents: Sequence[int],
    *,
    texts: int = TEXTS,
    cache: AnswerCache | None = None,
    budget: Budget | None = None,
) -> list[LatentExplanation]:
    """Return explanations of latents by a model; replies that cannot be read are left out.

    Each has the ids of the sequences that it was written from, all of the half that no question is
    drawn from.
    """
    questions = draw_explanation_questions(source, latents, texts)
    (answers,) = ask_judge(judge, questions, cache=cache, budget=budget)
    samples = source.evidence.samples
    ids = np.asarray(samples.index if samples.ids is None else samples.ids)
    return [
        LatentExplanation(
            question.latent, "text", answer.raw, str(judge.settings().get("model", judge.name)),
            tuple(str(ids[n]) for n in question.sequences),
        )
        for question, answer in zip(questions, answers, strict=True)
        if answer.read_as in ("strict", "recovered")
    ]  # fmt: skip
