"""Align the samples of two or more runs: match them by name and sort them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Shards, compute_evidence_digest

MIN_SHARED = 2
OTHER_ROWS = (
    "the %s at the same rows differ: perhaps the same samples in another order; "
    "save `ids` with both runs"
)


class NotComparableError(Exception):
    """A score of one run cannot be compared with that of another."""


@dataclass(frozen=True, eq=False)
class AlignedSamples:
    """Bundles of one kind, by run and seed, cut to the samples that all have, in one order."""

    bundles: tuple[tuple[Evidence | Shards, ...], ...]
    n: int
    dropped: tuple[int, ...]
    """Of each run, how many samples the others do not have."""
    identical: bool
    """Whether all runs hold the very same evidence."""


def align_samples(runs: Sequence[Sequence[Evidence]], *, same_data: bool) -> AlignedSamples:
    """Cut the bundles of each run (one per seed) to the samples that all runs have.

    Samples are the same where their ids are. Without ids their numbers must do: then labels or
    annotations must be there and agree, or ``same_data`` says that the runs read the same data.
    """
    firsts = [seeds[0] for seeds in runs]
    by_ids = all(bundle.samples.ids is not None for seeds in runs for bundle in seeds)
    keys = [[_get_sample_keys(bundle.samples, by_ids=by_ids) for bundle in seeds] for seeds in runs]
    common = _find_common_keys([key for seeds in keys for key in seeds])
    if len(common) < MIN_SHARED:
        raise NotComparableError("other samples")
    if not by_ids and any(len(own[0]) != len(common) for own in keys):
        raise NotComparableError("samples have no ids, and the runs have different numbers of them")
    cut = [
        [bundle[_find_rows(key, common)] for bundle, key in zip(seeds, own, strict=True)]
        for seeds, own in zip(runs, keys, strict=True)
    ]
    proofs = [_check_labels_agree(cut[0][0], seeds[0], by_ids=by_ids) for seeds in cut[1:]]
    if not by_ids and not same_data and not all(proofs):
        raise NotComparableError(
            "samples have numbers only, and no labels that show they are the same"
        )
    samples = Samples(
        index=np.asarray(cut[0][0].samples.index),
        ids=cut[0][0].samples.ids if by_ids else None,
        clusters=_get_clusters([seeds[0].samples for seeds in cut]),
    )
    placed = tuple(tuple(_replace_samples(bundle, samples) for bundle in seeds) for seeds in cut)
    digests = {tuple(compute_evidence_digest(bundle) for bundle in seeds) for seeds in placed}
    dropped = tuple(len(first) - len(common) for first in firsts)
    return AlignedSamples(placed, len(common), dropped, len(digests) == 1)


def align_shards(first: Shards, second: Shards, *, same_data: bool) -> AlignedSamples:
    """Two bundles that are too large for memory: they stay in their pieces, which must hold the
    same samples in the same order.

    Ids must be the same, or else numbers and labels, or ``same_data``; clusters too.
    """
    if len(first) != len(second):
        raise NotComparableError(
            f"{len(first):,} samples and {len(second):,}, too many to pair by id"
        )
    proof = True
    both = zip(first.samples(), second.samples(), strict=False)  # other cuts have other samples
    for (mine, labels), (yours, others) in both:
        if not _is_same(mine.ids, yours.ids) or not _is_same(mine.index, yours.index):
            raise NotComparableError("other samples, or another order of too many to pair by id")
        if not _is_same(mine.clusters, yours.clusters):
            raise NotComparableError("other clusters of the same samples")
        if labels is not None and others is not None and not _is_same(labels, others):
            raise NotComparableError(
                OTHER_ROWS % "labels" if mine.ids is None else "other labels of the same samples"
            )
        proof = proof and (mine.ids is not None or (labels is not None and others is not None))
    if not proof and not same_data:
        raise NotComparableError(
            "samples have numbers only, and no labels that show they are the same"
        )
    identical = list(first.digests()) == list(second.digests())
    return AlignedSamples(((first,), (second,)), len(first), (0, 0), identical)


def _is_same(mine: Any, yours: Any) -> bool:
    if mine is None or yours is None:
        return mine is yours
    return np.array_equal(np.asarray(mine), np.asarray(yours))


def _get_sample_keys(samples: Samples, *, by_ids: bool) -> np.ndarray:
    return np.asarray(samples.ids if by_ids else samples.index)


def _find_common_keys(keys: Sequence[np.ndarray]) -> np.ndarray:
    """What all have, in the order of the first."""
    shared = set(keys[0].tolist())
    for other in keys[1:]:
        shared &= set(other.tolist())
    return np.array([key for key in keys[0].tolist() if key in shared], keys[0].dtype)


def _find_rows(keys: np.ndarray, common: np.ndarray) -> np.ndarray:
    place = {key: row for row, key in enumerate(keys.tolist())}
    return np.array([place[key] for key in common.tolist()], np.int64)


def _check_labels_agree(evidence: Any, other: Any, *, by_ids: bool) -> bool:
    """Whether labels or annotations show that samples are the same; refused where they differ."""
    proof = False
    for name, bundle in evidence._inner():
        proof = _check_labels_agree(bundle, getattr(other, name), by_ids=by_ids) or proof
    # with ids the rows may well be prepared otherwise in another version
    known_by = ("labels", "truth", "objects", "ratings", *(() if by_ids else ("inputs",)))
    for name in known_by:
        mine, yours = getattr(evidence, name, None), getattr(other, name, None)
        if mine is None or yours is None:
            continue
        mine, yours = _select_shared_names(
            name, (evidence, np.asarray(mine)), (other, np.asarray(yours))
        )
        if mine.shape != yours.shape or not mine.size:
            continue
        if not np.array_equal(mine, yours, equal_nan=mine.dtype.kind == "f"):
            raise NotComparableError(
                f"other {name} of the same samples" if by_ids else OTHER_ROWS % name
            )
        proof = True
    return proof


def _select_shared_names(
    name: str, first: tuple[Any, np.ndarray], second: tuple[Any, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Classes and concepts may be in another order, or be others: only shared names can differ."""
    (a, mine), (b, yours) = first, second
    if name == "labels":
        names = [np.array(_get_names(bundle, "classes")) for bundle in (a, b)]
        if len(names[0]) and set(names[0].tolist()) == set(names[1].tolist()):
            return names[0][mine], names[1][yours]
        return mine, yours
    if name != "truth":
        return mine, yours
    shared = [n for n in _get_names(a, "concepts") if n in set(_get_names(b, "concepts"))]
    columns = [[_get_names(bundle, "concepts").index(n) for n in shared] for bundle in (a, b)]
    return mine[:, columns[0]], yours[:, columns[1]]


def _get_names(bundle: Any, axis: str) -> tuple[str, ...]:
    named_axis = getattr(bundle, axis, None)
    return named_axis.names if isinstance(named_axis, NamedAxis) else ()


def _get_clusters(samples: Sequence[Samples]) -> np.ndarray | None:
    """The first run's that has any: what belongs together in one belongs together in all."""
    return next((s.clusters for s in samples if s.clusters is not None), None)


def _replace_samples(evidence: Any, samples: Samples) -> Any:
    """Return this evidence for the given samples only."""
    inside = {name: _replace_samples(bundle, samples) for name, bundle in evidence._inner()}
    return replace(evidence, samples=samples, **inside)
