"""Metric of how much of the variance of ratings is between explanations."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._ratings import rating_metric
from theodolite.metrics.base import Additive, Card, Weights, constant, ratio, total

Form = Annotated[
    Literal["ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k"],
    Field(description="Which raters the votes stand for, of one rater or (k) of their mean."),
]


@rating_metric(
    "intraclass_correlation",
    paper_names=("ICC",),
    title="Intraclass correlation",
    bounds=(float("-inf"), 1.0),
    cite="shrout1979intraclass",
    card=Card(
        question="How much of the spread of votes is between explanations, not between people?",
        interpretation="1: all of it. 0: explanations explain nothing of the votes. The forms with "
        "k are for the mean of all raters, so they rise with their number.",
        limitations="Treats the answers as numbers: the step from 1 to 2 counts as that from 4 to "
        "5. Low where all explanations are alike. The forms ICC2 and ICC3 need people who rated "
        "everything: where columns are positions in a list, only ICC1 means something.",
        cost="sums of squares",
    ),
)
@dataclass(frozen=True)
class IntraclassCorrelation(Additive):
    r"""Intraclass correlation :cite:p:`shrout1979intraclass`, from analyses of variance.

    .. math:: \mathrm{ICC}_1 = \frac{B - W}{B + (k - 1) W} \qquad
        \mathrm{ICC}_2 = \frac{B - E}{B + (k - 1) E + \frac{k}{n} (J - E)} \qquad
        \mathrm{ICC}_3 = \frac{B - E}{B + (k - 1) E}

    :math:`B` is the mean square between :math:`n` explanations, :math:`W` that within them,
    :math:`J` that between :math:`k` raters, :math:`E` what is left.

    ``ICC1``: each explanation is rated by other people. ``ICC2``: the same people rate all, drawn
    from many; their habits count as disagreement. ``ICC3``: these people and no others, whose
    habits do not count. With ``k``: of the mean of all raters instead of one.

    With missing votes the forms ``ICC1`` and ``ICC1k`` take every explanation with a vote and the
    number of raters from an unbalanced analysis. The others take the explanations that everybody
    rated, and are undefined if fewer than two are. All are undefined where their denominator, an
    estimate of a variance, is not above 0.

    Example:
        >>> from theodolite.metrics import intraclass_correlation
        >>> votes = [[9.0, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9]]
        >>> scale = [float(answer) for answer in range(1, 11)]
        >>> round(intraclass_correlation([*votes, [6, 2, 4, 7]], scale, form="ICC2"), 6)
        0.289764
    """

    any_vote: np.ndarray
    """Explanations, votes, their squared number, sum, squares, squared sums by explanation."""
    all_votes: np.ndarray
    """Of those everybody rated: explanations, squares, squared sums, and each rater's sum."""
    spread: float = constant()
    """Squared length of the scale, to tell nothing from what rounding leaves."""
    form: str = constant()

    @classmethod
    def of(
        cls, evidence: RatingEvidence, weights: Weights = None, *, form: Form = "ICC1"
    ) -> "IntraclassCorrelation":
        scale = evidence.scale
        has_vote = ~np.isnan(evidence.ratings)
        # counted from the middle of the scale, where squares are small
        votes = np.where(has_vote, evidence.ratings - (scale[0] + scale[-1]) / 2, 0.0)
        k = has_vote.sum(axis=1).astype(float)
        sums, squares = votes.sum(axis=1), (votes**2).sum(axis=1)
        own = sums**2 / np.maximum(k, 1.0)
        rated = (k > 0).astype(float)
        full = has_vote.all(axis=1)[:, None]
        of_all = np.where(full, np.column_stack([rated, squares, own, votes]), 0.0)
        return cls(
            any_vote=total(np.stack([rated, k, k**2, sums, squares, own], axis=1), weights),
            all_votes=total(of_all, weights),
            spread=float((scale[-1] - scale[0]) ** 2),
            form=form,
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Explanations that entered, and rated ones that not everybody rated."""
        rated = np.asarray(self.any_vote[..., 0])
        entered = rated if self.form.startswith("ICC1") else np.asarray(self.all_votes[..., 0])
        return entered, np.asarray(rated - entered)

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """Compute the correlation from the sums."""
        form = self.form
        if form in ("ICC1", "ICC1k"):
            between, within, k = self._one_way()
            share = within
            over = between if form == "ICC1k" else between + (k - 1) * within
        else:
            between, share, raters, n, k = self._two_way()
            habits = (raters - share) if form in ("ICC2", "ICC2k") else np.zeros_like(raters)
            per = 1.0 if form.endswith("k") else k
            over = between + (per * habits) / np.maximum(n, 1.0)
            over = over if form.endswith("k") else over + (k - 1) * share
        over = np.where(over > 1e-9 * self.spread, over, 0.0)
        return ratio(between - share, over)

    def _one_way(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean squares between and within explanations, and votes per explanation."""
        n, votes, squared, sums, squares, own = np.moveaxis(self.any_vote, -1, 0)
        grand = sums**2 / np.maximum(votes, 1.0)
        between = self._clean(ratio(own - grand, n - 1))
        within = self._clean(ratio(squares - own, votes - n))
        return between, within, ratio(votes - squared / np.maximum(votes, 1.0), n - 1)

    def _two_way(self) -> tuple[np.ndarray, ...]:
        """Mean squares of explanations, of what is left and of raters; and both numbers."""
        n, squares, own = np.moveaxis(self.all_votes[..., :3], -1, 0)
        by_rater = self.all_votes[..., 3:]
        k = np.full(np.shape(n), float(by_rater.shape[-1]))
        at_least_one = np.maximum(n, 1.0)
        grand = by_rater.sum(axis=-1) ** 2 / (at_least_one * k)
        raters = (by_rater**2).sum(axis=-1) / at_least_one - grand
        between = self._clean(ratio(own - grand, n - 1))
        left = self._clean(ratio(squares - own - raters, np.maximum((n - 1) * (k - 1), 0.0)))
        return between, left, self._clean(ratio(raters, k - 1)), np.asarray(n), k

    def _clean(self, mean_square: np.ndarray) -> np.ndarray:
        """What rounding leaves of nothing is nothing."""
        return np.where(mean_square <= 1e-12 * self.spread, 0.0, mean_square)
