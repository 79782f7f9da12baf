"""A live network, a layer and images with concepts; and the run folders that come of it."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import theodolite
from theodolite._planted.examples import plant_example
from theodolite._runs.auditing.network import _describe_inputs, network_evidence
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.run_records import ProducedRecord
from theodolite._runs.recomputation import recompute
from theodolite._scoring.evaluate import Resampling
from theodolite._storage.records import read_record
from theodolite.datasets.folder import folder
from theodolite.errors import EvidenceError
from theodolite.evidence.files import load, save
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.faithful.frame import compute_surrogate_outputs
from theodolite.models.loading import load_model
from theodolite.pipelines.posthoc.network import warn_about_class_order

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")
FEW = Resampling(resamples=20)
audit = inspect.unwrap(theodolite.audit)


@pytest.fixture(scope="module")
def shapes(shapes_run: Path) -> Path:
    return shapes_run / "data" / "shapes"


@pytest.fixture(scope="module")
def finished(shapes_run: Path) -> Path:
    return shapes_run / "one"


def test_a_live_network_answers_five_questions(shapes: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = timm.create_model("test_resnet").train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    result = audit(model=network, layer="layer4", data=shapes, resampling=FEW)
    asked = {v.question for v in result.verdicts if v.answer != "not_evaluated"}
    assert asked == {"exists", "located", "leak_free", "detects"}, "its classes are others"
    assert result.linear_probe is not None and "faithful for your model (" in " ".join(
        str(result).split()
    )
    assert network.training and not any(m._forward_hooks for m in network.modules())
    assert all(torch.equal(before[n], t) for n, t in network.state_dict().items())
    assert any("compared with a linear layer that theodolite trained" in n for n in result.notes)
    assert any("20 draws of the same number of random directions" in note for note in result.notes)
    page = result.save(tmp_path / "run").read_text()
    head = page[page.index("<h1") : page.index('id="images"')].lower()
    assert "the network" not in head and "the model" not in head
    assert "faithful for your model" in head and "faithful to the linear probe" in page.lower()
    assert recompute(tmp_path / "run", share=0.2) > 10
    assert len(read_record(tmp_path / "run" / "produced.json", ProducedRecord).examples) == 8


def test_a_network_with_a_head_that_fits_answers_for_itself(shapes: Path) -> None:
    n = len(folder(shapes).classes)
    torch.manual_seed(0)
    network = timm.create_model("test_resnet", num_classes=n)
    result = audit(model=network, layer="layer4", data=folder(shapes), resampling=FEW)
    assert any("compared with the network's own outputs" in note for note in result.notes)
    asked = {v.question for v in result.verdicts if v.answer != "not_evaluated"}
    assert "faithful" in asked and result.linear_probe is None
    assert result.subject.outputs == "model" and result.subject.model == "ResNet, layer4"
    (evidence,) = [b for b in result.source.first if isinstance(b, SurrogateEvidence)]
    data = folder(shapes)
    row = data.images.index(evidence.samples.name(0))
    about = network.pretrained_cfg
    from theodolite.models.features import Preprocessing  # noqa: PLC0415

    prepared = Preprocessing(tuple(about["input_size"][1:]), about["mean"], about["std"])
    with torch.inference_mode():
        own = network.eval()(torch.from_numpy(prepared(data.image(row)))[None]).numpy()
    assert np.asarray(evidence.outputs)[:1] == pytest.approx(own, abs=1e-4)


def test_the_surrogate_is_the_bottleneck_up_to_its_mean(finished: Path) -> None:
    """Concepts times importances plus bias differ from the bottleneck's own answers by a constant
    for each class: what the bottleneck and the network say of the mean training image."""
    seed = finished / "evidence" / "seed-0"
    said, stood_for = load(seed / "concept"), load(seed / "surrogate")
    from theodolite._storage.arrays import read_safetensors  # noqa: PLC0415

    model = read_safetensors(finished / "model.safetensors")
    own = np.asarray(said.values) @ model["weights"] + model["bias"]  # type: ignore[attr-defined]
    assert isinstance(stood_for, SurrogateEvidence)
    off = compute_surrogate_outputs(stood_for) - own
    assert np.ptp(off, axis=0).max() < 1e-3 * np.abs(own).max()
    lengths = np.linalg.norm(np.asarray(stood_for.vectors), axis=1)
    assert lengths == pytest.approx(np.ones(len(lengths)))
    assert stood_for.samples.ids is not None and said.samples.ids is not None
    assert stood_for.samples.ids.tolist() == said.samples.ids.tolist()


def test_a_run_folder_is_asked_everything_and_keeps_its_images(
    finished: Path, tmp_path: Path
) -> None:
    result = audit(finished, FEW)
    asked = {v.question for v in result.verdicts if v.answer != "not_evaluated"}
    assert asked == {"exists", "located", "leak_free"}, "its spec asked two"
    assert result.subject.outputs == "probe_only", "as its pipeline said"
    assert all(len(s.per_seed) == 2 for s in result.scores), "both seeds"
    result.save(tmp_path / "again")
    old, new = (
        read_record(f / "produced.json", ProducedRecord) for f in (finished, tmp_path / "again")
    )
    assert new.examples == old.examples and new.examples
    assert all((tmp_path / "again" / one.file).is_file() for one in new.examples)
    assert set(old.notes) <= set(new.notes) and new.facts == old.facts
    assert (tmp_path / "again" / "tables" / "settings.parquet").is_file()
    assert recompute(tmp_path / "again", share=0.2) > 10
    page = (tmp_path / "again" / "report.html").read_text()
    assert "data:image/jpeg" in page and "Audit of Shapes &lt;b&gt;" in page
    with pytest.raises(EvidenceError, match="a place in the run folder"):
        result.save(finished, overwrite=True)


def test_a_run_that_was_changed_is_not_audited(finished: Path, tmp_path: Path) -> None:
    import shutil  # noqa: PLC0415

    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    (copy / "produced.json").write_bytes((copy / "produced.json").read_bytes() + b" ")
    with pytest.raises(EvidenceError, match=r"produced\.json changed since the run"):
        audit(copy, FEW)
    (copy / "manifest.json").unlink()
    with pytest.raises(EvidenceError, match="a finished run folder"):
        audit(copy, FEW)


def test_a_image_outside_of_the_run_is_not_copied(finished: Path, tmp_path: Path) -> None:
    import shutil  # noqa: PLC0415

    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    text = (copy / "produced.json").read_text()
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (copy / "produced.json").write_text(text.replace("images/00.jpg", "images/../../secret.jpg"))
    write_checksums(copy)
    with pytest.raises(EvidenceError, match=r"a path with '\.\.'"):
        audit(copy, FEW).save(tmp_path / "out")


def test_wrong_layers_and_data_are_said(shapes: Path, tmp_path: Path) -> None:
    network = timm.create_model("test_resnet")
    for given, says in (
        ({"model": network, "layer": "layer9", "data": shapes}, "layer9"),
        ({"model": 3, "data": shapes}, "a torch module"),
        ({"model": network, "data": shapes, "dataset": "mask_folder"}, ""),
    ):
        with pytest.raises(EvidenceError) as refused:
            audit(resampling=FEW, **given)
        assert says in str(refused.value)


def test_a_network_that_timm_did_not_make(shapes: Path) -> None:
    """How it wants its images is guessed, and said to be; modules that are frozen stay so."""
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm2d(4)
    first = torch.nn.Conv2d(3, 4, 5, stride=4)
    network = torch.nn.Sequential(first, norm, torch.nn.ReLU()).train()
    norm.eval()
    pooled = torch.nn.Sequential(network, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    small = {"size": 32, "mean": 0.5, "std": (0.5, 0.5, 0.5)}
    data = folder(shapes)
    given = network_evidence(pooled, "0", data, preprocessing=small)
    assert network.training and not norm.training
    assert "Images were stretched to 32 × 32; mean 0.5, 0.5, 0.5" in given.notes[-1]
    assert given.subject is not None and given.subject.outputs == "probe_only"
    assert "GUESSED, as for ImageNet" in _describe_inputs(load_model(network))
    assert not load_model(timm.create_model("test_resnet")).guessed
    for wrong in ({"sise": 3}, {"size": 0}, {"std": 0}, 3, {"mean": (1, 2)}):
        with pytest.raises(EvidenceError, match="preprocessing"):
            network_evidence(network, "0", data, preprocessing=wrong)


def test_another_order_of_the_classes_is_doubted() -> None:
    labels = np.arange(90) % 3
    right = np.eye(3, dtype=np.float32)[labels]
    noise = np.random.default_rng(0).random((90, 3)).astype(np.float32)
    assert warn_about_class_order(right, labels) == ()
    assert warn_about_class_order(noise, labels) == (), "a network that knows nothing has no order"
    (doubt,) = warn_about_class_order(right[:, [1, 2, 0]], labels)
    assert "correct for 0 % of the images" in doubt and "100 %" in doubt


def test_runs_of_different_networks_or_data_are_not_joined(finished: Path, tmp_path: Path) -> None:
    import shutil  # noqa: PLC0415

    units = tmp_path / "units"
    shutil.copytree(finished, units)
    shutil.rmtree(units / "evidence")
    dissected = plant_example(UnitEvidence, 0)
    for seed in (0, 1):
        save(dissected, units / "evidence" / f"seed-{seed}" / "unit")
    write_checksums(units)
    joined = audit([finished, units], FEW)
    assert {run.folder for run in joined.source.runs} == {finished, units}
    made = read_record(units / "produced.json", ProducedRecord)
    inputs = {name: digest[::-1] for name, digest in made.inputs.items()}
    (units / "produced.json").write_text(
        made.model_copy(update={"inputs": inputs}).model_dump_json()
    )
    write_checksums(units)
    with pytest.raises(EvidenceError, match="runs of the same model on the same data"):
        audit([finished, units], FEW)
