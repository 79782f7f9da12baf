"""Studies of a post-hoc bottleneck: regions of maps, a trained bottleneck, concepts that go
together."""

# mypy: disable-error-code="arg-type"

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import theodolite
from theodolite.datasets.concept_data import ConceptData
from theodolite.evidence.axes import Classes, Concepts, Parts, Samples
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.metrics import concept_existence, concept_global_importance, concept_location
from theodolite.models.features import Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.feature_pass import FeaturePass
from theodolite.pipelines.posthoc.evidence import PostHocInputs
from theodolite_reproductions.alignment.named import class_means, cosines
from theodolite_reproductions.alignment.pipeline import PosthocStudiesPipeline
from theodolite_reproductions.alignment.region_study import (
    SHARES,
    _MapOverImage,
    in_top_share,
    part_and_box,
    region_table,
    threshold_of,
)
from theodolite_reproductions.alignment.studies import absent_correlations, concept_correlations

IMAGES, CONCEPTS, CLASSES = 90, 7, 3


def birds() -> tuple[ConceptData, np.ndarray]:
    """Three classes, each with its concepts, and features that show them."""
    random = np.random.default_rng(0)
    labels = np.arange(IMAGES) % CLASSES
    of_class = np.array([[1, 1, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 1, 0, 1]], bool)
    truth = of_class[labels]
    features = truth @ random.normal(size=(CONCEPTS, 12)) + 0.2 * random.normal(size=(IMAGES, 12))
    points = random.uniform(2, 28, size=(IMAGES, 2, 2, 2))
    points[::7, 0] = np.nan
    points[:, 1, 1] = np.nan
    data = ConceptData(
        name="birds", folder=Path(), images=tuple(f"{i}.jpg" for i in range(IMAGES)),
        labels=labels, is_test=np.arange(IMAGES) >= 60, presence=truth,
        class_truth=np.clip(of_class.T + 0.1, 0, 1) * 0.9, classes=Classes(tuple("abc")),
        concepts=Concepts(tuple("tuvwxyz")), parts=Parts(("wing", "beak")),
        part_of=np.array([0, 1, 0, 1, -1, -1, -1]), points=points,
        objects=np.tile([4.0, 4.0, 28.0, 28.0], (IMAGES, 1)),
    )  # fmt: skip
    return data, features.astype(np.float32)


def located(data: ConceptData, n: int = 40) -> theodolite.LocationEvidence:
    random = np.random.default_rng(1)
    explained = theodolite.ConceptEvidence(
        values=random.normal(size=(n, CONCEPTS)), truth=data.presence[:n], labels=data.labels[:n],
        weights=random.normal(size=(CONCEPTS, CLASSES)), predicted=data.labels[:n],
        samples=Samples(index=np.arange(n), ids=np.array(data.images[:n])),
    )  # fmt: skip
    return theodolite.LocationEvidence(
        explained=explained, maps=random.normal(size=(n, CONCEPTS, 7, 7)).astype(np.float32),
        sizes=np.tile([32, 30], (n, 1)), part_of=data.part_of, points=np.asarray(data.points)[:n],
    )  # fmt: skip


@pytest.mark.parametrize(("column", "sides"), [("bilinear", "either"), ("all_places", "every")])
def test_regions_are_those_of_concept_location(column: str, sides: str) -> None:
    data, _ = birds()
    evidence = located(data)
    table = region_table(data, evidence, seed=3)
    e = evidence.explained
    for alpha in SHARES:
        score = concept_location(
            e.values, evidence.maps, evidence.sizes, evidence.part_of, evidence.points,
            weights=e.weights, predicted=e.predicted, top=(1,), alpha=(alpha,), sides=sides,
        )  # fmt: skip
        ours = np.array(table[f"{column}_{alpha}"], float)
        assert_allclose(np.nanmean(ours), score.item(), atol=1e-12)
        assert (np.isnan(ours) == ~np.array(table["visible"])).all() and np.isnan(ours).any()
    for other in ("nearest", "threshold", "positive"):
        same = [table[f"{other}_{alpha}"] == table[f"bilinear_{alpha}"] for alpha in SHARES]
        assert not all(same), "other choices are other regions"


