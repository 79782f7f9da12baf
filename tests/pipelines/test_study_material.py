"""From a run to what people are shown: the run's network, methods, images; twins that fit."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

pytest.importorskip("torch", reason="no torch here: pip install 'theodolite[torch]'")
pytest.importorskip("pytorch_grad_cam", reason="no grad-cam: pip install 'theodolite[explain]'")

import timm
import torch
from safetensors.numpy import save_file

from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.map_colors import map_image, scaled_map
from theodolite.datasets.folder import folder as shapes_folder
from theodolite.datasets.pets import pets
from theodolite.datasets.shapes import write_shapes
from theodolite.datasets.study_material.explained_images import Looks
from theodolite.datasets.study_material.material import Material, image_path, read_material
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.evidence.files import load
from theodolite.explainers.perturbed_samples import PerturbedSample
from theodolite.explainers.saliency.methods import explainer
from theodolite.models.cifar_resnet import CifarResNet
from theodolite.models.features import FeatureExtractor
from theodolite.models.loading import load_model
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite.pipelines.saliency.pipeline import SaliencyPipeline, _draw_rows
from theodolite.pipelines.study import twins
from theodolite.pipelines.study.concepts import PosthocRun, material_from_posthoc_run
from theodolite.pipelines.study.material import material_from_saliency_run
from theodolite.pipelines.study.run_material import material_of_run, seed_of_run
from theodolite.pipelines.study.twins import TwinImage, TwinSettings, _visible, _with_memory

CLASSES = [f"kind {letter}" for letter in "abcdefghij"]


def write_pets(root: Path, n: int = 14) -> None:
    random = np.random.default_rng(0)
    for name in ("images", "trimaps"):
        (root / "pets" / name).mkdir(parents=True)
    records = []
    for i in range(n):
        pixels = random.integers(0, 120, (36, 48, 3)).astype(np.uint8)
        trimap = np.full((36, 48), 2, np.uint8)
        top, left = int(random.integers(1, 18)), int(random.integers(1, 28))
        pixels[top : top + 16, left : left + 18] = random.integers(120, 250, 3)
        trimap[top : top + 16, left : left + 18] = 1
        Image.fromarray(pixels).save(root / "pets" / "images" / f"pet_{i}.jpg", quality=95)
        Image.fromarray(trimap).save(root / "pets" / "trimaps" / f"pet_{i}.png")
        records.append({"name": f"pet_{i}", "breed": f"breed {i % 2}", "species": "dog",
                        "head_box": [0.1, 0.1, 0.5, 0.5]})  # fmt: skip
    (root / "pets" / "annotations.json").write_text(json.dumps(records))
    torch.manual_seed(0)
    network = CifarResNet(3)
    save_network(network, root)
    prepare = load_model("cifar_resnet20", weights=root / "net.safetensors").preprocessing
    batch = np.stack([prepare(Image.open(p)) for p in sorted((root / "pets" / "images").iterdir())])
    weights, bias = list(network.parameters())[-2:]
    with torch.no_grad():  # so that not all images are of one class
        logits = network.eval()(torch.from_numpy(batch))
        size = logits.std(dim=0)
        weights.div_(size[:, None])
        bias.copy_((bias - logits.mean(dim=0)) / size)
    save_network(network, root)
    (root / "classes.json").write_text(json.dumps(CLASSES))


def save_network(network: Any, root: Path) -> None:
    save_file({k: v.numpy() for k, v in network.state_dict().items()}, root / "net.safetensors")


def pipeline(root: Path, **more: Any) -> SaliencyPipeline:
    given: dict[str, Any] = {
        "backbone": "cifar_resnet20", "weights": root / "net.safetensors",
        "class_names": root / "classes.json", "methods": ["grad_cam", "saliency", "integrated_gradients"],
        "layer": "layer3", "options": {"integrated_gradients": {"steps": 3}}, "objects": ["cat", "dog"],
        **more,
    }  # fmt: skip
    return SaliencyPipeline(**given)


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """A change that is not found is not looked for so long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twins, "MAX_DRAWS", 1)
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    write_pets(place)
    return place


WANTED = TwinSettings(images=2, checks=3, seed=5)


@pytest.fixture(scope="module")
def made(root: Path) -> tuple[Path, Material]:
    steps: list[tuple[str, int, int]] = []
    material = material_from_saliency_run(
        pipeline(root), pets(root / "pets"), root / "out", WANTED,
        progress=lambda *step: steps.append(step), origin={"run": "tiny"},
    )  # fmt: skip
    assert {what for what, _, _ in steps} == {"changed images", "explanations"}
    for what in ("changed images", "explanations"):
        done = [(d, of) for name, d, of in steps if name == what]
        assert done[-1][0] == done[-1][1] and done == sorted(done)
    return root / "out", material


