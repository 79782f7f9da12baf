"""Units under other choices, with a tolerance, and specialized ones: what a run writes of them."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.tables import read_parquet
from theodolite._storage.text import read_csv
from theodolite.datasets.masks.mask_folder import mask_folder
from theodolite.datasets.shapes import write_shapes
from theodolite.dissection.formula import Formula
from theodolite.dissection.search import FormulaSearch, UnitFormula
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.models.loading import load_model
from theodolite.pipelines.feature_pass import run_feature_pass
from theodolite_reproductions.detection.alternatives import DissectionAlternative, own_accuracy

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")
TOLERANCES = [0, 0.05, 0.5]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shapes as a folder of masks, and a random network."""
    folder = tmp_path_factory.mktemp("alternatives")
    write_shapes(folder / "masks", 30)
    masks = folder / "masks"
    rows = list(read_csv(masks / "samples.csv"))
    table = ["image,class", *(f"{row['image']},{row['class']}" for row in rows)]
    (masks / "samples.csv").write_text("\n".join(table))
    parts = list(read_csv(masks / "masks.csv"))
    lines = [f"{row['image']},{row['part']},{row['file']}" for row in parts]
    (masks / "masks.csv").write_text("\n".join(["image,concept,file", *lines]))
    torch.manual_seed(0)
    arrays = timm.create_model("test_resnet").state_dict()
    weights = {name: np.asarray(tensor.numpy(), order="C") for name, tensor in arrays.items()}
    save_file(weights, folder / "weights.safetensors")
    return folder


@pytest.fixture(scope="module")
def tables(root: Path) -> dict[str, dict[str, list[Any]]]:
    classes = mask_folder(root / "masks").classes
    alternatives = {
        "as scored": {}, "beam 1": {"beam": 1}, "at or above": {"active": "at or above"},
        "clipped": {"activation": "clipped at 6"},
    }  # fmt: skip
    spec = RunSpec.model_validate({
        "name": "alternatives", "dataset": {"name": "mask_folder", "root": "masks"},
        "pipeline": {
            "name": "dissection_study", "backbone": "test_resnet", "weights": "weights.safetensors",
            "units": 12, "quantile": 0.9, "min_images": 2, "cards": 1, "examples": 3,
            "alternatives": alternatives, "tolerances": TOLERANCES,
            "network_classes": {classes[0]: 3, classes[1]: 7},
        },
        "seeds": [0], "resampling": {"resamples": 20}, "metrics": [{"name": "detection_accuracy"}],
    })  # fmt: skip
    out = root / "out"
    out.mkdir()
    run(spec, RunPaths(root, out, root / "cache"))
    names = ("alternatives", "tolerances", "specialized", "formula_scores", "own_formula_scores",
             "units")  # fmt: skip
    return {name: read_parquet(out / "tables" / f"{name}.parquet") for name in names}


def of(table: dict[str, list[Any]], column: str, **where: object) -> list[Any]:
    keep = [all(table[name][row] == value for name, value in where.items())
            for row in range(len(table[column]))]  # fmt: skip
    return [value for value, wanted in zip(table[column], keep, strict=True) if wanted]


def test_units_under_other_choices(tables: dict[str, Any]) -> None:
    each, others = tables["formula_scores"], tables["alternatives"]
    for way in ("one concept", "as scored", "chosen by detection", "stopped by detection"):
        for column in ("iou", "detection_accuracy", "accuracy_either", "length"):
            again = of(others, column, alternative="as scored", formulas=way)
            assert again == of(each, column, formulas=way)
    wide, narrow = (of(others, "iou", alternative=name, formulas="as scored")
                    for name in ("as scored", "beam 1"))  # fmt: skip
    assert all((a or 0) >= (b or 0) - 1e-12 for a, b in zip(wide, narrow, strict=True))
    own = tables["own_formula_scores"]
    assert own["accuracy_either"] != each["accuracy_either"]
    assert (own["iou"], own["formulas"]) == (each["iou"], each["formulas"])


