"""Define null baselines of saliency metrics: maps without knowledge of image or model."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._stats.sampling import POOLED, draw_other_rows, draw_pool, hash_to_uniforms
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import NullModel, PerSample


def _in_the_order_of(name: str) -> Callable[[SaliencyEvidence, int], SaliencyEvidence]:
    """Curves that were drawn when the network was run; undefined where these were not."""

    def make(evidence: SaliencyEvidence, seed: int) -> SaliencyEvidence:
        del seed
        most, least = (np.asarray(getattr(evidence, f"chance_{order}")) for order in ORDERS)
        if name in evidence.chances.names:
            at = evidence.chances.names.index(name)
            return replace(evidence, most_first=most[:, at], least_first=least[:, at])
        nothing = np.full(most[:, 0].shape, np.nan)
        return replace(evidence, most_first=nothing, least_first=nothing)

    return make


ORDERS = ("most_first", "least_first")
CHANCES = (
    NullModel(
        "random_map", "pixels removed in the order of a map of noise", _in_the_order_of("random"),
        random=False,
    ),
    NullModel(
        "smooth_random_map", "pixels removed in the order of a map of broad random hills",
        _in_the_order_of("smooth"), random=False,
    ),
    NullModel(
        "center", "pixels removed from the middle of the image outwards",
        _in_the_order_of("center"), random=False,
        label="center baseline",
    ),
)  # fmt: skip


def _another_map(evidence: SaliencyEvidence, seed: int) -> SaliencyEvidence:
    del seed
    shape = np.asarray(evidence.changes).shape
    away = np.asarray(evidence.chance_changes)[:, None, None]
    return replace(evidence, changes=np.broadcast_to(away, shape))


ANOTHER_MAP = NullModel(
    "another_image",
    "the distance to the map of a random other image, which has nothing to do with this one",
    _another_map,
    random=False,
    label="another_image",
)


def _nothing_in_common(evidence: SaliencyEvidence, seed: int) -> SaliencyEvidence:
    del seed
    alike = np.asarray(evidence.randomized_similarity)
    return replace(evidence, randomized_similarity=np.where(np.isnan(alike), np.nan, 0.0))


NOTHING_IN_COMMON = NullModel(
    "zero_correlation",
    "a map that is another one altogether when the network has learned nothing",
    _nothing_in_common,
    random=False,
    is_reference=True,
)


def pool_maps(evidence: SaliencyEvidence) -> dict[str, np.ndarray]:
    """Return the maps of some images, among which others are drawn."""
    samples = evidence.samples
    return draw_pool(np.asarray(samples.index), {"maps": evidence.maps}, samples.clusters)


def _maps_dealt_out(
    evidence: SaliencyEvidence, seed: int, pool: Mapping[str, np.ndarray]
) -> SaliencyEvidence:
    samples = evidence.samples
    other = draw_other_rows(pool, np.asarray(samples.index), (), seed, samples.clusters)
    maps = pool[POOLED + "maps"][other]
    # there is no other: a uniform map, of which any pixel is as good as any other
    return replace(evidence, maps=np.where((other >= 0)[:, None, None], maps, 1.0))


SHUFFLED_IMAGES = NullModel(
    "another_image",
    "the maps dealt out over the images",
    _maps_dealt_out,
    sums=pool_maps,
    label="another_image",
)


def make_center_map(rows: int, columns: int) -> np.ndarray:
    """Return a map with a hill in the center, a quarter of the image's side wide."""
    down, across = (((np.arange(n) + 0.5) / n - 0.5) / 0.25 for n in (rows, columns))
    return np.asarray(np.exp(-(down[:, None] ** 2 + across[None, :] ** 2) / 2))


def use_center(evidence: SaliencyEvidence) -> np.ndarray:
    """Return the map of the center for every image."""
    _, rows, columns = evidence.maps.shape
    return np.broadcast_to(make_center_map(rows, columns), evidence.maps.shape)


def use_edges(evidence: SaliencyEvidence) -> np.ndarray | None:
    """Return the edges of the images, if there are any."""
    return None if evidence.edges is None else np.asarray(evidence.edges)


def use_saturation(evidence: SaliencyEvidence) -> np.ndarray | None:
    """Return the color saturation of the images, if there is any."""
    return None if evidence.saturation is None else np.asarray(evidence.saturation)


def _centered(evidence: SaliencyEvidence, seed: int) -> SaliencyEvidence:
    del seed
    return replace(evidence, maps=use_center(evidence))


IMAGE_CENTER = NullModel(
    "center",
    "one hill in the middle of every image",
    _centered,
    random=False,
    label="center baseline",
)


def _compute_area(evidence: SaliencyEvidence, **options: Any) -> PerSample:
    """Return the fraction of the image that the object covers, if there is one."""
    del options
    area = np.asarray(evidence.objects).mean(axis=(1, 2))
    return PerSample.from_values(area, area > 0)


FLAT_MAP = NullModel(
    "uniform_map",
    "all pixels alike: the share of the image that the object covers",
    expected=_compute_area,
    random=False,
)
RANDOM_PLACE = NullModel(
    "random_location",
    "a map that peaks anywhere: the share of the image that the object covers",
    expected=_compute_area,
    random=False,
)


def _noise(evidence: SaliencyEvidence, seed: int) -> SaliencyEvidence:
    return replace(
        evidence,
        maps=hash_to_uniforms(np.asarray(evidence.samples.index), evidence.maps.shape[1:], seed),
    )


NOISE = NullModel("noise", "every pixel drawn at random", _noise)
