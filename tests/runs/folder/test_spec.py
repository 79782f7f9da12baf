"""Specs: every mistake is one line that names the place."""

from pathlib import Path

import pytest

from theodolite._runs.folder.registry import build_registered, find_registered
from theodolite._runs.folder.spec import Named, read_spec
from theodolite.errors import EvidenceError, UnsafeInputError

GOOD = """
name: mine
dataset: {name: folder, root: shapes}
pipeline: {name: posthoc_cbm, backbone: test_resnet}
metrics: [{name: concept_existence, options: {top: [1]}}]
"""


def test_a_good_spec(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(GOOD)
    spec = read_spec(path)
    assert spec.dataset is not None and spec.dataset.arguments == {"root": "shapes"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "NoneType"),
        ("- a", "list"),
        ("name: x", "either dataset and pipeline, or evidence"),
        (GOOD + "evidence: [x]\n", "either dataset and pipeline, or evidence"),
        (GOOD.replace("name: mine", "name: ../x"), "name: String should match"),
        (GOOD + "color: red\n", "color: Extra inputs are not permitted"),
        (GOOD + "seeds: []\n", "seeds: List should have at least 1"),
        (GOOD + "seeds: [1, 1]\n", "distinct"),
        (GOOD + "seeds: [-1]\n", "not negative"),
        (GOOD + "resampling: {resamples: -3}\n", "resampling.resamples"),
        (GOOD + "resampling: {level: 95}\n", "resampling.level"),
        (GOOD.replace("options", "option"), "metrics.0.option"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(EvidenceError, match=says) as caught:
        read_spec(path)
    assert "\n" not in str(caught.value)


def test_registered_things_are_found_by_name() -> None:
    assert {"cub", "monumai", "folder"} <= set(find_registered("datasets"))
    assert "posthoc_cbm" in find_registered("pipelines")


@pytest.mark.parametrize(
    ("group", "named", "says"),
    [
        ("datasets", Named(name="imagenet"), "one of .*'cub'"),
        ("datasets", Named(name="cub"), "no \\['root'\\]"),
        ("datasets", Named(name="cub", root="x", color=1), "unknown \\['color'\\]"),
        ("datasets", Named(name="cub", root="x", presence="guess"), "cub.presence"),
        ("datasets", Named(name="monumai", root="x", test_share="much"), "valid number"),
        ("pipelines", Named(name="posthoc_cbm", backbone="a", head="svm"), "posthoc_cbm.head"),
    ],
)
def test_arguments_are_checked(tmp_path: Path, group: str, named: Named, says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        build_registered(group, named, tmp_path)


def test_paths_of_a_spec_stay_in_the_data_folder(tmp_path: Path) -> None:
    for name in ("../x", "/etc"):
        with pytest.raises(UnsafeInputError):
            build_registered("datasets", Named(name="cub", root=name), tmp_path)
    with pytest.raises(UnsafeInputError):
        build_registered(
            "pipelines", Named(name="posthoc_cbm", backbone="a", weights="../w"), tmp_path
        )
