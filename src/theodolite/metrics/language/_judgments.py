"""Share tables of judge answers, their scores and baselines among the metrics of judges."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite._stats.sampling import hash_integers, hash_to_uniforms
from theodolite.evidence.kinds.judgment import DEFAULT_INTRUDER_TEXTS, JudgmentEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.metrics.base import NullModel, ratio

By = Literal["balanced", "accuracy", "f1", "auroc"]
Scores = Annotated[
    Sequence[By],
    Field(min_length=1, description="Balanced accuracy, accuracy, F1, or area under the ROC."),
]
Over = Annotated[
    Literal["latents", "judges"],
    Field(description="A table for each latent; or for each judge, all latents in one table."),
]
ROWS = 128
"""Resamples at a time: their weights, put in order, are copied."""
MAX_FREQUENCY_RATIO = 1.25
"""Maximum frequency ratio of two latents that count as similarly frequent."""
MAX_DRAWS = 64
"""Maximum number of draws until an answer is about a similarly frequent latent."""


def get_items(evidence: JudgmentEvidence, over: Over) -> tuple[Int[np.ndarray, " samples"], int]:
    """Return the table that each answer belongs to, and the number of tables."""
    if over == "latents":
        return np.asarray(evidence.latent), len(evidence.latents)
    return np.asarray(evidence.judge), len(evidence.judges)


def find_readable(evidence: JudgmentEvidence, task: str) -> Int[np.ndarray, " rows"]:
    """Return where a question was answered about the latent's own explanation."""
    rows = evidence.is_task(task) & evidence.is_own() & ~np.isnan(evidence.answer)
    return np.flatnonzero(rows)


def score_tables(
    evidence: JudgmentEvidence,
    weights: Float[np.ndarray, "rows samples"],
    task: str,
    by: Sequence[By],
    over: Over,
) -> Float[np.ndarray, "rows by items"]:
    """Compute the scores of yes and no answers for each latent or judge."""
    rows = find_readable(evidence, task)
    every, n = get_items(evidence, over)
    item, active = every[rows], np.asarray(evidence.active)[rows]
    answer = np.asarray(evidence.answer, float)[rows]

    def tables(own: np.ndarray) -> np.ndarray:
        counts = code_sums(item * 4 + active * 2 + (answer > 0.5), own, 4 * n)
        counts = counts.reshape(len(own), n, 4)
        values = [
            compute_areas(item, active, answer, own, n)
            if name == "auroc"
            else FROM_TABLE[name](counts)
            for name in by
        ]
        return np.stack(values, axis=1)

    return _in_blocks(tables, weights, rows)


def compute_mean_answers(
    evidence: JudgmentEvidence, weights: Float[np.ndarray, "rows samples"], task: str, over: Over
) -> Float[np.ndarray, "rows items"]:
    """Compute the mean answer for each latent or judge."""
    rows = find_readable(evidence, task)
    every, n = get_items(evidence, over)
    item, answer = every[rows], np.asarray(evidence.answer, float)[rows]

    def means(own: np.ndarray) -> np.ndarray:
        return ratio(code_sums(item, own * answer, n), code_sums(item, own, n))

    return _in_blocks(means, weights, rows)