def test_equal_pixels_come_in_reading_order() -> None:
    pixels = np.array([[4.0, 3.0], [3.0, 1.0]])
    inside = [in_top_share(pixels, place, 0.5) for place in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert inside == [True, True, False, False]


def test_a_threshold_makes_regions_of_the_same_mean_size() -> None:
    data, _ = birds()
    evidence = located(data)
    cuts = [_MapOverImage(evidence, i, 0) for i in range(len(evidence))]
    for share in SHARES.values():
        threshold = threshold_of(cuts, share)
        areas = [float((cut.stretched() >= threshold).mean()) for cut in cuts]
        assert np.mean(areas) == pytest.approx(share, abs=0.005)
        assert np.std(areas) > 0.01, "the size of each is its own"


def test_relevance_on_the_part_is_compared_with_its_share_of_the_box() -> None:
    data, _ = birds()
    evidence = located(data)
    cut = _MapOverImage(evidence, 1, 1)
    cut.exact, box = np.array([[16.0, 15.0]]), np.array([4.0, 4.0, 28.0, 26.0])
    cut.map = np.ones((7, 7), np.float32)
    flat = part_and_box(cut, box)
    assert flat["on_part"] == pytest.approx(flat["part_of_box"])
    assert flat["part_of_box"] == pytest.approx(1 / 12, abs=0.01)
    assert flat["in_box"] == pytest.approx(flat["box_of_image"]) == 24 * 22 / (32 * 30)
    cut.map = np.full((7, 7), -1.0, np.float32)
    assert np.isnan(part_and_box(cut, box)["on_part"]), "nothing speaks for the concept"
    cut.map[3, 3] = 1.0
    assert part_and_box(cut, box)["on_part"] > 0.9
    assert np.isnan(part_and_box(cut, None)["on_part"])


def test_absent_concepts_that_go_with_present_ones() -> None:
    truth = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]], bool)
    phi = concept_correlations(truth)
    assert_allclose(phi[:3, :3], np.corrcoef(truth[:3]), atol=1e-12)
    assert np.isnan(phi[3]).all(), "a concept of all classes goes with none"
    evidence = theodolite.ConceptEvidence(
        values=np.array([[0.0, 3.0, 2.0, 1.0]]), truth=np.array([[1, 0, 0, 1]], bool),
        weights=np.ones((4, 2)), predicted=np.array([0]),
    )  # fmt: skip
    named, others = absent_correlations(evidence, phi)
    assert_allclose(named, np.mean([phi[1, 0], phi[2, 0]]))
    assert_allclose(others, named), "all are named"


def test_tables_of_all_seeds(tmp_path: Path) -> None:
    data, features = birds()
    nowhere = ConceptData(**{**vars(data), "part_of": np.full(CONCEPTS, -1), "points": None})
    none = np.arange(0)
    seen = FeaturePass(none, (), none, none)
    work = PostHocInputs(features, np.arange(60), np.arange(60, 90), seen, {}, (), None)
    unused = LoadedModel("none", torch.nn.Identity(), Preprocessing(), "")
    how = PosthocStudiesPipeline(
        backbone="none", n_examples=(5, 10), regulariser=(1.0, 0.1), projection="margin",
        setting_seeds=True,
    )  # fmt: skip
    made = how._produce(nowhere, work, unused, WorkContext((0, 1), tmp_path))
    settings, named = made.tables["setting_seeds"], made.tables["named_concepts"]
    assert settings["seed"] == [0] * 4 + [1] * 4
    assert list(settings["test_accuracy"][:4]) == list(made.tables["settings"]["test_accuracy"])
    assert "regions" not in made.tables, "no concept has a place"
    assert np.mean(named["soft_value"]) > np.mean(np.asarray(data.presence)), "better than chance"
    assert np.mean(named["probe"]) > 0.9 and np.mean(named["soft_right"]) > 0.7
    importance = made.tables["global_importance"]
    rows = [i for i, cell in enumerate(zip(*(importance[n] for n in (
        "seed", "projection", "reference", "over")), strict=True))
        if cell == (0, "margin", "share", "concepts")]  # fmt: skip
    own = made.evidence[0][0]
    assert isinstance(own, theodolite.ConceptEvidence)
    expected = concept_global_importance(
        own.values, own.class_truth, own.weights, own.labels, own.predicted
    )
    assert_allclose(np.array(importance["value"])[rows], expected.ravel(), atol=1e-9)
    existence = concept_existence(
        own.values, own.truth, weights=own.weights, predicted=own.predicted, top=(5,)
    )
    of_first_seed = np.array(named["posthoc_contribution"])[np.array(named["seed"]) == 0]
    assert_allclose(of_first_seed.mean(), existence.item(), atol=1e-12)


def test_classes_without_a_right_prediction_are_left_out() -> None:
    random = np.random.default_rng(2)
    evidence = theodolite.ConceptEvidence(
        values=random.normal(size=(9, 4)), truth=np.ones((9, 4), bool), labels=np.arange(9) % 3,
        predicted=np.array([0, 1, 0] * 3), weights=random.normal(size=(4, 3)),
        class_truth=random.random((4, 3)),
    )  # fmt: skip
    for over in ("concepts", "classes"):
        arrays = {name: getattr(evidence, name) for name in ("weights", "labels", "predicted")}
        expected = concept_global_importance(
            evidence.values, evidence.class_truth, **arrays, over=over
        )
        means = class_means(evidence)
        for form, matrix in enumerate((evidence.weights, means, evidence.weights * means)):
            own = cosines(matrix, evidence.class_truth, of_classes=over == "classes")
            assert_allclose(own, expected[form], atol=1e-12)
    assert np.isnan(cosines(means, evidence.class_truth, of_classes=True)[2])
