"""The door of dissection: planes, label maps, void pixels, sizes, and the exact search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theodolite
from theodolite.dissection.masks import grid_of, nearest
from theodolite.dissection.search import Beam
from theodolite.errors import EvidenceError

NAMES = ["horn", "tusk", "tree"]


def scene(seed: int, n: int = 8, size: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Activations that follow some concept, and label maps with a void corner or edge."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, (n, size, size))
    labels = np.where(random.random(labels.shape) < 0.15, 255, labels)
    maps = np.stack(
        [labels == 1, (labels == 1) | (labels == 2), random.random(labels.shape) > 0.5], 1
    )
    return maps + random.random(maps.shape) * 0.1, labels


def test_worked_void() -> None:
    # pixels 0 to 7: the unit is on in 1 to 4, the concept in 3 to 6, void are 4 and 5
    on = np.isin(np.arange(8), (1, 2, 3, 4)).astype(float).reshape(1, 1, 2, 4)
    concept = np.isin(np.arange(8), (3, 4, 5, 6)).astype(int).reshape(1, 2, 4)
    void = concept.copy()
    void.reshape(-1)[[4, 5]] = 255
    both = np.concatenate([on, on])
    arguments = {"concepts": ["horn"], "quantile": 0.4, "beam": Beam(lengths=1)}
    plain = theodolite.dissect(both, np.concatenate([concept, concept]), **arguments)
    ignoring = theodolite.dissect(both, np.concatenate([void, void]), void=255, **arguments)
    assert plain.to_records()[0]["iou"] == pytest.approx(2 / 6)
    assert ignoring.to_records()[0]["iou"] == pytest.approx(1 / 4)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_void_against_a_naive_count(seed: int) -> None:
    activations, labels = scene(seed)
    result = theodolite.dissect(
        activations, labels, NAMES, void=255, quantile=0.7, beam=Beam(lengths=1)
    )
    counted = labels != 255
    for unit, (row, limit) in enumerate(zip(result.to_records(), result.limits, strict=True)):
        active = (activations[:, unit] > limit) & counted
        overlaps = [
            (active & (labels == c)).sum() / max((active | (labels == c)).sum(), 1)
            for c in (1, 2, 3)
        ]
        assert row["iou"] == pytest.approx(max(overlaps))


def test_planes_are_label_maps_where_concepts_do_not_overlap() -> None:
    activations, labels = scene(3)
    labels = np.where(labels == 255, 0, labels)
    planes = np.stack([labels == c for c in (1, 2, 3)], axis=1)
    numbers = theodolite.dissect(activations, labels, NAMES, quantile=0.7)
    booleans = theodolite.dissect(activations, planes, NAMES, quantile=0.7)
    for name in ("unit_pixels", "formula_pixels", "shared_pixels", "chance_shared_pixels"):
        first, second = (getattr(r.evidence, name) for r in (numbers, booleans))
        np.testing.assert_array_equal(first, second)


def test_large_masks_are_resampled_and_it_is_told() -> None:
    random = np.random.default_rng(0)
    labels = np.zeros((3, 240, 320), int)
    labels[:, :120] = 1
    activations = random.random((3, 2, 6, 8))
    auto = theodolite.dissect(activations, labels, ["top"], quantile=0.5)
    assert auto.atoms.grid == (221, 295) and "240 x 320" in auto.resampled
    full = theodolite.dissect(activations, labels, ["top"], quantile=0.5, resolution="full")
    assert full.atoms.grid == (240, 320) and full.resampled == ""
    assert full.evidence.formula_pixels[0, 0] == 120 * 320
    assert auto.fits[0] and full.fits[0]
    assert auto.fits[0].iou == pytest.approx(full.fits[0].iou, abs=0.02)
    sizes = [labels[0], labels[1][::2], labels[2][:, ::2]]
    mixed = theodolite.dissect(activations, sizes, ["top"], quantile=0.5, resolution=(60, 80))
    assert mixed.atoms.grid == (60, 80) and "3 sizes" in mixed.resampled
    assert mixed.evidence.formula_pixels[1, 0] == 30 * 80


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_nearest_takes_the_pixel_that_the_middle_lies_in(h: int, w: int, rows: int, columns: int) -> None:  # fmt: skip
    planes = np.arange(h * w).reshape(1, h, w)
    small = nearest(planes, (rows, columns))
    for y in range(rows):
        for x in range(columns):
            source = int((y + 0.5) * h / rows), int((x + 0.5) * w / columns)
            assert small[0, y, x] == planes[0][source]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_exact_is_never_below_the_beam(seed: int) -> None:
    activations, labels = scene(seed)
    common = {"void": 255, "quantile": 0.7}
    beam = theodolite.dissect(activations, labels, NAMES, beam=Beam(size=1), **common)
    exact = theodolite.dissect(activations, labels, NAMES, search="exact", **common)
    assert exact.proof is not None and beam.proof is None
    for first, second in zip(beam.to_records(), exact.to_records(), strict=True):
        assert second["iou"] >= first["iou"] - 1e-12
        assert second["proved"] and not first["proved"]
    np.testing.assert_allclose([row["iou"] for row in exact.to_records()], exact.proof.iou)


def test_the_table_has_intervals_and_what_chance_reaches() -> None:
    activations, labels = scene(1, n=30)
    rows = theodolite.dissect(activations, labels, NAMES, void=255, quantile=0.7).table()
    first = rows[0]
    assert first["low"] < first["iou"] < first["high"]
    assert first["null"] < first["low"]  # the unit was made to follow a concept


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"void": 2}, "void"),
        ({"resolution": "fine"}, "resolution"),
        ({"resolution": (0, 4)}, "resolution"),
        ({"search": "all"}, "search"),
    ],
)
def test_options_that_make_no_sense(change: dict[str, object], message: str) -> None:
    activations, labels = scene(0)
    labels = np.where(labels == 255, 0, labels)
    with pytest.raises((EvidenceError, TypeError), match=message):  # or a type checker, before
        theodolite.dissect(activations, labels, NAMES, **change)  # type: ignore[arg-type]
    with pytest.raises(EvidenceError, match="void"):
        theodolite.dissect(activations, labels[:, None] == [[[[1]]]], ["horn"], void=255)


def test_grids() -> None:
    assert grid_of([(10, 10), (300, 300)], "auto") == (256, 256)
