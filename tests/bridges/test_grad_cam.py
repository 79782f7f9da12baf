"""Maps of grad-cam become evidence as they are."""

from typing import Any

import numpy as np
import pytest

from theodolite.bridges.grad_cam import saliency_evidence
from theodolite.errors import EvidenceError
from theodolite.metrics import relevance_mass

torch = pytest.importorskip("torch")


def _cams() -> Any:
    library = pytest.importorskip("pytorch_grad_cam")
    targets = pytest.importorskip("pytorch_grad_cam.utils.model_targets")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(), torch.nn.Linear(4, 2),
        ).eval()  # fmt: skip
    pictures = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 3, 8, 8)).astype("f4"))
    with library.GradCAM(model=network, target_layers=[network[1]]) as cam:
        wanted = [targets.ClassifierOutputTarget(k % 2) for k in range(6)]
        return cam(input_tensor=pictures, targets=wanted)


def test_maps_come_as_they_are_and_are_scored() -> None:
    cams = _cams()
    objects = np.zeros((6, 8, 8), int)
    objects[:, :4] = 1
    evidence = saliency_evidence(cams, objects=objects, predicted=[0, 1] * 3, classes=["a", "b"])
    assert evidence.maps.shape == (6, 8, 8)
    np.testing.assert_array_equal(evidence.maps, cams)
    naive = np.mean([m[:4].sum() / m.sum() for m in cams if m.sum() > 0])
    assert relevance_mass(evidence.maps, evidence.objects) == pytest.approx(naive, abs=1e-6)
    cams[:] = 0
    assert evidence.maps.max() > 0


@pytest.mark.parametrize("wrong", [np.full((2, 4, 4), 255.0), -np.ones((2, 4, 4)), np.ones((4, 4))])
def test_drawings_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(EvidenceError, match="cams"):
        saliency_evidence(wrong)