def test_the_networks_own_accuracy(root: Path) -> None:
    data = mask_folder(root / "masks")
    assert data.labels is not None
    backbone = load_model("test_resnet", weights=root / "weights.safetensors")
    rows = np.arange(len(data))
    maps = run_feature_pass(
        data, rows, backbone, None, WorkContext(seeds=(0,), cache=root / "cache")
    )
    batch = np.stack([backbone.preprocessing(data.image(int(row))) for row in rows])
    with torch.inference_mode():
        outputs = backbone.network(torch.from_numpy(batch)).numpy()
    first = outputs.argmax(axis=1)
    known = {0: int(first[0]), 1: int(first[1])}
    right, among = own_accuracy(maps, backbone, backbone.layer, data.labels, known)
    assert np.array_equal(among, np.isin(data.labels, [0, 1]))
    expected = first == np.array([known.get(int(label), -1) for label in data.labels])
    # maps are kept in half precision: an image between two classes may tip over
    sorted_outputs = np.sort(outputs, axis=1)
    clear = sorted_outputs[:, -1] - sorted_outputs[:, -2] > 1e-3
    assert clear.sum() > 10 and np.array_equal(right[clear], expected[clear])
    with pytest.raises(EvidenceError, match="the last before the head"):
        own_accuracy(maps, backbone, "layer1", data.labels, known)


def test_values_that_equal_the_threshold() -> None:
    limits = np.array([6.0, 0.5], np.float32)
    above, at = DissectionAlternative(), DissectionAlternative(active="at or above")
    value = np.float32(6.0)
    assert not value > above.limits(limits)[0] and value > at.limits(limits)[0]
    clipped = DissectionAlternative(activation="clipped at 6")
    assert clipped.changed(np.array([-1.0, 3.0, 9.0])).tolist() == [0.0, 3.0, 6.0]
    assert not clipped.same_units and not at.same_search and above.same_search


def test_stopping_with_a_tolerance(tables: dict[str, Any]) -> None:
    by = {t: of(tables["tolerances"], "length", tolerance=t) for t in TOLERANCES}
    assert by[0] == of(tables["formula_scores"], "length", formulas="stopped by detection")
    for less, more in pairwise(TOLERANCES):
        assert all(a <= b for a, b in zip(by[less], by[more], strict=True))
    assert {"iou", "detection_accuracy", "accuracy_either"} <= set(tables["tolerances"])


def test_a_tolerance_lets_detection_fall_by_so_much_a_step() -> None:
    shares = (0.6, 0.56, 0.58, 0.5, 0.7)
    formulas = [
        UnitFormula(Formula(0, (("AND", 1),) * n), 10, 10, 5, 100, round(100 * share))
        for n, share in enumerate(shares)
    ]
    search = SimpleNamespace(
        best=lambda _, length: formulas[length - 1], searched=np.array([len(formulas)])
    )

    def length(tolerance: float) -> int:
        stopped = FormulaSearch.stopped(search, 0, tolerance)  # type: ignore[arg-type]
        assert stopped is not None
        return len(stopped.formula)

    # 0.04 less, 0.02 more, 0.08 less, 0.2 more
    assert [length(t) for t in (0, 0.03, 0.04, 0.07, 0.08)] == [1, 1, 3, 3, 5]


def test_specialized_units_and_those_that_are_not(tables: dict[str, Any]) -> None:
    table, units = tables["specialized"], tables["units"]
    flags = dict(zip(units["unit"], units["specialized"], strict=True))
    single = [
        s is not None and s == a for s, a in zip(units["stopped"], units["alone"], strict=True)
    ]
    for kind, flag in (("specialized", True), ("one concept, not specialized", False)):
        n = sum(one and own is flag for one, own in zip(single, units["specialized"], strict=True))
        chosen = of(table, "unit", kind=kind)
        assert len(chosen) == min(n, 3) and all(flags[unit] is flag for unit in chosen)
        assert set(of(table, "of", kind=kind)) <= {n}
    assert len(table["unit"]) > 0
    for one, three in zip(*(of(table, f"{name}_detection_accuracy", kind="specialized")
                            for name in ("alone", "three")), strict=True):  # fmt: skip
        assert one > three