def pixels(folder: Path, name: str | None) -> np.ndarray:
    with Image.open(image_path(folder, name or "")) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_every_image_by_every_technique(root: Path, made: tuple[Path, Material]) -> None:
    folder, material = made
    assert read_material(folder) == material
    data = pets(root / "pets")
    rows = _draw_rows(data, 2, 5)
    expected = {
        (data.images[row], name)
        for row in rows
        for name in ("grad_cam", "saliency", "integrated_gradients")
    }
    assert {(one.image_key, one.technique) for one in material.of("real")} == expected
    assert len(material.of("real")) == 6
    assert material.origin["run"] == "tiny" and material.origin["seed"] == "5"
    assert material.legend == "signed"
    there = {path.name for path in (folder / "images").iterdir()}
    assert there == {name for one in material.instances for name in one.images()}


def test_maps_are_those_of_the_network(root: Path, made: tuple[Path, Material]) -> None:
    """From the file to the colors, once more and by hand."""
    folder, material = made
    classifier = load_model("cifar_resnet20", weights=root / "net.safetensors")
    signs = {"grad_cam": False, "saliency": True, "integrated_gradients": False}
    for one in material.of("real"):
        image = Image.open(root / "pets" / "images" / one.image_key).convert("RGB")
        batch = classifier.preprocessing(image)[None]
        label = classifier.probabilities(batch).argmax(axis=1)
        assert one.shown.predicted == CLASSES[label[0]]
        options = {"steps": 3} if one.technique == "integrated_gradients" else None
        layer = "layer3"
        method = explainer(one.technique, classifier.network, layer=layer, seed=5, options=options)
        scaled = scaled_map(method(batch, label)[0], positive=signs[one.technique])
        expected = np.asarray(map_image(scaled, (48, 36), "signed").convert("RGB")).astype(int)
        # the last bits of a map depend on its batch: a color may be its neighbor
        assert np.abs(pixels(folder, one.shown.map) - expected).max() <= 3
        # JPEG at its best keeps the image nearly as it was
        assert np.abs(pixels(folder, one.shown.image) - np.asarray(image)).mean() < 6


def test_twins_are_changed_and_their_answers_fit(made: tuple[Path, Material]) -> None:
    folder, material = made
    real = material.of("real")
    for one in real:
        if one.same:
            assert one.same.predicted == one.shown.predicted
            assert one.same.image != one.shown.image
        if one.different:
            assert one.different.predicted != one.shown.predicted
            assert pixels(folder, one.different.image).std() > 5
    assert all(one.same for one in real) and any(one.different for one in real)
    for key in {one.image_key for one in real}:  # all techniques are asked about the same twins
        of = [one for one in real if one.image_key == key]
        assert len({one.same.image for one in of}) == 1


def test_checks_are_facts_and_have_images_of_their_own(
    root: Path, made: tuple[Path, Material]
) -> None:
    _, material = made
    checks = [*material.of("training"), *material.of("gold")]
    assert (len(material.of("training")), len(material.of("gold"))) == (3, 3)
    assert not {one.image_key for one in checks} & {one.image_key for one in material.of("real")}
    assert len({one.technique for one in checks}) == 3
    framed = [one for one in checks if one.check.box]
    assert framed
    for one in framed:
        with Image.open(root / "pets" / "trimaps" / one.image_key.replace("jpg", "png")) as mask:
            down, across = np.nonzero(np.asarray(mask) == 1)
        box = one.check.box
        assert (box.x, box.y, box.width, box.height) == (
            across.min(), down.min(), np.ptp(across) + 1, np.ptp(down) + 1
        )  # fmt: skip
        assert "dog" in one.check.object


def test_nothing_that_people_see_tells_the_technique(made: tuple[Path, Material]) -> None:
    for one in made[1].instances:
        said = [one.key, *one.images(), one.shown.predicted]
        said += [one.check.object] if one.check else []
        assert not [text for text in said if one.technique in text or "cam" in text]


