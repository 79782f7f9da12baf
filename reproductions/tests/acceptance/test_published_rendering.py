"""Explanations as people see them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError
from theodolite_reproductions.rendering import (
    Values,
    bwr,
    color_positions,
    concept_cut_out,
    concept_overlay,
    enlarge_map,
    heatmap,
    magnitude_colors,
    masked_image,
    sentence,
    weighted_embedding,
)

GRAY = np.full((2, 2, 3), 0.4)
RAMP = np.array([[0, 0.25], [0.5, 1]])


def test_heatmap_pixel_by_pixel() -> None:
    shown = heatmap(GRAY, RAMP, values="as they are")
    assert shown.tolist() == [
        [[72, 72, 255], [164, 164, 255]],
        [[255, 254, 254], [255, 72, 72]],
    ]


def test_colors_are_those_of_matplotlib() -> None:
    colormaps = pytest.importorskip("matplotlib").colormaps
    table = colormaps["bwr"](np.arange(256))[:, :3]
    assert np.array_equal(bwr(), table)
    values = np.random.default_rng(0).uniform(0, 1, (40, 50))
    image = np.random.default_rng(1).uniform(0, 1, (40, 50, 3))
    mixed = 0.5 * colormaps["bwr"](values)[..., :3] + 0.5 * image
    expected = (mixed / mixed.max() * 255).astype(np.uint8)
    assert np.array_equal(heatmap(image, values, values="as they are"), expected)


@pytest.mark.parametrize(
    ("values", "relevance", "expected"),
    [
        ("signed", [-2.0, 0.0, 4.0], [0.25, 0.5, 1.0]),
        ("signed", [0.0, 0.0, 0.0], [0.5, 0.5, 0.5]),
        ("as they are", [-2.0, 0.3, 4.0], [0.0, 0.3, 1.0]),
        ("paper lime", [-1.0, 0.0, 1.0], [0.0, 0.49, 0.98]),
        ("paper shap", [-2.0, 0.0, 4.0], [0.0, 0.0, 1.0]),
    ],
)
def test_how_signs_are_shown(values: Values, relevance: list[float], expected: list[float]) -> None:
    given_map = np.array([relevance])
    assert color_positions(given_map, values) == pytest.approx(np.array([expected]))
    assert given_map.tolist() == [relevance]


def test_zero_is_white_unless_published() -> None:
    white = np.ones((1, 3, 3))
    signed = heatmap(white, np.array([[-1.0, 0, 1]]))
    assert signed[0, 1].min() >= 254 and signed[0, 0].tolist() == [127, 127, 255]
    quirk = heatmap(white, np.array([[-1.0, 0, 1]]), values="paper shap")
    assert quirk[0, 0].tolist() == quirk[0, 1].tolist() == [127, 127, 255]


def test_masked_image() -> None:
    shown = masked_image(GRAY, np.array([[-1, 0.5], [1, 7.0]]))
    assert shown[..., 0].tolist() == [[0, 51], [102, 102]]


@pytest.mark.parametrize(
    ("image", "relevance", "values"),
    [
        (GRAY, np.zeros((3, 2)), "signed"),
        (GRAY, np.full((2, 2), np.nan), "signed"),
        (GRAY * 255, RAMP, "signed"),
        (GRAY, RAMP, "paper lime"),
        (GRAY, RAMP, "rainbow"),
    ],
)
def test_refused(image: np.ndarray, relevance: np.ndarray, values: str) -> None:
    with pytest.raises((EvidenceError, TypeError), match=r"relevance|image|values"):
        heatmap(image, relevance, values=values)  # type: ignore[arg-type]


CONCEPTS = {"cat": 0.2, "tail": -0.9, "cattail": 0.5, "ear": 0.2, "a": 0.0}


def test_sentences() -> None:
    assert sentence(CONCEPTS, 4) == "tail, cattail, cat, ear"
    assert sentence(CONCEPTS, 3, distances=True) == "tail, a, cat"
    # "cat" takes the value of "cattail", "tail" that of itself, "a" the largest of all with an a
    assert sentence(CONCEPTS, 4, variant="reference") == "tail, a, cattail, cat, "
    assert sentence(CONCEPTS, 3, variant="reference", distances=True) == "a, cat, cattail, "
    far = {"near": 1.0, "far": 20_000.0}
    assert sentence(far, 2, variant="reference", distances=True) == "near, far, "


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from([-1.0, 0, 0.5, 1])))
def test_sentence_is_in_order(concepts: dict[str, float]) -> None:
    said = sentence(concepts, 3)
    names = said.split(", ") if said else []
    assert len(names) == min(3, len(concepts))
    sizes = [abs(concepts[name]) for name in names]
    assert sizes == sorted(map(abs, concepts.values()), reverse=True)[: len(names)]


def test_weighted() -> None:
    table = {"x": [1.0, 0], "y": [0.0, 2]}

    def embed(names: list[str]) -> np.ndarray:
        return np.array([table[name] for name in names])

    assert weighted_embedding({"y": -4.0, "x": 3.0}, embed) == pytest.approx([0.6, 1.6])
    assert weighted_embedding({"y": 0.0}, embed) == pytest.approx([0, 0])
    with pytest.raises(EvidenceError, match="concepts"):
        weighted_embedding({}, embed)


def test_senseless_sentences() -> None:
    with pytest.raises(EvidenceError, match="n"):
        sentence(CONCEPTS, 0)
    with pytest.raises(EvidenceError, match="finite"):
        sentence({"a": np.nan})


def paper_colors(values: np.ndarray) -> np.ndarray:
    """Blue to red over green, as the paper has them."""
    channels = [1.5 - np.abs(4 * values - center) for center in (3, 2, 1)]
    return np.clip(np.stack(channels, axis=-1), 0.0, 1.0)


def test_a_concept_is_laid_over_the_image_in_colors() -> None:
    """By hand on the paper's own map: F_1 = [[0.5, 2], [1.5, 1]], two pixels a side."""
    concept_map = np.array([[0.5, 2.0], [1.5, 1.0]])
    colors = [[[0, 0, 0.5], [0.5, 0, 0]], [[1, 5 / 6, 0], [0, 5 / 6, 1]]]  # at 0, 1, 2/3 and 1/3
    added = concept_overlay(GRAY, concept_map, beta=0.5, colors=paper_colors)
    assert added == pytest.approx(np.minimum(0.4 + 0.5 * np.array(colors), 1), abs=1e-6)
    strong = concept_overlay(np.full((2, 2, 3), 0.8), concept_map, beta=0.5)
    assert strong.max() == 1.0, "cut off where the sum is above 1"
    mixed = concept_overlay(GRAY, concept_map, beta=0.45, blend="mixed", colors=paper_colors)
    assert mixed == pytest.approx(0.55 * 0.4 + 0.45 * np.array(colors), abs=1e-6)
    fixed = concept_overlay(GRAY, concept_map, beta=1.0, span=(-4, 4), blend="mixed")
    assert fixed == pytest.approx(magnitude_colors((concept_map + 4) / 8), abs=1e-6)
    assert np.array_equal(concept_overlay(GRAY, concept_map, beta=0), GRAY)


