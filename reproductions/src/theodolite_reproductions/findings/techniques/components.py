"""How much of the variance of single votes lies in methods, networks, images and people."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.technique_columns import UNNAMED
from theodolite_reproductions.findings.techniques.record import TechniqueRow, row_from
from theodolite_reproductions.findings.techniques.voted_table import VotedTable
from theodolite_reproductions.unit_resamples import UnitResamples

FACTORS = ("method", "network within method", "image", "person")
REST = "rest"
NETWORK_OVER_METHOD = "network within method minus method"
MOST_RESAMPLES = 200
"""Each solves the equations anew."""
Codes = Int[np.ndarray, " votes"]


def variance_components(
    votes: Float[np.ndarray, " votes"], factors: Sequence[Codes]
) -> Float[np.ndarray, " components"]:
    """Variances of independent effects of each factor, and of the rest, from single votes.

    By equating sums of squares of group totals with what they would be on average (MINQUE with zero
    weights). Unbiased for any design, so that a small variance can come out below 0; NaN where the
    design cannot tell two of them apart.
    """
    centered = votes - votes.mean()
    n = len(votes)
    counts = [np.bincount(codes) for codes in factors]
    squares = [float((np.bincount(codes, weights=centered) ** 2).sum()) for codes in factors]
    squares.append(float((centered**2).sum()))
    size = len(factors) + 1
    expected = np.empty((size, size))
    for i, (one_codes, own) in enumerate(zip(factors, counts, strict=True)):
        for j, (other_codes, others) in enumerate(zip(factors, counts, strict=True)):
            cross = np.zeros((len(own), len(others)))
            np.add.at(cross, (one_codes, other_codes), 1.0)
            expected[i, j] = ((cross - np.outer(own, others) / n) ** 2).sum()
        expected[i, -1] = expected[-1, i] = n - float((own**2).sum()) / n
    expected[-1, -1] = n - 1
    if np.linalg.matrix_rank(expected) < size:
        return np.full(size, np.nan)
    return np.asarray(np.linalg.solve(expected, squares))


def component_rows(table: VotedTable, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """The components of each question, and whether networks weigh more than methods.

    Whole methods are resampled, each drawn one with levels of its own: techniques redraws twice
    within a method would make its networks look alike.
    """
    named = table.source != UNNAMED
    for question, ratings in table.votes.items():
        rows, people = np.nonzero(~np.isnan(ratings))
        votes = ratings[rows, people]
        codes = [table.codes(kind)[1][rows] for kind in ("method", "technique", "image")]
        factors = [*codes, people] if named else codes
        names = [*(FACTORS if named else FACTORS[:-1]), REST]
        methods = len(np.unique(codes[0]))
        redraws = UnitResamples.draw_within_groups(
            np.zeros(methods, int), "methods", min(resamples, MOST_RESAMPLES), seed
        )
        draws = np.stack([_redrawn(votes, factors, times) for times in redraws.times])
        for at, name in enumerate(names):
            row = {"component": name, "question": question}
            yield row_from(row, draws[:, at], redraws, methods, len(votes))
        contrast = {"component": NETWORK_OVER_METHOD, "question": question}
        yield row_from(contrast, draws[:, 1] - draws[:, 0], redraws, methods, len(votes))


def _redrawn(
    votes: Float[np.ndarray, " votes"],
    factors: Sequence[Codes],
    times: Float[np.ndarray, " methods"],
) -> Float[np.ndarray, " components"]:
    method, technique, *others = factors
    present, at = np.unique(method, return_inverse=True)
    rows, copy = [], []
    for number in range(len(present)):
        own = np.flatnonzero(at == number)
        for again in range(int(times[number])):
            rows.append(own)
            copy.append(np.full(len(own), again))
    if not rows:
        return np.full(len(factors) + 1, np.nan)
    picked, copies = np.concatenate(rows), np.concatenate(copy)
    own_method, own_technique = (
        np.unique(codes[picked] * (int(times.max()) + 1) + copies, return_inverse=True)[1]
        for codes in (method, technique)
    )
    rest = [np.unique(codes[picked], return_inverse=True)[1] for codes in others]
    return variance_components(votes[picked], [own_method, own_technique, *rest])
