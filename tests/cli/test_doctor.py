"""`theodolite doctor` and `theodolite demo`, and what a missing library makes of a command."""

import base64
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from support.runs.command_line import theodolite
from theodolite._stats.native.library import kernels_version
from theodolite.cli.commands import doctor


def test_doctor_tells_versions_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor.get_installed_version
    monkeypatch.setattr(
        doctor, "get_installed_version", lambda name: None if name == "optuna" else known(name)
    )
    result = theodolite("doctor", "--json")
    assert result.returncode == 0
    told = json.loads(result.stdout)
    assert told["missing"]["tune"] == ["optuna"]
    assert told["broken"] == {} and "numpy" in told["facts"]
    assert told["facts"]["native kernels"] == kernels_version()
    monkeypatch.setenv("THEODOLITE_KERNELS", "numpy")
    told = json.loads(theodolite("doctor", "--json").stdout)
    assert told["facts"]["native kernels"] == "numpy"
    assert "pip install 'theodolite[NAME]'" in theodolite("doctor").stdout


def test_doctor_finds_a_broken_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    result = theodolite("doctor")
    assert result.returncode == 2
    assert "broken: h5py" in result.stdout


def test_a_missing_library_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'optuna'", name="optuna")

    monkeypatch.setattr(doctor, "_broken", needs)
    result = theodolite("doctor")
    assert result.returncode == 2
    assert "pip install 'theodolite[tune]'" in result.stderr


def test_demo_ends_in_a_report(tmp_path: Path) -> None:
    result = theodolite("demo", cwd=tmp_path)
    assert result.returncode == 0
    page = (tmp_path / "theodolite-demo" / "run" / "report.html").read_text()
    above = page.partition('<section id="appendix">')[0]
    shown = re.findall(r'<use href="#(image-\d+)"', above.partition("<details>")[0])
    assert len(set(shown)) >= 4, "digits above the fold"
    content = re.search(r'<image id="image-0" [^>]*base64,([^"]+)"', above).group(1)
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("L"))
    blocks = pixels.reshape(8, 12, 8, 12)
    assert (blocks == blocks[:, :1, :, :1]).all(), "each pixel is a square of 12 by 12"
    assert "already determine the label" in result.stdout
    assert theodolite("demo", cwd=tmp_path).returncode != 0
