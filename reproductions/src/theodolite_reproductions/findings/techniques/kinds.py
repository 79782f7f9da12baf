"""Acceptance by technique, and of kinds of techniques: each claim resamples its own samples."""

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from theodolite._stats.intervals import quantile
from theodolite._stats.resampling import LEVEL, Draws
from theodolite_reproductions.findings.techniques.record import TechniqueRow, row_from
from theodolite_reproductions.findings.techniques.voted_table import VotedTable
from theodolite_reproductions.unit_resamples import UnitResamples

OF_TECHNIQUES = ("modality", "network", "method")
"""Kinds of techniques: what is a sample in a claim about them is a technique."""
NORMAL = float(ndtri((1 + LEVEL) / 2))
Means = Float[np.ndarray, " groups"]
Codes = Int[np.ndarray, " rows"]


def group_means(values: Float[np.ndarray, " rows"], codes: Codes, groups: int) -> Means:
    """The mean of what is defined in each group; NaN where nothing is."""
    known = ~np.isnan(values)
    n = np.bincount(codes[known], minlength=groups)
    sums = np.bincount(codes[known], weights=values[known], minlength=groups)
    return np.asarray(np.divide(sums, n, out=np.full(groups, np.nan), where=n > 0))


def by_technique(table: VotedTable, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """Each technique on its own images, which are resampled."""
    ratings = {quality: table.rating(quality) for quality in table.asked}
    yield from _on_own_images(table, "technique", ratings, resamples, seed)


def by_data_set(table: VotedTable, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """Each data set over its own images."""
    ratings = {quality: table.rating(quality) for quality in table.asked}
    yield from _on_own_images(table, "data_set", ratings, resamples, seed)


def by_number(
    table: VotedTable, numbers: Mapping[str, np.ndarray], resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    """Table 11: means of numbers that need no people, technique by technique."""
    rows = _on_own_images(table, "technique", numbers, resamples, seed)
    yield from (row for row in rows if row.value is not None)


def _on_own_images(
    table: VotedTable, kind: str, values: Mapping[str, np.ndarray], resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    names, codes = table.codes(kind)
    _, images = table.codes("image")
    for at, name in enumerate(names):
        own = np.flatnonzero(codes == at)
        _, units = np.unique(images[own], return_inverse=True)
        n = int(units.max()) + 1
        redraws = _redraws(n, "images", resamples, seed).expand_to_rows(units)
        for column, numbers in values.items():
            mean = redraws.mean(numbers[own])
            row = {kind: name or "not said", "of": column}
            yield row_from(row, mean, redraws, n, int((~np.isnan(numbers[own])).sum()))


def by_kind(table: VotedTable, kind: str, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """Means of technique means, each technique counting once; techniques are resampled."""
    names, groups = technique_kinds(table, kind)
    for quality in table.asked:
        means = technique_ratings(table, quality)
        n = (~np.isnan(table.rating(quality))).astype(int)
        redraws = UnitResamples.draw_within_groups(groups, "techniques", resamples, seed)
        for at, name in enumerate(names):
            row = {kind: name or "not said", "of": quality}
            of_kind = n[np.isin(table.codes("technique")[1], np.flatnonzero(groups == at))].sum()
            draws = kind_mean(redraws, means, groups == at)
            yield row_from(row, draws, redraws, int((groups == at).sum()), int(of_kind))


def modality_contrast(
    table: VotedTable, resamples: int, seed: int, unit: str = "techniques"
) -> Iterator[TechniqueRow]:
    """Saliency minus concepts.

    ``unit`` is here to show what resampling images would claim: it holds the techniques fixed, as
    if there were no others, and is far too narrow for a claim about kinds of them.
    """
    names, groups = technique_kinds(table, "modality")
    if not {"saliency", "concept"} <= set(names):
        return
    maps, concepts = (groups == names.index(name) for name in ("saliency", "concept"))
    for quality in table.asked:
        if unit == "techniques":
            redraws = UnitResamples.draw_within_groups(groups, unit, resamples, seed)
            means = technique_ratings(table, quality)
            draws = kind_mean(redraws, means, maps) - kind_mean(redraws, means, concepts)
            units = len(groups)
        else:
            draws, redraws, units = _over_images(table, quality, resamples, seed)
        names_of_row = {"contrast": "saliency minus concepts", "of": quality}
        yield row_from(names_of_row, draws, redraws, units, len(table))


def network_contrasts(table: VotedTable, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """Each network minus each other one, among saliency methods that both have; methods are
    resampled."""
    maps = table.of["modality"] == "saliency"
    networks = [
        n for n in table.codes("network")[0] if n and (table.of["network"][maps] == n).any()
    ]
    methods, codes = table.codes("method")
    for quality in table.asked:
        values = table.rating(quality)
        means = {
            n: group_means(
                np.where(maps & (table.of["network"] == n), values, np.nan), codes, len(methods)
            )
            for n in networks
        }
        if len(networks) > 2:
            for name in networks:
                others = [means[n] for n in networks if n != name]
                means[f"others than {name}"] = _known_mean(np.stack(others))
        pairs = [(a, b) for i, a in enumerate(networks) for b in networks[i + 1 :]]
        pairs += [(a, f"others than {a}") for a in networks if f"others than {a}" in means]
        for first, second in pairs:
            both = means[first] - means[second]
            both = both[~np.isnan(both)]
            redraws = _redraws(len(both), "methods", resamples, seed)
            row = {"contrast": f"{first} minus {second}", "of": quality}
            if len(both):
                every = np.ones(len(both), bool)
                draws = kind_mean(redraws, both, every)
                yield row_from(row, draws, redraws, len(both), len(both))


def method_contrasts(table: VotedTable, resamples: int, seed: int) -> Iterator[TechniqueRow]:
    """Each saliency method minus the other maps of the same networks, the same images drawn for
    both: whether one method is liked, not whether a kind of them is."""
    maps = table.of["modality"] == "saliency"
    images, codes = table.codes("image")
    redraws = _redraws(len(images), "images", resamples, seed).expand_to_rows(codes)
    networks = [n for n in table.codes("network")[0] if (maps & (table.of["network"] == n)).any()]
    methods = [m for m in table.codes("method")[0] if (maps & (table.of["method"] == m)).any()]
    for quality in table.asked:
        values = table.rating(quality)
        for method in methods:
            each = []
            for network in networks:
                on = maps & (table.of["network"] == network)
                own = on & (table.of["method"] == method)
                if own.any() and (on & ~own).any():
                    each.append(
                        redraws.mean(np.where(own, values, np.nan))
                        - redraws.mean(np.where(on & ~own, values, np.nan))
                    )
            if each:
                row = {"contrast": f"{method} minus other maps", "of": quality}
                n = int((maps & (table.of["method"] == method)).sum())
                yield row_from(row, np.mean(each, axis=0), redraws, len(images), n)


def _known_mean(rows: np.ndarray) -> np.ndarray:
    known = ~np.isnan(rows)
    n = known.sum(axis=0)
    sums = np.where(known, rows, 0.0).sum(axis=0)
    return np.asarray(np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0))


def technique_kinds(
    table: VotedTable, kind: str
) -> tuple[list[str], Int[np.ndarray, " techniques"]]:
    """The names of a kind, and which of them each technique is."""
    _, codes = table.codes("technique")
    first = np.unique(codes, return_index=True)[1]
    names, groups = np.unique(table.of[kind][first], return_inverse=True)
    return [str(name) for name in names], np.asarray(groups)


def technique_ratings(table: VotedTable, quality: str) -> Means:
    """The mean rating of each technique."""
    names, codes = table.codes("technique")
    return group_means(table.rating(quality), codes, len(names))


def kind_mean(resamples: UnitResamples, means: Means, members: np.ndarray) -> Draws:
    """The mean over members, its spread as that of a sample of so few.

    A plain bootstrap of n units is too narrow by the root of (n - 1) / n, and by what Student's t
    is wider than the normal law: with four units its 95 % are 79 %.
    """
    draws = resamples.mean(np.where(members, means, np.nan))
    n = int((members & ~np.isnan(means)).sum())
    wider = np.sqrt(n / (n - 1)) * quantile(n - 1, LEVEL) / NORMAL if n > 1 else 1.0
    return np.asarray(draws[0] + (draws - draws[0]) * wider)


def _over_images(
    table: VotedTable, quality: str, resamples: int, seed: int
) -> tuple[Draws, UnitResamples, int]:
    images, codes = table.codes("image")
    redraws = _redraws(len(images), "images", resamples, seed).expand_to_rows(codes)
    techniques, own = table.codes("technique")
    names, groups = technique_kinds(table, "modality")
    values = table.rating(quality)
    each = np.stack(
        [redraws.mean(np.where(own == t, values, np.nan)) for t in range(len(techniques))]
    )
    maps, concepts = (groups == names.index(name) for name in ("saliency", "concept"))
    draws = np.nanmean(each[maps], axis=0) - np.nanmean(each[concepts], axis=0)
    return np.asarray(draws), redraws, len(images)


def _redraws(n: int, unit: str, resamples: int, seed: int) -> UnitResamples:
    """Resamples of n units; of a single one it is always itself."""
    return UnitResamples.draw_within_groups(np.zeros(n, int), unit, resamples, seed)
