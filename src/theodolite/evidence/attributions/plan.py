"""Plan the rows that a model must answer to score attributions, and store its answers as evidence.

Each row is asked without many subsets of its features, once: attributions, baselines and the best
possible attributions are scored on the same answers. Public as ``theodolite.attribution_plan``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.removal_rows import RemovalRows
from theodolite.evidence.attributions.subsets import draw_subsets
from theodolite.evidence.kinds.attribution import AttributionEvidence

Answer = Callable[[np.ndarray], Any]
DRAWS = 20
"""Usual number of background rows for each sample."""
MAX_RELATIVE_DIFFERENCE = 1e-3
"""Largest difference of the model's output from the given one, in standard deviations of the
output.
"""


@dataclass(frozen=True, eq=False)
class AttributionPlan:
    """The rows that a model has to answer; none when everything is answered.

    Attributes:
        evidence: The attributions, with the answers once these are there.
        questions: What is asked; nothing when all is answered.
    """

    evidence: AttributionEvidence
    questions: RemovalRows | None

    def __len__(self) -> int:
        return 0 if self.questions is None else len(self.questions)

    def __repr__(self) -> str:
        return f"<AttributionPlan: {len(self):,} rows to be answered>"

    @property
    def rows(self) -> Float[np.ndarray, "rows features"]:
        """All rows that the model must answer."""
        return np.concatenate([np.empty((0, len(self.evidence.features))), *self.blocks()])

    def blocks(self) -> Iterator[Float[np.ndarray, "rows features"]]:
        """Yield the rows of this plan in blocks."""
        return iter(()) if self.questions is None else self.questions.blocks()

    def ask(self, respond: Answer) -> AttributionEvidence:
        """Return the evidence with all answers of a model.

        Args:
            respond: A function from rows of features to the explained output, a number each.
        """
        plan = replace(self, evidence=_with_output(self.evidence, respond))
        return plan.answered(np.concatenate([_answers(respond, rows) for rows in plan.blocks()]))

    def answered(self, answers: Float[np.ndarray, " rows"]) -> AttributionEvidence:
        """Return the evidence with these answers to all rows."""
        questions, output = self.questions, self.evidence.output
        if questions is None:
            return self.evidence
        if output is None:
            raise EvidenceError("output", "none", "`output`: what the model answers for `inputs`")
        if len(answers) != len(self):
            raise EvidenceError(
                "answers", f"{len(answers):,}", f"{len(self):,}, one for each row of the plan",
                "Are they of the rows of this plan: same evidence, draws, subsets and seed?",
            )  # fmt: skip
        means = answers.reshape(len(output), -1, questions.draws).mean(axis=2)
        return replace(self.evidence, removed=questions.removed, change=output[:, None] - means)


def attribution_plan(
    evidence: AttributionEvidence,
    answers: ArrayLike | None = None,
    *,
    draws: int = DRAWS,
    subsets: int | None = None,
    seed: int = 0,
) -> AttributionPlan:
    """Return the rows that a model must answer so that attributions can be scored.

    Answer ``plan.rows``, and pass the answers: ``plan.evidence`` then has them. The rows are the
    same whenever the arguments are.

    Args:
        evidence: Attributions with ``inputs``, ``output`` and ``background``.
        answers: What the model answered, in the order of the rows.
        draws: Background rows that the values of removed features are taken from, for each sample.
        subsets: Subsets of features that are removed from each sample, an even number; all up to
            seven features, else eight for each feature, from 128 to 512.
        seed: Of the subsets and background rows.

    Example:
        >>> import numpy as np, theodolite
        >>> evidence = theodolite.AttributionEvidence(
        ...     values=np.array([[2.0, -1.0, 0.0]]), inputs=np.array([[1.0, 1.0, 1.0]]),
        ...     output=np.array([1.0]), background=np.zeros((1, 3)),
        ... )
        >>> plan = theodolite.attribution_plan(evidence)
        >>> answers = 2 * plan.rows[:, 0] - plan.rows[:, 1]  # the model
        >>> theodolite.attribution_plan(evidence, answers).evidence.change
        array([[ 2., -1.,  1.,  0.,  2., -1.]])
    """
    _check_plan(evidence, draws, subsets, seed)
    bare = replace(evidence, removed=None, change=None)
    groups = evidence.groups
    n_groups = len(evidence.features) if groups is None else int(groups.max()) + 1
    removed = draw_subsets(np.asarray(evidence.samples.index), n_groups, seed, subsets)
    removed = removed if groups is None else removed[:, :, groups]
    plan = AttributionPlan(bare, RemovalRows(bare, removed, draws, seed))
    if answers is None:
        return plan
    return AttributionPlan(plan.answered(_checked_answers(answers)), None)


def _check_plan(evidence: Any, draws: int, subsets: int | None, seed: int) -> None:
    if not isinstance(evidence, AttributionEvidence):
        raise EvidenceError("evidence", type(evidence).__name__, "AttributionEvidence")
    for name in ("inputs", "background"):
        if getattr(evidence, name) is None:
            raise EvidenceError(name, "none", f"`{name}`", "Pass it with the attributions.")
    numbers = (("draws", draws, 1), ("seed", seed, 0), ("subsets", subsets or 2, 2))
    for what, number, least in numbers:
        if not isinstance(number, int | np.integer) or number < least:
            raise EvidenceError(what, repr(number), f"a whole number from {least} on")
    if subsets is not None and subsets % 2:
        raise EvidenceError("subsets", f"{subsets}", "an even number: each with its complement")


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