def test_maps_are_enlarged_before_they_are_colored() -> None:
    image = np.zeros((4, 8, 3))
    concept_map = np.array([[0.0, 1.0]])
    across = enlarge_map(concept_map, (4, 8))
    assert across[0] == pytest.approx([0, 0, 0.125, 0.375, 0.625, 0.875, 1, 1])
    shown = concept_overlay(image, concept_map, beta=1.0)
    assert shown == pytest.approx(magnitude_colors(across), abs=1e-6)


def test_a_concept_is_cut_out_of_the_image() -> None:
    concept_map = np.array([[0.5, 2.0], [1.5, 1.0]])
    above = concept_cut_out(GRAY, concept_map, threshold=1.0)
    assert above[..., 0].tolist() == [[0, 0.4], [0.4, 0.4]], "from the threshold on"
    half = concept_cut_out(GRAY, concept_map, share=0.5)
    assert half[..., 2].tolist() == [[0, 0.4], [0.4, 0]]
    large = concept_cut_out(np.ones((30, 20, 3)), concept_map, share=1 / 12)
    assert 50 <= large[..., 0].sum() < 55, "a twelfth of 600 pixels, and their equals"
    assert concept_cut_out(GRAY, np.ones((3, 3)), share=0.1).tolist() == GRAY.tolist(), "all equal"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of them"),
        ({"threshold": 1.0, "share": 0.5}, "one of them"),
        ({"share": 0.0}, "share"),
    ],
)
def test_cut_outs_refuse(options: dict[str, float], message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        concept_cut_out(GRAY, RAMP, **options)


def test_overlays_refuse() -> None:
    with pytest.raises(EvidenceError, match="beta"):
        concept_overlay(GRAY, RAMP, beta=1.5)
    with pytest.raises(EvidenceError, match="lower value first"):
        concept_overlay(GRAY, RAMP, span=(1, 0))
    with pytest.raises(EvidenceError, match="NaN"):
        concept_overlay(GRAY, np.array([[np.nan, 1.0]]), span=(0, 1))
