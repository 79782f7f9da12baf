"""Plan the rows that a model must answer to score attributions, and store its answers as evidence.

First come the features that attributions and nulls rank; then, round by round, a greedy search
for the features whose removal changes the output most. Public as ``theodolite.attribution_plan``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.removal_orders import (
    Orders,
    choose_removal_counts,
    compute_strengths,
    make_null_orders,
    rank_features,
)
from theodolite.evidence.attributions.removal_rows import RemovalQuestions
from theodolite.evidence.axes import Chances, Removals
from theodolite.evidence.kinds.attribution import REMOVALS, AttributionEvidence

Removal = Literal["background", "conditional"]
Answer = Callable[[np.ndarray], Any]
MAX_RELATIVE_DIFFERENCE = 1e-3
"""Largest difference of the model's output from the given one, in standard deviations of the
output.
"""


@dataclass(frozen=True, eq=False)
class AttributionPlan:
    """The rows that a model has to answer next; none when everything is answered.

    Attributes:
        evidence: The attributions, with all answers once these are complete.
        questions: What is asked next; nothing when all is answered.
    """

    evidence: AttributionEvidence
    questions: RemovalQuestions | None
    best: Float[np.ndarray, "samples removals rounds"]
    """Best answers of the search so far, for each number of removed features."""
    chosen: Bool[np.ndarray, "samples removals groups"]
    """Features that the search has chosen so far."""

    def __len__(self) -> int:
        return 0 if self.questions is None else len(self.questions)

    def __repr__(self) -> str:
        return f"<AttributionPlan: {len(self):,} rows to be answered>"

    @property
    def rows(self) -> Float[np.ndarray, "rows features"]:
        """All rows that the model must answer next."""
        return np.concatenate([np.empty((0, len(self.evidence.features))), *self.blocks()])

    def blocks(self) -> Iterator[Float[np.ndarray, "rows features"]]:
        """Yield the rows of this plan in blocks."""
        return iter(()) if self.questions is None else self.questions.rows()

    def ask(self, respond: Answer) -> AttributionEvidence:
        """Return the evidence with all answers of a model.

        Args:
            respond: A function from rows of features to the explained output, a number each.
        """
        plan = replace(self, evidence=_with_output(self.evidence, respond))
        if plan.questions is not None:
            plan = replace(plan, questions=replace(plan.questions, evidence=plan.evidence))
        while len(plan):
            plan = plan.next(np.concatenate([_answers(respond, rows) for rows in plan.blocks()]))
        return plan.evidence

    def next(self, answers: Float[np.ndarray, " rows"]) -> "AttributionPlan":
        """Return the plan that follows the answers to these rows."""
        questions, evidence = self.questions, self.evidence
        assert questions is not None  # noqa: S101  else there is nothing to answer
        means = questions.means(answers)
        if evidence.removed is None:
            evidence = _with_curves(evidence, questions, means)
            return replace(self, evidence=evidence, questions=self._search(questions, evidence))
        steps = np.asarray(evidence.counts)
        # what was chosen before is a question again, and never changes more than it did
        away = np.abs(means - np.asarray(evidence.output)[:, None, None])
        away[self.chosen] = -1.0
        choice = away.argmax(axis=2)[:, :, None]
        chosen = self.chosen.copy()
        np.put_along_axis(chosen, choice, values=True, axis=2)
        best = np.concatenate([self.best, np.take_along_axis(means, choice, axis=2)], axis=2)
        plan = replace(self, best=best, chosen=chosen)
        if best.shape[2] < steps[-1]:
            return replace(plan, questions=plan._search(questions, evidence))
        return replace(plan, evidence=_with_best(evidence, best[:, :, steps - 1]), questions=None)

    def _search(
        self, questions: RemovalQuestions, evidence: AttributionEvidence
    ) -> RemovalQuestions:
        one_more = self.chosen[:, :, None, :] | np.eye(self.chosen.shape[2], dtype=bool)
        return replace(questions, masks=one_more, evidence=evidence)


def attribution_plan(
    evidence: AttributionEvidence,
    answers: ArrayLike | None = None,
    *,
    draws: int = 20,
    removal: Removal = "background",
    seed: int = 0,
) -> AttributionPlan:
    """Return the rows that a model must answer so that attributions can be scored.

    Answer ``plan.rows``, and pass all answers so far to get the next rows; there are as many rounds
    as features are removed, and one more. ``plan.evidence`` then has all of them. The rows are the
    same whenever the arguments are.

    Args:
        evidence: Attributions with ``inputs``, ``output`` and ``background``.
        answers: What the model answered, for all rows so far, in their order.
        draws: Background rows that the values of removed features are taken from, for each sample.
        removal: ``conditional`` takes background rows that are like the sample in the features that
            remain, beside rows at random (``background``), so that both can be compared.
        seed: Of the background rows and of the nulls that are drawn.

    Example:
        >>> import numpy as np, theodolite
        >>> evidence = theodolite.AttributionEvidence(
        ...     values=np.array([[1.0, 0.0, 0.0]]), inputs=np.array([[1.0, 5.0, 5.0]]),
        ...     output=np.array([1.0]), background=np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        ... )
        >>> plan = theodolite.attribution_plan(evidence)
        >>> answers = np.empty(0)
        >>> while len(plan):
        ...     answers = np.append(answers, plan.rows[:, 0])  # the model: the first feature
        ...     plan = theodolite.attribution_plan(evidence, answers)
        >>> plan.evidence.removed
        array([[[0.5, 0.5]]])
    """
    _check_plan(evidence, draws, removal, seed)
    bare = replace(
        evidence, counts=None, removed=None, only=None, chance_removed=None, chance_only=None,
        best_removed=None, removals=Removals(), chances=Chances(),
    )  # fmt: skip
    removals = REMOVALS if removal == "conditional" else REMOVALS[:1]
    shape = (len(bare), len(removals))
    masks = _removed_features(bare, len(removals), seed)
    plan = AttributionPlan(
        bare, RemovalQuestions(bare, removals, draws, seed, masks),
        np.empty((*shape, 0)), np.zeros((*shape, masks.shape[3]), bool),
    )  # fmt: skip
    return plan if answers is None else _continued(plan, _checked_answers(answers))


def _continued(plan: AttributionPlan, answers: Float[np.ndarray, " rows"]) -> AttributionPlan:
    if plan.evidence.output is None:
        raise EvidenceError("output", "none", "`output`: what the model answers for `inputs`")
    while len(answers):
        n = len(plan)
        if n == 0 or len(answers) < n:
            needed = f"{n:,} more" if n else "none more"
            raise EvidenceError(
                "answers", f"{len(answers):,} after the last round", needed,
                "Are they of the rows of this plan: same evidence, draws, removal and seed?",
            )  # fmt: skip
        plan, answers = plan.next(answers[:n]), answers[n:]
    return plan


def _check_plan(evidence: Any, draws: int, removal: str, seed: int) -> None:
    if not isinstance(evidence, AttributionEvidence):
        raise EvidenceError("evidence", type(evidence).__name__, "AttributionEvidence")
    for name in ("inputs", "background"):
        if getattr(evidence, name) is None:
            raise EvidenceError(name, "none", f"`{name}`", "Pass it with the attributions.")
    if removal not in REMOVALS:
        raise EvidenceError("removal", repr(removal), f"one of {', '.join(REMOVALS)}")
    for what, number, least in (("draws", draws, 1), ("seed", seed, 0)):
        if not isinstance(number, int | np.integer) or number < least:
            raise EvidenceError(what, repr(number), f"a whole number from {least} on")


def _removed_features(
    evidence: AttributionEvidence, n_removals: int, seed: int
) -> Bool[np.ndarray, "samples removals cases groups"]:
    """Of each order the first so many, then all but these: orders x (removed, only) x steps."""
    own = rank_features(compute_strengths(evidence))
    steps = choose_removal_counts(own.shape[1])
    cases = [_first(order, steps) for order in (own, *make_null_orders(evidence, seed).values())]
    masks = np.concatenate([part for first in cases for part in (first, ~first)], axis=1)
    return np.repeat(masks[:, None], n_removals, axis=1)


def _first(
    order: Orders, steps: Int[np.ndarray, " steps"]
) -> Bool[np.ndarray, "samples steps groups"]:
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
    return np.asarray(rank[:, None, :] < steps[:, None])


def _with_curves(
    evidence: AttributionEvidence,
    questions: RemovalQuestions,
    means: Float[np.ndarray, "samples removals cases"],
) -> AttributionEvidence:
    steps = choose_removal_counts(questions.masks.shape[3])
    names = tuple(make_null_orders(evidence, questions.seed))
    table = means.reshape(*means.shape[:2], len(names) + 1, 2, len(steps))
    curves = table.transpose(3, 0, 2, 1, 4)  # removed or only, samples, orders, removals, steps
    removed, only = curves[:, :, 0]
    chance_removed, chance_only = curves[:, :, 1:]
    return replace(
        evidence, counts=steps, removed=removed, only=only, chance_removed=chance_removed,
        chance_only=chance_only, removals=Removals(questions.removals), chances=Chances(names),
    )  # fmt: skip


def _with_best(
    evidence: AttributionEvidence, searched: Float[np.ndarray, "samples removals steps"]
) -> AttributionEvidence:
    output, own = np.asarray(evidence.output)[:, None, None], np.asarray(evidence.removed)
    larger = np.abs(searched - output) > np.abs(own - output)
    return replace(evidence, best_removed=np.where(larger, searched, own))


def _with_output(evidence: AttributionEvidence, respond: Answer) -> AttributionEvidence:
    """Add the model's output; raise if it differs from the explained output."""
    answered = _answers(respond, np.asarray(evidence.inputs, float))
    if evidence.output is None:
        return replace(evidence, output=answered)
    away, size = float(np.abs(answered - evidence.output).mean()), np.abs(evidence.output).max()
    if away > MAX_RELATIVE_DIFFERENCE * np.std(evidence.output) + 1e-6 * size:
        raise EvidenceError(
            "respond", f"other answers than `output`, by {away:.3g} on average", "the same",
            "Is it the same model, output and scale (probability or log-odds)?",
        )  # fmt: skip
    return evidence


def _answers(respond: Answer, rows: np.ndarray) -> Float[np.ndarray, " rows"]:
    return _checked_answers(respond(rows), len(rows))


def _checked_answers(answers: Any, n: int | None = None) -> Float[np.ndarray, " rows"]:
    values = np.asarray(answers, float)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or (n is not None and len(values) != n):
        raise EvidenceError(
            "answers of the model", f"shape {values.shape}", "one number for each row",
            "Of probabilities take one column: lambda rows: model.predict_proba(rows)[:, 1].",
        )  # fmt: skip
    if not np.isfinite(values).all():
        raise EvidenceError("answers of the model", "NaN or infinite", "finite numbers")
    return values
