"""A network's own outputs for a part of the data's classes, in another order and by other names."""

from pathlib import Path

import numpy as np
import pytest

from theodolite.datasets.folder import folder
from theodolite.datasets.shapes import write_shapes
from theodolite.errors import UnsafeInputError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.models.concept_bank import ConceptBank
from theodolite.models.features import Preprocessing
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.posthoc.network import surrogate_evidence, take_network_outputs
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite.pipelines.saliency.map_tasks import SavedNetwork

torch = pytest.importorskip("torch")


def test_own_outputs_part_of_classes_reordered_and_restricted(tmp_path: Path) -> None:
    from theodolite.models.loaded_model import LoadedModel  # noqa: PLC0415

    write_shapes(tmp_path / "shapes", 300)
    data = folder(tmp_path / "shapes")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 4)).eval()
    names = ("Wait, sign", "car", "GO", "bus")
    model = LoadedModel("planted", network, Preprocessing((4, 4)), "", names)
    rows = np.concatenate([np.flatnonzero(~data.is_test)[:20], np.flatnonzero(data.is_test)])
    outputs = np.zeros((len(data), len(names)), np.float32)
    logits = model.forward(np.stack([model.preprocessing(data.image(int(row))) for row in rows]))
    outputs[rows] = logits
    own = take_network_outputs(model, outputs, data, rows)
    assert own is not None and own.match is not None
    assert own.match.label == "network, 2 of 3 classes"
    assert [data.classes.names[k] for k in own.classes] == ["go", "wait"]
    np.testing.assert_allclose(own.outputs[rows], logits[:, [2, 0]], atol=1e-6)
    test = np.flatnonzero(data.is_test)
    kept = test[data.labels[test] != 1]
    expected = np.array([0, 2])[own.outputs[kept].argmax(axis=1)] == data.labels[kept]
    assert own.compute_accuracy(data.labels, test) == expected.mean()

    random = np.random.default_rng(0)
    n = len(data.concepts)
    bank = ConceptBank(data.concepts, random.normal(size=(n, 5)), np.zeros(n))
    bottleneck = PosthocBottleneck(bank, "dot", random.normal(size=(n, 3)), np.zeros(3))
    features = random.normal(size=(len(data), 5)).astype(np.float32)
    evidence = surrogate_evidence(own, bottleneck, features, data, (rows[:20], test))
    assert evidence.classes.names == ("go", "wait") and len(evidence) == len(kept)
    assert np.array_equal(evidence.labels, data.labels[kept] // 2)
    scale = np.linalg.norm(bank.vectors, axis=1)[:, None]
    np.testing.assert_allclose(evidence.importances, bottleneck.weights[:, [0, 2]] * scale)
    assert any("2 of 3 classes" in note for note in own.notes())


def test_specs_cannot_run_code_of_a_model(tmp_path: Path) -> None:
    write_shapes(tmp_path / "shapes", 12)
    context = WorkContext((0,), tmp_path)
    for name in ("python:this:s", "export:net.pt2"):
        with pytest.raises(UnsafeInputError, match="--trust-model"):
            PosthocPipeline(backbone=name).make(folder(tmp_path / "shapes"), context)
        with pytest.raises(UnsafeInputError, match="--trust-model"):
            SavedNetwork(name, None, ()).classifier()
