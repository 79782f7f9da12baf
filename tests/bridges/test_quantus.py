"""Scores of Quantus stand beside votes and beside ours."""

import json
from typing import Any

import numpy as np
import pytest

from theodolite.bridges.quantus import beside_votes, columns, table
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics import relevance_mass
from theodolite.metrics.accepted.correlation_table import correlation_table


@pytest.fixture(scope="module")
def measured() -> tuple[Any, dict[str, np.ndarray], np.ndarray]:
    torch = pytest.importorskip("torch")
    quantus = pytest.importorskip("quantus")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 2)
        ).eval()
    random = np.random.default_rng(0)
    images = random.normal(size=(8, 1, 8, 8)).astype(np.float32)
    maps = {
        name: np.abs(random.normal(size=(8, 1, 8, 8))).astype(np.float32) for name in ("IG", "rise")
    }
    objects = np.zeros((8, 1, 8, 8), bool)
    objects[:, :, 2:6, 2:6] = True
    silent = {"disable_warnings": True, "display_progressbar": False}
    results = quantus.evaluate(
        metrics={
            "Sparseness": quantus.Sparseness(**silent),
            "Mass": quantus.RelevanceMassAccuracy(normalise=False, **silent),
            "Flipping": quantus.PixelFlipping(features_in_step=32, **silent),
        },
        xai_methods=maps, model=network, x_batch=images, y_batch=np.zeros(8, int),
        s_batch=objects, agg_func=lambda scores: scores,
    )  # fmt: skip
    return results, maps, objects


def test_a_score_that_both_have_is_the_same(measured: Any) -> None:
    results, maps, objects = measured
    for method, given in maps.items():
        ours = [relevance_mass(m.astype(float), o) for m, o in zip(given, objects, strict=True)]
        np.testing.assert_allclose(columns(results)[method]["Mass"], ours, atol=1e-6)


def test_curves_become_their_mean_or_their_end_or_nothing(measured: Any) -> None:
    results = measured[0]
    curves = results["IG"]["Flipping"]
    assert np.shape(curves) == (8, 2)
    np.testing.assert_allclose(columns(results)["IG"]["Flipping"], np.mean(curves, axis=1))
    last = columns(results, curves="last")["IG"]["Flipping"]
    np.testing.assert_allclose(last, [curve[-1] for curve in curves])
    with pytest.raises(EvidenceError, match="one number"):
        columns(results, curves="refuse")


def test_json_and_a_long_table_say_the_same(measured: Any) -> None:
    results = json.loads(json.dumps(measured[0], default=float))
    rows = table(results, ids=[f"p{i}" for i in range(8)])
    assert len(rows["value"]) == 2 * 3 * 8
    for sample, method, metric, value in zip(*rows.values(), strict=True):
        assert value == columns(measured[0])[method][metric][int(sample[1:])]


def test_votes_get_the_score_of_their_own_explanation(measured: Any) -> None:
    results = measured[0]
    random = np.random.default_rng(1)
    position, technique = random.permutation(np.repeat(np.arange(8), 2)), random.integers(0, 3, 16)
    rated = RatingEvidence(
        ratings=random.integers(1, 6, (16, 3)).astype(float), scale=[1, 2, 3, 4, 5],
        technique=technique, techniques=["rise", "lime", "IG"],
        measured=np.arange(16.0)[:, None], measures=["length"],
    )  # fmt: skip
    joined = beside_votes(rated, results, position=position)
    assert joined.measures.names == ("length", "Sparseness", "Mass", "Flipping")
    np.testing.assert_array_equal(joined.measured[:, 0], np.arange(16.0))
    for row in range(16):
        method = rated.techniques.names[technique[row]]
        if method == "lime":
            assert np.isnan(joined.measured[row, 1:]).all()
        else:
            assert joined.measured[row, 1] == results[method]["Sparseness"][position[row]]
    assert rated.measured.shape == (16, 1)
    rows = correlation_table(
        {"Sparseness": np.asarray(joined.measured[:, 1])}, {"votes": rated.ratings.mean(axis=1)}
    )
    assert rows[0].n == int((technique != 1).sum())
    with pytest.raises(EvidenceError, match="position"):
        beside_votes(rated, results, position=position + 1)
    others = RatingEvidence(ratings=rated.ratings, scale=[1, 2, 3, 4, 5], technique=technique)
    with pytest.raises(EvidenceError, match="techniques"):
        beside_votes(others, results, position=position)


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ({"IG": {"Sparseness": 0.4}}, "agg_func"),
        ({"IG": {"Sparseness": []}}, "agg_func"),
        ({"IG": {"a": [1, 2], "b": [1]}}, r"\[1, 2\]"),
        ({"IG": [1, 2]}, "method -> metric"),
        ({}, "no scores"),
        ({"IG": {"a": ["x"]}}, "numbers"),
    ],
)
def test_what_is_not_a_score_for_each_sample_is_refused(results: Any, why: str) -> None:
    with pytest.raises(EvidenceError, match=why):
        columns(results)


def test_several_calls_are_several_columns() -> None:
    result = columns({"IG": {"Flip": {"a": [1, None], "b": [3, 4]}}})
    assert list(result["IG"]) == ["Flip (a)", "Flip (b)"]
    np.testing.assert_array_equal(result["IG"]["Flip (a)"], [1, np.nan])
