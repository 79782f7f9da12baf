"""Numbers that need no people against votes, and votes on one question against those on another.

A correlation over explanations mixes two things: whether better scored techniques are liked better,
and whether a technique's better scored explanations are. So it is told over all, within techniques
and between their means.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from theodolite._stats.ranks import average_ranks
from theodolite._stats.resampling import Draws
from theodolite_reproductions.findings.techniques.kinds import group_means
from theodolite_reproductions.findings.techniques.record import TechniqueRow, row_from
from theodolite_reproductions.findings.techniques.voted_table import VotedTable
from theodolite_reproductions.unit_resamples import UnitResamples

Over: TypeAlias = Literal["all", "within techniques", "between techniques"]
OVER: tuple[Over, ...] = ("all", "within techniques", "between techniques")
METHODS = ("pearson", "spearman")
TOGETHER = (("Q1", "Q2", "Q3", "Q4"), ("Q5", "Q6"))
"""Questions on the explanation itself, and on that of the changed image."""
Numbers = Float[np.ndarray, " rows"]


class Correlations:
    """Correlations over the rows of a table from one set of resamples of images, and one of
    techniques for those between technique means."""

    def __init__(self, table: VotedTable, resamples: int, seed: int) -> None:
        self.techniques, self.codes = table.codes("technique")
        self.images, self.of_image = table.codes("image")
        images = UnitResamples.draw_within_groups(
            np.zeros(len(self.images), int), "images", resamples, seed
        )
        self.rows = images.expand_to_rows(self.of_image)
        zero = np.zeros(len(self.techniques), int)
        self.means = UnitResamples.draw_within_groups(zero, "techniques", resamples, seed)

    def draws(self, x: Numbers, y: Numbers, over: Over, method: str) -> tuple[Draws, int, int]:
        """The correlation in each resample, with how many units and rows it is from.

        Ranks are those of all rows; they are not given anew in each resample.
        """
        known = ~(np.isnan(x) | np.isnan(y))
        x, y = (np.where(known, values, np.nan) for values in (x, y))
        if over != "all":
            a, b = (group_means(v, self.codes, len(self.techniques)) for v in (x, y))
            if over == "between techniques":
                pairs = int((~np.isnan(a)).sum())
                return self.means.correlation(_as(a, method), _as(b, method)), pairs, pairs
            x, y = x - a[self.codes], y - b[self.codes]
        units = len(np.unique(self.of_image[known]))
        return self.rows.correlation(_as(x, method), _as(y, method)), units, int(known.sum())

    def row(
        self, names: Mapping[str, str], x: Numbers, y: Numbers, over: Over, method: str
    ) -> TechniqueRow:
        """The same as a row."""
        draws, units, n = self.draws(x, y, over, method)
        of = self.means if over == "between techniques" else self.rows
        return row_from({**names, "over": over, "method": method}, draws, of, units, n)


def numbers_against_votes(
    table: VotedTable, numbers: Mapping[str, Numbers], correlations: Correlations
) -> Iterator[TechniqueRow]:
    """Tables 1, 9 and 10: every number against every question."""
    for name, values in numbers.items():
        for question in table.votes:
            rating = table.rating(question)
            for over in OVER:
                for method in METHODS:
                    names = {"number": name, "question": question}
                    yield correlations.row(names, values, rating, over, method)


def questions_against_questions(
    table: VotedTable, correlations: Correlations
) -> Iterator[TechniqueRow]:
    """Fig. 11: ratings on one question against those on another."""
    questions = list(table.votes)
    for i, first in enumerate(questions):
        for second in questions[i + 1 :]:
            for over in OVER:
                names = {"question": first, "with": second}
                pair = (table.rating(first), table.rating(second))
                yield correlations.row(names, *pair, over, "pearson")


def questions_together(table: VotedTable, correlations: Correlations) -> Iterator[TechniqueRow]:
    """Mean correlation of questions of one group minus that of questions of two."""
    questions = list(table.votes)
    group = {q: at for at, names in enumerate(TOGETHER) for q in names}
    for over in OVER:
        own: list[Draws] = []
        across: list[Draws] = []
        units = 0
        for i, first in enumerate(questions):
            for second in questions[i + 1 :]:
                pair = (table.rating(first), table.rating(second))
                draws, units, _ = correlations.draws(*pair, over, "pearson")
                (own if group[first] == group[second] else across).append(draws)
        if own and across:
            of = correlations.means if over == "between techniques" else correlations.rows
            draws = np.mean(own, axis=0) - np.mean(across, axis=0)
            names = {"contrast": "within groups minus between", "over": over}
            yield row_from(names, draws, of, units, len(table))


def _as(values: Numbers, method: str) -> Numbers:
    if method == "pearson":
        return values
    ranks = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    ranks[known] = average_ranks(values[known])
    return ranks
