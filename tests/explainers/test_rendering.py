"""Explanations as people see them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError
from theodolite.explainers.rendering import (
    Values,
    bwr,
    colour_positions,
    heatmap,
    masked_picture,
    sentence,
    weighted_embedding,
)

GREY = np.full((2, 2, 3), 0.4)
RAMP = np.array([[0, 0.25], [0.5, 1]])


def test_heatmap_pixel_by_pixel() -> None:
    shown = heatmap(GREY, RAMP, values="as they are")
    assert shown.tolist() == [
        [[72, 72, 255], [164, 164, 255]],
        [[255, 254, 254], [255, 72, 72]],
    ]


def test_colours_are_those_of_matplotlib() -> None:
    colormaps = pytest.importorskip("matplotlib").colormaps
    table = colormaps["bwr"](np.arange(256))[:, :3]
    assert np.array_equal(bwr(), table)
    values = np.random.default_rng(0).uniform(0, 1, (40, 50))
    picture = np.random.default_rng(1).uniform(0, 1, (40, 50, 3))
    mixed = 0.5 * colormaps["bwr"](values)[..., :3] + 0.5 * picture
    expected = (mixed / mixed.max() * 255).astype(np.uint8)
    assert np.array_equal(heatmap(picture, values, values="as they are"), expected)


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
    assert colour_positions(given_map, values) == pytest.approx(np.array([expected]))
    assert given_map.tolist() == [relevance]


def test_zero_is_white_unless_published() -> None:
    white = np.ones((1, 3, 3))
    signed = heatmap(white, np.array([[-1.0, 0, 1]]))
    assert signed[0, 1].min() >= 254 and signed[0, 0].tolist() == [127, 127, 255]
    quirk = heatmap(white, np.array([[-1.0, 0, 1]]), values="paper shap")
    assert quirk[0, 0].tolist() == quirk[0, 1].tolist() == [127, 127, 255]


def test_masked_picture() -> None:
    shown = masked_picture(GREY, np.array([[-1, 0.5], [1, 7.0]]))
    assert shown[..., 0].tolist() == [[0, 51], [102, 102]]


@pytest.mark.parametrize(
    ("picture", "relevance", "values"),
    [
        (GREY, np.zeros((3, 2)), "signed"),
        (GREY, np.full((2, 2), np.nan), "signed"),
        (GREY * 255, RAMP, "signed"),
        (GREY, RAMP, "paper lime"),
        (GREY, RAMP, "jet"),
    ],
)
def test_refused(picture: np.ndarray, relevance: np.ndarray, values: str) -> None:
    with pytest.raises((EvidenceError, TypeError), match=r"relevance|picture|values"):
        heatmap(picture, relevance, values=values)  # type: ignore[arg-type]


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