def test_the_same_seed_gives_the_same_bytes(
    root: Path, made: tuple[Path, Material], tmp_path: Path
) -> None:
    torch.manual_seed(99)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    again = tmp_path / "again"
    material_from_saliency_run(
        pipeline(root), pets(root / "pets"), again, WANTED, origin={"run": "tiny"}
    )

    def content(of: Path) -> dict[str, bytes]:
        return {str(p.relative_to(of)): p.read_bytes() for p in of.rglob("*") if p.is_file()}

    assert content(again) == content(made[0])
    assert_array_equal(torch.random.get_rng_state(), before[0])
    assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_colors_of_the_paper_and_of_positive_methods(root: Path, tmp_path: Path) -> None:
    def of(name: str, **more: Any) -> tuple[Path, Material]:
        wanted = TwinSettings(images=1, checks=0, techniques=["saliency"], seed=5, **more)
        folder = tmp_path / name
        return folder, material_from_saliency_run(
            pipeline(root), pets(root / "pets"), folder, wanted
        )

    folder, even = of("even")
    assert even.legend == "unsigned"
    folder, paper = of("paper", colors="paper")
    assert paper.legend == "signed"
    shown = pixels(folder, paper.of("real")[0].shown.map)
    # blue over white to red: one of red and blue is always full
    assert (shown.max(axis=2) >= 254).all() and (shown[..., 1] <= shown.min(axis=2)).all()


def test_what_is_refused(root: Path, made: tuple[Path, Material], tmp_path: Path) -> None:
    data = pets(root / "pets")
    for wanted, says in (
        ({"techniques": ["lime"]}, "techniques: got 'lime'"),
        ({"techniques": ["saliency", "saliency"]}, "each once"),
        ({"images": 99}, "14 at hand"),
        ({"images": 6, "checks": 6}, "--images 5"),
        ({"images": 0}, "at least 1"),
    ):
        with pytest.raises(EvidenceError, match=says):
            material_from_saliency_run(pipeline(root), data, tmp_path / "x", TwinSettings(**wanted))
    with pytest.raises(EvidenceError, match="with material in it"):
        material_from_saliency_run(pipeline(root), data, made[0], WANTED)
    with pytest.raises(EvidenceError, match="objects"):
        material_from_saliency_run(
            pipeline(root, objects=["unicorn"]), data, tmp_path / "x", TwinSettings(images=1)
        )


def test_no_image_is_both_rated_and_practised_with() -> None:
    wanted = TwinSettings(images=4, checks=2)
    assert wanted.rows(np.arange(20)) == ([0, 1, 2, 3], [4, 5, 6, 7, 8])
    assert wanted.rows(np.arange(9)) == ([0, 1, 2, 3], [4, 5, 6, 7, 8])
    with pytest.raises(EvidenceError, match=r"got 8 at hand; needed 9: 4 to .*--images 3\."):
        wanted.rows(np.arange(8))
    with pytest.raises(EvidenceError, match="Take more data"):
        wanted.rows(np.arange(5))


