"""Nulls of the scores of judges: they need nothing beyond the answers themselves."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Int

from theodolite._stats.sampling import scattered, uniform
from theodolite.evidence.columns import with_arrays
from theodolite.evidence.kinds.judgment import TEXTS, JudgmentEvidence
from theodolite.metrics.base import NullModel

LIKE = 1.25
"""How many times as frequent another latent may be to be like in frequency."""
TRIES = 64
"""How often another answer about a sequence is drawn until it is that of a like latent."""


def _group(*columns: np.ndarray) -> Int[np.ndarray, " samples"]:
    """A number for each distinct row of columns."""
    table = np.stack([np.asarray(column, np.int64) for column in columns], axis=1)
    if not len(table):
        return np.zeros(0, np.int64)
    return np.asarray(np.unique(table, axis=0, return_inverse=True)[1]).reshape(-1)


def _judge(evidence: JudgmentEvidence) -> np.ndarray:
    return np.zeros(len(evidence), int) if evidence.judge is None else np.asarray(evidence.judge)


def _task(evidence: JudgmentEvidence) -> np.ndarray:
    return np.zeros(len(evidence), int) if evidence.task is None else np.asarray(evidence.task)


def _dealt_out(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
    """Each judge's answers about a latent, dealt out anew among the same questions."""
    group = _group(_task(evidence), _judge(evidence), evidence.latent, evidence.explained_latent())
    number = np.asarray(evidence.samples.index)
    places, answers = (np.lexsort((key, group)) for key in (number, scattered(number, seed)))
    dealt = np.array(evidence.answer)
    dealt[places] = np.asarray(evidence.answer)[answers]
    return with_arrays(evidence, answer=dealt)


def _always(answer: float) -> Callable[[JudgmentEvidence, int], JudgmentEvidence]:
    def constant(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
        del seed
        unread = np.isnan(evidence.answer)
        return with_arrays(evidence, answer=np.where(unread, np.nan, answer))

    return constant


def _like(evidence: JudgmentEvidence, a: np.ndarray, b: np.ndarray) -> Bool[np.ndarray, "*n"]:
    """Whether two latents are active about as often; any two where that is not known."""
    if evidence.frequency is None:
        return np.ones(np.broadcast_shapes(a.shape, b.shape), bool)
    often = np.asarray(evidence.frequency, float)
    low, high = np.minimum(often[a], often[b]), np.maximum(often[a], often[b])
    return np.asarray(high <= LIKE * low)


def _another_explanation(
    evidence: JudgmentEvidence, seed: int, *, marked: bool
) -> JudgmentEvidence:
    """The answer with the explanation of another latent, about the same sequence."""
    n, own = len(evidence), evidence.is_own()
    question = (_task(evidence), _judge(evidence), np.asarray(evidence.sequence))
    group = _group(*question, evidence.latent) if marked else _group(*question)
    number, explained = np.asarray(evidence.samples.index), evidence.explained_latent()
    order = np.lexsort((number, group))
    size = np.bincount(group, minlength=1)
    first = (size.cumsum() - size)[group] if n else np.zeros(0, int)
    answer = np.full(n, np.nan)
    left = np.flatnonzero(own & ~np.isnan(evidence.answer))
    for draw in range(TRIES):
        if not len(left):
            break
        at = (uniform(number[left], (), seed + draw) * size[group[left]]).astype(np.int64)
        other = order[first[left] + at]
        fits = (explained[other] != evidence.latent[left]) & ~np.isnan(evidence.answer[other])
        fits &= _like(evidence, explained[other], np.asarray(evidence.latent)[left])
        answer[left[fits]] = evidence.answer[other[fits]]
        left = left[~fits]
    return with_arrays(evidence, answer=np.where(own, answer, evidence.answer))


def _about_sequences(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
    return _another_explanation(evidence, seed, marked=False)


def _about_marks(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
    return _another_explanation(evidence, seed, marked=True)


OTHER_EXPLANATION = NullModel(
    "another_latent",
    "what the judge answers about the same sequence with the explanation of another latent, one "
    "that is active about as often where frequencies are known",
    _about_sequences,
    label="another latent's explanation",
)
OTHER_EXPLANATION_OF_MARKS = NullModel(
    "another_latent",
    "what the judge answers about the same marks with the explanation of another latent, where "
    "that was asked",
    _about_marks,
    label="another latent's explanation",
)
DEALT_OUT = NullModel(
    "permuted_answers",
    "each latent's answers, each as often as it was given, to its questions at random",
    _dealt_out,
)
ALWAYS_NO = NullModel("always_no", "a judge who never says yes", _always(0.0), random=False)
ALWAYS_YES = NullModel("always_yes", "a judge who never says no", _always(1.0), random=False)


def _any_text(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
    del seed
    n = TEXTS if evidence.texts is None else np.maximum(evidence.texts, 1)
    return with_arrays(evidence, answer=np.where(np.isnan(evidence.answer), np.nan, 1 / n))


ANY_TEXT = NullModel(
    "random_text", "naming any of the sequences of a round without looking", _any_text, random=False
)
