"""Attributions of captum become evidence, and say what captum said."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite.bridges.captum import joined_channels, saliency_evidence, surrogate_evidence
from theodolite.errors import EvidenceError
from theodolite.explainers.discovery.importance import gradient_importance
from theodolite.metrics import relevance_mass

torch = pytest.importorskip("torch")
attr = pytest.importorskip("captum.attr")


@pytest.fixture(scope="module")
def network() -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(16, 3),
        ).eval()  # fmt: skip


@pytest.fixture
def images() -> Any:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(5, 3, 8, 6)).astype(np.float32))


def test_integrated_gradients_are_summed_over_channels(network: Any, images: Any) -> None:
    result = attr.IntegratedGradients(network).attribute(images, target=1, n_steps=8)
    before = result.detach().clone()
    evidence = saliency_evidence(result, predicted=torch.ones(5, dtype=torch.int64))
    naive = np.zeros((5, 8, 6))
    for sample, channel, row, column in np.ndindex(*result.shape):
        naive[sample, row, column] += float(result[sample, channel, row, column])
    np.testing.assert_allclose(evidence.maps, naive, atol=1e-12)
    assert evidence.predicted.tolist() == [1] * 5
    result.zero_()  # evidence does not follow the tensor
    np.testing.assert_allclose(evidence.maps.sum(), float(before.sum()), rtol=1e-5)


def test_the_largest_channel_keeps_its_sign(network: Any, images: Any) -> None:
    given = images.clone().requires_grad_()
    result = attr.Saliency(network).attribute(given, target=0, abs=False)
    maps = joined_channels((result,), "largest")
    for sample, row, column in np.ndindex(*maps.shape):
        values = result[sample, :, row, column].tolist()
        assert maps[sample, row, column] == max(values, key=abs)
    assert (maps < 0).any()


def test_what_looks_only_at_the_object_is_found_to(images: Any) -> None:
    objects = np.zeros((5, 8, 6), bool)
    objects[:, 2:5, 1:4] = True
    mask = torch.from_numpy(objects[0].astype(np.float32))

    def planted(batch: Any) -> Any:
        score = (batch**2 * mask).sum((1, 2, 3))
        return torch.stack([score, -score], dim=1)

    result = attr.IntegratedGradients(planted).attribute(images, target=0, n_steps=20)
    for masks, share in ((objects, 1.0), (~objects, 0.0)):
        evidence = saliency_evidence(result, objects=masks)
        assert relevance_mass(evidence.maps, evidence.objects) == pytest.approx(share)


def test_a_layers_map_is_brought_up_by_captum(network: Any, images: Any) -> None:
    small = attr.LayerGradCam(network, network[2]).attribute(images, target=2)
    assert saliency_evidence(small).maps.shape == (5, 2, 2)
    with pytest.raises(EvidenceError, match=r"LayerAttribution\.interpolate"):
        saliency_evidence(small, objects=np.ones((5, 8, 6)))
    large = attr.LayerAttribution.interpolate(small, (8, 6), "bilinear")
    assert saliency_evidence(large, objects=np.ones((5, 8, 6))).maps.shape == (5, 8, 6)


def test_features_are_maps_of_one_row() -> None:
    linear = torch.nn.Linear(7, 2)
    result = attr.InputXGradient(linear).attribute(torch.ones(4, 7, requires_grad=True), target=1)
    evidence = saliency_evidence(result)
    np.testing.assert_allclose(evidence.maps[:, 0], np.tile(linear.weight[1].tolist(), (4, 1)))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((np.ones((2, 3)), np.ones((2, 3))), "those to 2 inputs"),
        (np.ones(3), "shape"),
        (np.full((2, 3, 4, 4), np.nan), "NaN"),
        (np.array([["a"]]), "needed numbers"),
    ],
)
def test_other_things_are_refused(given: Any, why: str) -> None:
    with pytest.raises(EvidenceError, match=why):
        saliency_evidence(given)


class _Examples:
    """A concept's examples, in batches."""

    def __init__(self, shift: np.ndarray, seed: int) -> None:
        values = np.random.default_rng(seed).normal(size=(24, len(shift))) + shift
        self.batches = torch.from_numpy(values.astype(np.float32)).split(8)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)


def test_concept_vectors_are_slopes_of_a_linear_rest(tmp_path: Path) -> None:
    concept = pytest.importorskip("captum.concept")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.Linear(6, 3)).eval()
    shift = np.array([3.0, 0, 0, 0, 0])
    made = [
        concept.Concept(id=5, name="horn", data_iter=_Examples(shift, 1)),
        concept.Concept(id=1, name="random", data_iter=_Examples(0 * shift, 2)),
        concept.Concept(id=0, name="hoof", data_iter=_Examples(-shift, 3)),
    ]
    sets = [[made[0], made[1]], [made[2], made[1]]]
    inputs = torch.randn(9, 5, generator=torch.Generator().manual_seed(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of its own classifier
        warnings.simplefilter("ignore", DeprecationWarning)  # of how it reads its own files
        tcav = concept.TCAV(network, ["0"], save_path=str(tmp_path))
        scores = {k: tcav.interpret(inputs, sets, target=k) for k in (0, 2)}
    evidence = surrogate_evidence(
        tcav.cavs, scores, layer="0", embeddings=network[0](inputs), outputs=network(inputs)
    )
    assert evidence.concepts.names == ("horn", "hoof")
    np.testing.assert_allclose(np.linalg.norm(evidence.vectors, axis=1), 1)
    # the rest of the network is linear: slopes are exact
    exact = gradient_importance(
        network[1].weight.detach().numpy().astype(float), np.asarray(evidence.vectors)
    ).T
    np.testing.assert_allclose(evidence.importances[:, [0, 2]], exact[:, [0, 2]], atol=1e-5)
    assert np.isnan(evidence.importances[:, 1]).all()
    # each vector points from the counterparts to its concept, whatever the order of ids
    for row, one in enumerate((made[0], made[2])):
        examples, random = (
            network[0](torch.cat(c.data_iter.batches)).detach().numpy() @ evidence.vectors[row]
            for c in (one, made[1])
        )
        assert examples.mean() > random.mean()
    counted = surrogate_evidence(
        tcav.cavs, scores, layer="0", embeddings=network[0](inputs), outputs=network(inputs),
        score="sign_count",
    )  # fmt: skip
    assert set(np.unique(counted.importances[:, 0])) <= {0.0, 1.0}
    with pytest.raises(EvidenceError, match="none at layer"):
        surrogate_evidence(tcav.cavs, scores, layer="7", embeddings=inputs, outputs=network(inputs))