def test_changes_that_leave_nothing_to_see_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (9, 9, 3), np.uint8))
    black, paler = Image.new("RGB", (9, 9)), noise.point(lambda value: value // 2)
    result = iter(
        [
            None,
            PerturbedSample(black, 9, 7.0, 1, 4, changed=True),
            PerturbedSample(noise, 11, 0.9, 1, 4, changed=False),
            PerturbedSample(paler, 5, 1.0, 1, 4, changed=True),
        ]
    )
    asked: list[int] = []
    monkeypatch.setattr(twins, "MAX_DRAWS", 6)
    sample = _visible(noise, 10, lambda seed: (asked.append(seed), next(result))[1])
    assert sample is not None and sample.image is paler
    assert asked == [10, 11, 12, 13]
    assert _visible(noise, 0, lambda seed: None) is None


def test_classes_are_remembered() -> None:
    one, two, new = (Image.new("RGB", (9, 9), color) for color in ("red", "lime", "blue"))
    asked: list[int] = []

    def predict(images: Any) -> np.ndarray:
        asked.append(len(images))
        return np.array([int(np.asarray(image)[0, 0].argmax()) for image in images])

    remembered = _with_memory(predict, [one, two])
    assert remembered([two, new, one]).tolist() == [1, 2, 0]
    assert remembered([one]).tolist() == [0]
    assert asked == [2, 1]


def test_a_image_without_twins() -> None:
    seen = TwinImage("a", (Image.new("RGB", (9, 9)),), (3,), ("shown",))
    item = seen.item("x", [{"beak": 1.0}], lambda label: f"class {label}")
    assert item.same is None and item.different is None
    assert (item.shown.predicted, item.shown.concepts) == ("class 3", {"beak": 1.0})
    assert Looks().legend == "signed"


def test_concepts_of_a_bottleneck(tmp_path: Path) -> None:
    write_shapes(tmp_path / "shapes", 30)
    data = shapes_folder(tmp_path / "shapes")
    torch.manual_seed(0)
    network = timm.create_model("test_resnet")
    arrays = {k: np.asarray(v.numpy(), order="C") for k, v in network.state_dict().items()}
    save_file(arrays, tmp_path / "net.safetensors")
    how = PosthocPipeline(backbone="test_resnet", weights=tmp_path / "net.safetensors")
    random = np.random.default_rng(0)
    n, k = len(data.concepts), len(data.classes)
    channels = network.num_features
    model = {
        "vectors": random.normal(size=(n, channels)), "intercepts": np.zeros(n),
        "weights": random.normal(size=(n, k)), "bias": np.zeros(k),
    }  # fmt: skip
    wanted = TwinSettings(images=2, checks=1)
    made = material_from_posthoc_run(PosthocRun(how, data, model), tmp_path / "out", wanted)
    assert read_material(tmp_path / "out") == made
    assert [one.kind for one in made.instances] == ["real"] * 2 + ["training"] * 3 + ["gold"]
    tests = {data.images[row] for row in np.flatnonzero(data.is_test)}
    backbone = load_model("test_resnet", weights=tmp_path / "net.safetensors")
    extract = FeatureExtractor(backbone.network, backbone.layer)
    for one in made.instances:
        assert one.image_key in tests and one.technique == "linear_head"
        assert set(one.shown.concepts) <= set(data.concepts.names)
        assert one.check is None or not one.check.box
        assert one.different is None or one.different.predicted != one.shown.predicted
        # the linear head: values times weights, which the logit is the sum of
        image = data.image(data.images.index(one.image_key))
        maps = extract(backbone.preprocessing(image)[None])
        values = maps.mean(axis=(2, 3)) @ model["vectors"].T
        label = int((values @ model["weights"]).argmax())
        assert one.shown.predicted == data.classes.names[label]
        for name, value in one.shown.concepts.items():
            j = data.concepts.names.index(name)
            assert value == pytest.approx(
                values[0, j] * model["weights"][j, label], rel=0.02, abs=0.02
            )
    few = int(data.is_test.sum())
    with pytest.raises(EvidenceError, match=f"{few} at hand.*--images {few - 4}"):
        material_from_posthoc_run(
            PosthocRun(how, data, model), tmp_path / "none", TwinSettings(images=few, checks=1)
        )
    with pytest.raises(EvidenceError, match="model"):
        material_from_posthoc_run(PosthocRun(how, data, {}), tmp_path / "none", wanted)
    with pytest.raises(EvidenceError, match="clip_qda"):
        material_from_posthoc_run(
            PosthocRun(how, data, model), tmp_path / "none", TwinSettings(techniques=["clip_qda"])
        )


@pytest.fixture(scope="module")
def finished(root: Path) -> Path:
    spec = {
        "name": "tiny", "seeds": [5], "metrics": [{"name": "sparseness"}],
        "resampling": {"resamples": 20},
        "dataset": {"name": "pets", "root": "pets"},
        "pipeline": {
            "name": "saliency", "backbone": "cifar_resnet20", "weights": "net.safetensors",
            "class_names": "classes.json", "methods": ["saliency"], "objects": ["dog"],
            "images": 2, "ways": ["black"], "percents": [9], "shaken": 0, "randomized": 0, "shown": 0,
        },
    }  # fmt: skip
    out = root.parent / f"{root.name}-run"
    run(RunSpec.model_validate(spec), RunPaths(root, out, root.parent / "cache"))
    write_checksums(out)
    return out


def test_from_a_run_folder(root: Path, finished: Path, tmp_path: Path) -> None:
    wanted = TwinSettings(images=2, checks=0, seed=seed_of_run(finished))
    assert wanted.seed == 5
    made = material_of_run(finished, root, tmp_path / "study", wanted, lambda *_: None)
    evidence = load(finished / "evidence" / "seed-5" / "saliency")
    shown = [one.image_key for one in made.of("real")]
    assert shown == evidence.samples.ids.tolist()
    assert [one.shown.predicted for one in made.of("real")] == [
        CLASSES[label] for label in evidence.predicted
    ]
    assert made.origin["run"] == "tiny" and len(made.origin["run manifest"]) == 64


def test_run_folders_that_are_refused(root: Path, finished: Path, tmp_path: Path) -> None:
    wanted = TwinSettings(images=1, checks=0)
    with pytest.raises(EvidenceError, match="a place in the run folder"):
        material_of_run(finished, root, finished / "study", wanted, lambda *_: None)
    with pytest.raises(UnsafeInputError, match="no manifest"):
        material_of_run(tmp_path, root, tmp_path / "study", wanted, lambda *_: None)
    record = finished / "run.json"
    before = record.read_bytes()
    try:
        record.write_bytes(before.replace(b"tiny", b"tony"))
        with pytest.raises(VerificationError):
            material_of_run(finished, root, tmp_path / "study", wanted, lambda *_: None)
    finally:
        record.write_bytes(before)
