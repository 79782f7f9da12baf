"""Saliency maps beside the concepts of a post-hoc bottleneck."""

from pathlib import Path

import numpy as np
import pytest

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.folder import folder
from theodolite.datasets.shapes import write_shapes
from theodolite.evidence.pipeline_output import Produced, WorkContext
from theodolite.models.features import Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.feature_pass import run_feature_pass
from theodolite.pipelines.posthoc.saliency import compute_cam, draw_images, with_saliency

torch = pytest.importorskip("torch")


@pytest.fixture
def data(tmp_path: Path) -> ConceptData:
    write_shapes(tmp_path / "shapes", 40)
    return folder(tmp_path / "shapes")


def make_model(*end: object) -> LoadedModel:
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU(), *end, torch.nn.Linear(8, 3)
    )
    return LoadedModel("planted", network.eval(), Preprocessing((64, 64)), "1", ("a", "b", "c"))


MEAN = (torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
LARGEST = (torch.nn.AdaptiveMaxPool2d(1), torch.nn.Flatten())


def test_compute_cam_equals_gradient_times_maps(data: ConceptData, tmp_path: Path) -> None:
    model, rows = make_model(*MEAN), np.arange(6)
    seen = run_feature_pass(data, rows, model, None, WorkContext((0,), tmp_path))
    outputs = seen.outputs()
    predicted = outputs.argmax(axis=1)
    maps = torch.tensor(next(iter(seen)), requires_grad=True)
    answers = model.network[4](maps.mean(dim=(2, 3)))
    answers[np.arange(6), predicted].sum().backward()
    # Grad-CAM divides by the number of positions, once for all maps
    weights = maps.grad.sum(dim=(2, 3), keepdim=True)
    expected = (weights * maps).sum(dim=1).clamp(min=0).detach().numpy()
    cam = compute_cam(model, seen, outputs, predicted)
    assert cam is not None and expected.max() > 0
    np.testing.assert_allclose(cam, expected, atol=1e-5)


def test_compute_cam_none_if_outputs_not_linear_in_means(data: ConceptData, tmp_path: Path) -> None:
    model = make_model(*LARGEST)
    seen = run_feature_pass(data, np.arange(6), model, None, WorkContext((0,), tmp_path))
    outputs = seen.outputs()
    assert compute_cam(model, seen, outputs, outputs.argmax(axis=1)) is None


def test_with_saliency_asks_the_network_about_drawn_images(
    data: ConceptData, tmp_path: Path
) -> None:
    model, context = make_model(*MEAN), WorkContext((0,), tmp_path)
    seen = draw_images(run_feature_pass(data, np.arange(40), model, None, context), 5, 0)
    produced = with_saliency(Produced([]), data, seen, model, "1", context)
    (evidence,) = produced.compared[0].evidence[0]
    assert len(set(evidence.samples.index)) == 5 and evidence.maps.shape == (5, 64, 64)
    row = int(evidence.samples.index[0])
    image = model.preprocessing(data.image(row))
    log_odds = torch.log_softmax(torch.tensor(model.forward(image[None])), dim=1)[0]
    assert evidence.predicted[0] == int(log_odds.argmax())
    assert evidence.clean[0] == pytest.approx(float(log_odds.max().exp()))
    assert np.array_equal(evidence.objects[0], data.regions(row, (64, 64)).any(axis=0))
    assert "5 test images" in produced.notes[-1] and produced.compared[0].name == "saliency"


def test_with_saliency_without_outputs_says_so(data: ConceptData, tmp_path: Path) -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU())
    model = LoadedModel("maps", network.eval(), Preprocessing((64, 64)), "1")
    context = WorkContext((0,), tmp_path)
    seen = run_feature_pass(data, np.arange(4), model, None, context)
    produced = with_saliency(Produced([]), data, seen, model, "1", context)
    assert not produced.compared and "No saliency maps" in produced.notes[0]
