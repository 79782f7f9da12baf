"""What is planted is what it says: truths, dials, clusters, forms of values."""

from dataclasses import replace

import numpy as np
import pytest

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import start_draw
from theodolite._planted.generators import Generator, compute_value
from theodolite._planted.leaking_values import (
    compute_true_dependence,
    compute_true_share,
    leaking_values,
)
from theodolite._planted.registry import (
    GENERATORS,
    find_generator,
    find_generator_for,
)
from theodolite._stats.information import plug_in
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.catalogue import catalogue, find_metric

SLOW = ("niche_impurity", "oracle_impurity")


def values_of(condition: Condition, seed: int) -> ConceptEvidence:
    evidence = leaking_values.draw("predictive_task_leakage", condition, seed).evidence[0]
    assert isinstance(evidence, ConceptEvidence)
    return evidence


def test_something_is_planted_for_every_score() -> None:
    served = [name for generator in GENERATORS for name in generator.serves]
    assert not set(catalogue()) - set(served)
    assert len(served) == len(set(served))
    with pytest.raises(EvidenceError, match="planted"):
        find_generator_for("nothing of the kind")
    with pytest.raises(EvidenceError, match="leaking values"):
        find_generator("nothing of the kind")


@pytest.mark.parametrize("name", sorted(set(catalogue()) - set(SLOW)))
def test_the_truth_is_what_many_samples_give(name: str) -> None:
    """Exact truths against an estimate of many rows; those of large samples at both ends."""
    generator, metric = find_generator_for(name), find_metric(name)
    pooled = not metric.streams
    values, truths = [], []
    for number, dial in enumerate((0.0, generator.reference, generator.dials[-1])):
        condition = replace(generator.usual, clusters=1500 if pooled else 3000, dial=dial)
        if name == "concept_global_importance":
            condition = replace(condition, concepts=400, clusters=20)
        if name == "detection_and_accuracy":  # noise in each unit's share makes it lower
            condition = replace(condition, clusters=40_000)
        if name == "concept_location":
            condition = replace(condition, clusters=400)
        planted = generator.draw(name, condition, 40 + number)
        values.append(compute_value(metric, planted.evidence))
        truths.append(planted.truth)
    room = 0.08 if pooled else 0.05
    scale = max(1.0, float(np.ptp(truths)))
    assert np.abs(np.subtract(values, truths)).max() < room * scale, (values, truths)
    best = metric.bounds[1 if metric.better == "higher" else 0]
    if not metric.is_defect_metric and name not in generator.no_ends and np.isfinite(best):
        assert values[-1] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda g: g.name)
def test_clusters_copies_and_seeds(generator: Generator) -> None:
    """Rows of a cluster are copies or alike, sizes vary, and a seed gives the same again."""
    name = generator.serves[0]
    copies = replace(generator.usual, clusters=12, rows=3, dial=generator.reference)
    bundle, again = (generator.evidence(start_draw(name, copies, (1,), (5,))) for _ in range(2))
    assert len(bundle) == 36 and len(np.unique(np.asarray(bundle.samples.clusters))) == 12
    for field in ("values", "vectors", "maps", "unit_pixels", "embeddings", "ratings"):
        rows = np.asarray(getattr(bundle, field, None))
        if rows.ndim and len(rows) == 36:  # vectors of concepts have no rows
            np.testing.assert_allclose(rows[::3], rows[2::3], rtol=1e-12)
            np.testing.assert_array_equal(rows, getattr(again, field))
    unequal = replace(copies, clusters=60, unequal=True, declared=False)
    draw = start_draw(name, unequal, (1,), (5,))
    sizes = np.bincount(draw.cluster_of)
    assert sizes.min() == 1 and sizes.max() > 8
    bundle = generator.evidence(draw)
    assert bundle.samples.clusters is None and len(bundle) == sizes.sum()


def test_what_is_alike_within_clusters_keeps_its_margin() -> None:
    draw = start_draw("", Condition(clusters=20_000, rows=2, within=1.0))
    numbers = draw.normal()
    assert numbers.std() == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef(numbers[::2], numbers[1::2])[0, 1] == pytest.approx(0.5, abs=0.03)
    assert draw.happens(0.3).mean() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("kind", ["binary", "percent", "int8", "saturated"])
@pytest.mark.parametrize("labels", [2, 10])
def test_the_share_is_what_counting_many_samples_gives(kind: str, labels: int) -> None:
    cell = Condition(dial=0.2, clusters=200_000, concepts=1, labels=labels, values=kind)  # type: ignore[arg-type]
    evidence = values_of(cell, seed=1)
    values, truth = np.asarray(evidence.values)[:, 0], np.asarray(evidence.truth)[:, 0]
    nats = left_open = 0.0
    for there in (False, True):
        rows = truth == there
        codes = np.unique(np.round(values[rows], 3), return_inverse=True)[1]
        own = np.asarray(evidence.labels)[rows]
        nats += rows.mean() * plug_in(codes, own)
        left_open += rows.mean() * plug_in(own, own)
    assert nats / left_open == pytest.approx(compute_true_share(cell), abs=0.006)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("labels", [2, 10, 200])
def test_the_dial_is_the_share(share: float, labels: int) -> None:
    cell = Condition(dial=share, labels=labels)
    assert compute_true_share(cell) == pytest.approx(share, abs=1e-4)
    assert compute_true_share(replace(cell, values="uint16")) == pytest.approx(share, abs=1e-3)
    assert compute_true_share(replace(cell, values="constant")) == 0
    assert compute_true_share(replace(cell, values="saturated")) <= share + 1e-9


def test_labels_of_clusters_seeds_and_what_is_unknown() -> None:
    cell = Condition(clusters=30, rows=4, within=0.33, seeds=3, unknown=0.2)
    planted = leaking_values.draw("predictive_task_leakage", cell, 2)
    first, second, _ = planted.evidence
    assert isinstance(first, ConceptEvidence) and isinstance(second, ConceptEvidence)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.truth, second.truth)
    assert (np.asarray(first.values) != np.asarray(second.values)).all()
    assert 0.7 < np.mean(np.asarray(first.known)) < 0.9
    own = np.asarray(first.labels).reshape(30, 4)
    assert (own == own[:, :1]).all()
    mixed = values_of(replace(cell, mixed=True, seeds=1), 2)
    own = np.asarray(mixed.labels).reshape(30, 4)
    assert not (own == own[:, :1]).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [({"dial": 1.5}, "0 to 1"), ({"values": "int9"}, "int8"), ({"labels": 1}, "two labels")],
)
def test_nonsense_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        Condition(**options)  # type: ignore[arg-type]


def test_what_a_square_tells_is_what_sampling_gives() -> None:
    """The integral against the mean log ratio of densities, over draws of both."""
    strength, random = 0.25, np.random.default_rng(3)
    x, other, noise = random.normal(size=(3, 4000))

    def middle(values: np.ndarray) -> np.ndarray:
        return np.sqrt(strength / 2) * (values**2 - 1)

    spread = np.sqrt(1 - strength)
    y = middle(x) + spread * noise
    of_any = np.exp(-(((y[:, None] - middle(other)) / spread) ** 2) / 2).mean(axis=1)
    nats = float(np.mean(-(noise**2) / 2 - np.log(of_any)))
    cell = Condition(dial=strength, form="square", concepts=2)
    assert 1 - np.exp(-2 * nats) == pytest.approx(compute_true_dependence(cell), abs=0.03)
