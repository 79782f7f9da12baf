"""What is asked of people: their favorites, their rankings, and how far groups of them agree."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite._stats.resampling import Draws
from theodolite.evidence.rating_summary import compute_modes, histogram
from theodolite_reproductions.findings.techniques.record import TechniqueRow, row_from
from theodolite_reproductions.findings.techniques.scores import TOGETHER
from theodolite_reproductions.findings.techniques.voted_table import SCALE, VotedTable
from theodolite_reproductions.unit_resamples import UnitResamples

FIRST = 12
POWER_NOTE = 0.1
"""Difference of kappas for which the number of people is told."""


def favorites(table: VotedTable, first: int) -> Bool[np.ndarray, "people techniques"]:
    """Return whether a technique is among a person's first ones, by their mean vote on Q1 to Q4.

    Somebody who rated no more techniques than the list is long has no list: all would be on it.
    Techniques that tie with the last one are all on it.
    """
    techniques, codes = table.codes("technique")
    ratings = [table.votes[q] for q in TOGETHER[0] if q in table.votes]
    lists = np.zeros((len(table.people), len(techniques)), bool)
    if not ratings:
        return lists
    means = np.full(lists.shape, np.nan)
    for at in range(len(techniques)):
        own = np.concatenate([votes[codes == at] for votes in ratings])
        known = ~np.isnan(own)
        n = known.sum(axis=0)
        sums = np.where(known, own, 0.0).sum(axis=0)
        means[:, at] = np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0)
    for person, own in enumerate(means):
        known = own[~np.isnan(own)]
        if len(known) > first:
            lists[person] = own >= np.sort(known)[-first]
    return lists


def favorite_rows(
    table: VotedTable, first: int, resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    """Fig. 10: on how many people's lists each technique is; people are resampled."""
    lists = favorites(table, first)
    having = np.flatnonzero(lists.any(axis=1))
    if not len(having):
        return
    redraws = UnitResamples.draw_within_groups(
        np.zeros(len(having), int), "people", resamples, seed
    )
    for at, name in enumerate(table.codes("technique")[0]):
        draws = redraws.mean(lists[having, at].astype(float)) * len(having)
        yield row_from({"technique": name}, draws, redraws, len(having), int(draws[0].round()))


def liked_rank(table: VotedTable, first: int, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """The share of resamples of people in which LIME and SHAP are in the upper quarter of methods
    by the number of lists that they are on."""
    lists = favorites(table, first).astype(float)
    having = np.flatnonzero(lists.any(axis=1))
    methods, codes = table.codes("method")
    liked = [m for m in methods if m in ("lime", "shap")]
    if not len(having) or not liked:
        return
    _, technique = table.codes("technique")
    of = codes[np.unique(technique, return_index=True)[1]]
    redraws = UnitResamples.draw_within_groups(
        np.zeros(len(having), int), "people", resamples, seed
    )
    # means over a method's techniques, lest methods on many networks be ahead by number
    on_lists = np.stack([lists[having][:, of == at].mean(axis=1) for at in range(len(methods))])
    counts = np.einsum("rp,mp->rm", redraws.times, on_lists)
    ranks = (counts[:, :, None] < counts[:, None, :]).sum(axis=2)
    upper = ranks < max(len(methods) / 4, 1)
    meets = upper[:, [methods.index(m) for m in liked]].all(axis=1).astype(float)
    share = float(meets[1:].mean())
    yield TechniqueRow(
        names={"methods": " and ".join(liked), "rule": "upper quarter"}, value=share, low=share,
        high=share, unit="people", units=len(having), n=len(methods),
    )  # fmt: skip


def ranking_rows(
    rankings: Mapping[str, Sequence[Any]], resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    """Q7 to Q9: mean places of what people put in order; people are resampled."""
    columns = [rankings.get(name, ()) for name in ("person", "question", "item", "place")]
    places: dict[str, dict[str, dict[str, float]]] = {}
    for person, question, item, place in zip(*columns, strict=True):
        places.setdefault(str(question), {}).setdefault(str(item), {})[str(person)] = float(place)
    for question, by_item in places.items():
        people = sorted({person for own in by_item.values() for person in own})
        redraws = UnitResamples.draw_within_groups(
            np.zeros(len(people), int), "people", resamples, seed
        )
        for item, own in by_item.items():
            values = np.array([own.get(person, np.nan) for person in people])
            names = {"question": question, "item": item}
            yield row_from(names, redraws.mean(values), redraws, len(people), len(own))


def agreement_rows(
    table: VotedTable, people: Mapping[str, Sequence[Any]], resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    """Fig. 12: quadratic kappa of each vote with the mode of the others', by group of people.

    Groups are told where two or more people of each voted; people are resampled within groups.
    """
    for band in (name for name in people if name not in ("person", "source")):
        group_of = dict(zip(people["person"], people[band], strict=True))
        for question, ratings in table.votes.items():
            sums = pair_sums(ratings)
            voted = sums[:, 0] > 0
            groups = np.array([str(group_of.get(p) or "") for p in table.people])
            names = sorted(g for g in set(groups[voted]) if g and (groups[voted] == g).sum() > 1)
            draws: dict[str, tuple[Draws, UnitResamples]] = {}
            for name in names:
                own = np.flatnonzero(voted & (groups == name))
                redraws = UnitResamples.draw_within_groups(
                    np.zeros(len(own), int), "people", resamples, seed
                )
                kappas = kappa_of(np.einsum("rp,ps->rs", redraws.times, sums[own]))
                draws[name] = (kappas, redraws)
                row = {"band": band, "group": name, "question": question}
                yield row_from(row, kappas, redraws, len(own), int(sums[own, 0].sum()))
            for i, first in enumerate(names):
                for second in names[i + 1 :]:
                    both = draws[first][0] - draws[second][0]
                    row = {"band": band, "group": f"{first} minus {second}", "question": question}
                    yield row_from(row, both, draws[first][1], int(voted.sum()), 2)


def people_needed(row: TechniqueRow, effect: float = POWER_NOTE) -> int | None:
    """People whose difference of kappas would be found in four of five studies, at this scatter."""
    if row.error is None or not row.error > 0:
        return None
    return int(np.ceil(row.units * (2.8 * row.error / effect) ** 2))


def pair_sums(ratings: Float[np.ndarray, "rows people"]) -> Float[np.ndarray, "people 6"]:
    """Of each person's votes and the mode of the others': n, sums, squares and products."""
    counts = histogram(ratings, SCALE)
    sums = np.zeros((ratings.shape[1], 6))
    for person in range(ratings.shape[1]):
        rows = np.flatnonzero(~np.isnan(ratings[:, person]))
        own = ratings[rows, person]
        others = counts[rows].copy()
        others[np.arange(len(rows)), np.searchsorted(SCALE, own)] -= 1
        shared = others.any(axis=1)
        x, y = own[shared], compute_modes(others[shared], SCALE, "lowest")
        sums[person] = [len(x), x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()]
    return sums


def kappa_of(sums: Float[np.ndarray, "draws 6"]) -> Draws:
    """Quadratic kappa; undefined where neither side varies."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        disagreement = (xx + yy - 2 * xy) / n
        chance = xx / n + yy / n - 2 * (x / n) * (y / n)
        return np.asarray(np.where(chance > 1e-12, 1 - disagreement / chance, np.nan))
