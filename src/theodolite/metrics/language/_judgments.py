"""What the scores of judges share: tables of answers under weights, and what is read from them."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.metrics.base import ratio

By = Literal["balanced", "accuracy", "f1", "auroc"]
Scores = Annotated[
    Sequence[By],
    Field(min_length=1, description="Balanced accuracy, accuracy, F1, or area under the ROC."),
]
Over = Annotated[
    Literal["latents", "judges"],
    Field(description="A table for each latent; or for each judge, all latents in one table."),
]
USES_IF = {"over": {"judges": ("judge",)}}
ROWS = 128
"""Resamples at a time: their weights, put in order, are copied."""


def items_of(evidence: JudgmentEvidence, over: Over) -> tuple[Int[np.ndarray, " samples"], int]:
    """Which table each answer goes into, and how many there are."""
    if over == "latents":
        return np.asarray(evidence.latent), len(evidence.latents)
    return np.asarray(evidence.judge), len(evidence.judges)


def readable(evidence: JudgmentEvidence, task: str) -> Int[np.ndarray, " rows"]:
    """The questions of a task that were answered, with the latent's own explanation at hand."""
    rows = evidence.is_task(task) & evidence.is_own() & ~np.isnan(evidence.answer)
    return np.flatnonzero(rows)


def judged_tables(
    evidence: JudgmentEvidence,
    weights: Float[np.ndarray, "rows samples"],
    task: str,
    by: Sequence[By],
    over: Over,
) -> Float[np.ndarray, "rows by items"]:
    """The scores of yes and no: of each latent, or each judge."""
    rows = readable(evidence, task)
    every, n = items_of(evidence, over)
    item, active = every[rows], np.asarray(evidence.active)[rows]
    answer = np.asarray(evidence.answer, float)[rows]
    blocks = []
    for at in range(0, len(weights), ROWS):
        own = np.asarray(weights[at : at + ROWS, rows], np.float64)
        counts = code_sums(item * 4 + active * 2 + (answer > 0.5), own, 4 * n)
        counts = counts.reshape(len(own), n, 4)
        values = [
            areas(item, active, answer, own, n) if name == "auroc" else FROM_TABLE[name](counts)
            for name in by
        ]
        blocks.append(np.stack(values, axis=1))
    return np.concatenate(blocks)


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
"""From how often the answer was no and yes where the truth is no, and where it is yes."""


def areas(
    item: Int[np.ndarray, " samples"],
    active: Bool[np.ndarray, " samples"],
    answer: Float[np.ndarray, " samples"],
    weights: Float[np.ndarray, "rows samples"],
    n: int,
) -> Float[np.ndarray, "rows items"]:
    """Of each item, how often an active sequence has the higher answer; a tie is half."""
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


def mean_answers(
    evidence: JudgmentEvidence,
    weights: Float[np.ndarray, "rows samples"],
    task: str,
    over: Over,
) -> Float[np.ndarray, "rows items"]:
    """The mean answer of each latent, or each judge."""
    rows = readable(evidence, task)
    every, n = items_of(evidence, over)
    item, answer = every[rows], np.asarray(evidence.answer, float)[rows]
    blocks = []
    for at in range(0, len(weights), ROWS):
        own = np.asarray(weights[at : at + ROWS, rows], np.float64)
        blocks.append(ratio(code_sums(item, own * answer, n), code_sums(item, own, n)))
    return np.concatenate(blocks)
