"""The package's protocols by name: listed, shown, run; a file of that name is taken instead."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import theodolite as th
from support.runs.command_line import theodolite
from theodolite._runs.folder.protocols import find_protocol_file, shorten_spec
from theodolite._runs.folder.spec import read_spec
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.datasets.pooled_features import POOLED, WEIGHTS
from theodolite_reproductions.protocols import PROTOCOLS
from theodolite_reproductions.sources import find_sources


def test_all_are_listed_with_what_they_read() -> None:
    listed = {protocol.name: protocol for protocol in th.protocols()}
    assert set(listed) == {path.name.removesuffix(".yaml") for path in PROTOCOLS.glob("*.yaml")}
    assert listed["alignment_monumai"].data == ("efficientnet_lite0", "monumai")
    assert listed["leakage_tabulartoy"].data == ()
    assert listed["alignment.sweep"].sweep
    assert listed["alignment.sweep"].data == listed["alignment_cub"].data
    rows = json.loads(theodolite("papers", "list", "--json").stdout)
    assert [row["name"] for row in rows] == sorted(listed)


def test_show_prints_the_file() -> None:
    shown = theodolite("papers", "show", "leakage_tabulartoy").stdout
    assert shown == (PROTOCOLS / "leakage_tabulartoy.yaml").read_text()


def test_a_file_is_taken_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_protocol_file("saliency_pets") == PROTOCOLS / "saliency_pets.yaml"
    Path("saliency_pets").write_text("")
    assert find_protocol_file("saliency_pets") == Path("saliency_pets")
    with pytest.raises(UnsafeInputError, match="theodolite papers list"):
        find_protocol_file("no_such")


def test_a_short_form_has_one_seed_and_few_resamples() -> None:
    whole = read_spec(PROTOCOLS / "alignment_monumai.yaml")
    short = shorten_spec(whole)
    assert short.seeds == whole.seeds[:1]
    assert short.resampling.resamples == 100
    assert short.metrics == whole.metrics


def test_missing_data_is_an_answer(tmp_path: Path) -> None:
    result = theodolite("run", "alignment_monumai", "--data", tmp_path, "--out", tmp_path / "out")
    assert (result.returncode, "monumai" in result.stderr) == (3, True)


def test_every_input_of_a_protocol_has_a_source() -> None:
    for protocol in th.protocols():
        for name, sources in find_sources(protocol).items():
            assert sources, (protocol.name, name)
    assert find_sources(replace(th.protocols()[0], data=("private",))) == {"private": []}


def test_pooled_features_are_those_that_a_command_makes() -> None:
    """No other file of pooled features may be named: these protocols are not rerun without it."""
    specs = [yaml.safe_load(path.read_text()) for path in PROTOCOLS.glob("*.yaml")]
    specs = [spec for spec in specs if "dataset" in spec]
    named = [
        {**spec["dataset"], **spec["pipeline"]}["pooled"]
        for spec in specs if "pooled" in {**spec["dataset"], **spec["pipeline"]}
    ]  # fmt: skip
    assert named == [POOLED] * 7
    assert WEIGHTS in {spec["pipeline"].get("weights") for spec in specs}


def test_inputs_shows_the_sources() -> None:
    text = theodolite("papers", "inputs", "alignment_cub").stdout
    assert "theodolite data get cub" in text
    assert "pooled_features" in text and "efficientnet-lite0" in text