def _in_blocks(
    measure: Callable[[np.ndarray], np.ndarray], weights: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Measure some resamples at a time, from the weights of these rows."""
    starts = range(0, len(weights), ROWS)
    blocks = (np.asarray(weights[at : at + ROWS, rows], np.float64) for at in starts)
    return np.concatenate([measure(block) for block in blocks])


def code_sums(
    code: Int[np.ndarray, " samples"], weights: Float[np.ndarray, "rows samples"], n: int
) -> Float[np.ndarray, "rows n"]:
    """Sums of the weights of all samples with each code; exact, whatever the order."""
    sums = np.zeros((len(weights), n))
    if len(code):
        order = np.argsort(code, kind="stable")
        present, start = np.unique(code[order], return_index=True)
        sums[:, present] = np.add.reduceat(weights[:, order], start, axis=1)
    return sums


def _balanced(counts: Float[np.ndarray, "rows items 4"]) -> Float[np.ndarray, "rows items"]:
    right_no, wrong_yes, wrong_no, right_yes = np.moveaxis(counts, -1, 0)
    noticed = ratio(right_yes, right_yes + wrong_no)
    return np.asarray((noticed + ratio(right_no, right_no + wrong_yes)) / 2)


def _accuracy(counts: Float[np.ndarray, "rows items 4"]) -> Float[np.ndarray, "rows items"]:
    return ratio(counts[..., 0] + counts[..., 3], counts.sum(axis=-1))


def _f1(counts: Float[np.ndarray, "rows items 4"]) -> Float[np.ndarray, "rows items"]:
    _, wrong_yes, wrong_no, right_yes = np.moveaxis(counts, -1, 0)
    return ratio(2 * right_yes, 2 * right_yes + wrong_yes + wrong_no)


FROM_TABLE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "balanced": _balanced, "accuracy": _accuracy, "f1": _f1,
}  # fmt: skip
"""Scores from the counts of no and yes where the truth is no, and where it is yes."""


def compute_areas(
    item: Int[np.ndarray, " samples"],
    active: Bool[np.ndarray, " samples"],
    answer: Float[np.ndarray, " samples"],
    weights: Float[np.ndarray, "rows samples"],
    n: int,
) -> Float[np.ndarray, "rows items"]:
    """Compute for each item how often an active sequence has the higher answer; ties count half."""
    values = np.full((len(weights), n), np.nan)
    order = np.lexsort((answer, item))
    present, start = np.unique(item[order], return_index=True)
    ends = np.append(start, len(order))[1:]
    for number, begin, end in zip(present, start, ends, strict=True):
        rows = order[begin:end]
        level = np.unique(answer[rows], return_inverse=True)[1]
        own, truth, levels = weights[:, rows], active[rows], int(level[-1]) + 1
        yes, no = (code_sums(level[side], own[:, side], levels) for side in (truth, ~truth))
        below = no.cumsum(axis=1) - no / 2
        values[:, number] = ratio((yes * below).sum(axis=1), yes.sum(axis=1) * no.sum(axis=1))
    return values


def _group(*columns: np.ndarray) -> Int[np.ndarray, " samples"]:
    """Return a number for each distinct row of columns."""
    table = np.stack([np.asarray(column, np.int64) for column in columns], axis=1)
    if not len(table):
        return np.zeros(0, np.int64)
    return np.asarray(np.unique(table, axis=0, return_inverse=True)[1]).reshape(-1)


def _question(evidence: JudgmentEvidence) -> list[np.ndarray]:
    """Task and judge of each answer."""
    columns = evidence.task, evidence.judge
    return [np.zeros(len(evidence), int) if c is None else np.asarray(c) for c in columns]


def _permute_answers(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
    """Permute each judge's answers about a latent among the same questions."""
    group = _group(*_question(evidence), evidence.latent, evidence.explained_latent())
    number = np.asarray(evidence.samples.index)
    places, answers = (np.lexsort((key, group)) for key in (number, hash_integers(number, seed)))
    dealt = np.array(evidence.answer)
    dealt[places] = np.asarray(evidence.answer)[answers]
    return replace_arrays(evidence, answer=dealt)


def _always(answer: float) -> Callable[[JudgmentEvidence, int], JudgmentEvidence]:
    def constant(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
        del seed
        unread = np.isnan(evidence.answer)
        return replace_arrays(evidence, answer=np.where(unread, np.nan, answer))

    return constant


def _is_similarly_frequent(
    evidence: JudgmentEvidence, a: np.ndarray, b: np.ndarray
) -> Bool[np.ndarray, "*n"]:
    """Return whether two latents are active about as often; True if that is unknown."""
    if evidence.frequency is None:
        return np.ones(np.broadcast_shapes(a.shape, b.shape), bool)
    often = np.asarray(evidence.frequency, float)
    low, high = np.minimum(often[a], often[b]), np.maximum(often[a], often[b])
    return np.asarray(high <= MAX_FREQUENCY_RATIO * low)


def _swap_explanations(evidence: JudgmentEvidence, seed: int, *, marked: bool) -> JudgmentEvidence:
    """Return the answer with another latent's explanation of the same sequence."""
    n, own = len(evidence), evidence.is_own()
    question = *_question(evidence), np.asarray(evidence.sequence)
    group = _group(*question, evidence.latent) if marked else _group(*question)
    number, explained = np.asarray(evidence.samples.index), evidence.explained_latent()
    order = np.lexsort((number, group))
    size = np.bincount(group, minlength=1)
    first = (size.cumsum() - size)[group] if n else np.zeros(0, int)
    answer = np.full(n, np.nan)
    left = np.flatnonzero(own & ~np.isnan(evidence.answer))
    for draw in range(MAX_DRAWS):
        if not len(left):
            break
        at = (hash_to_uniforms(number[left], (), seed + draw) * size[group[left]]).astype(np.int64)
        other = order[first[left] + at]
        fits = (explained[other] != evidence.latent[left]) & ~np.isnan(evidence.answer[other])
        fits &= _is_similarly_frequent(
            evidence, explained[other], np.asarray(evidence.latent)[left]
        )
        answer[left[fits]] = evidence.answer[other[fits]]
        left = left[~fits]
    return replace_arrays(evidence, answer=np.where(own, answer, evidence.answer))


OTHER_EXPLANATION = NullModel(
    "another_latent",
    "what the judge answers about the same sequence with the explanation of another latent, one "
    "that is active about as often where frequencies are known",
    partial(_swap_explanations, marked=False),
    label="another_latent",
)
OTHER_EXPLANATION_OF_MARKS = NullModel(
    "another_latent",
    "what the judge answers about the same marks with the explanation of another latent, where "
    "that was asked",
    partial(_swap_explanations, marked=True),
    label="another_latent",
)
DEALT_OUT = NullModel(
    "permuted_answers",
    "each latent's answers, each as often as it was given, to its questions at random",
    _permute_answers,
)
ALWAYS_NO = NullModel("always_no", "a judge who never says yes", _always(0.0), random=False)
ALWAYS_YES = NullModel("always_yes", "a judge who never says no", _always(1.0), random=False)


def _any_text(evidence: JudgmentEvidence, seed: int) -> JudgmentEvidence:
    del seed
    n = DEFAULT_INTRUDER_TEXTS if evidence.texts is None else np.maximum(evidence.texts, 1)
    return replace_arrays(evidence, answer=np.where(np.isnan(evidence.answer), np.nan, 1 / n))


ANY_TEXT = NullModel(
    "random_text", "naming any of the sequences of a round without looking", _any_text, random=False
)
