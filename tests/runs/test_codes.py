"""The command for sparse codes: killed anywhere and begun again, it writes the same bytes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.evidence.codes import planted_codes
from theodolite._storage.tables import read_parquet
from theodolite._storage.text import read_json
from theodolite.language.sae.writer import SparseActivationWriter

PROGRAM = Path(sys.executable).with_name("theodolite")
KILLS = int(os.environ.get("THEODOLITE_KILLS", "1"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    evidence = planted_codes(12)
    path = tmp_path_factory.mktemp("codes")
    with SparseActivationWriter(
        path, units=60, concepts=evidence.concepts, positions=300
    ) as writer:
        for n in range(12):
            writer.add(evidence.piece(n))
    return path


def begin(folder: Path, out: Path, workers: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [PROGRAM, "sae", "dissect", folder, "--out", out, "--quiet", "--quantile", "0.01", "--workers",
         f"{workers}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_killed_and_begun_again(folder: Path, tmp_path: Path) -> None:
    process = begin(folder, tmp_path / "whole", 1)
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "60 of 60 units have a formula" in printed
    for number in range(KILLS):
        out = tmp_path / f"killed {number}"
        process = begin(folder, out, 2)
        least = 3 + 5 * number
        while process.poll() is None and len(list(out.glob("pieces/*.safetensors"))) < least:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        before = {p.name: p.stat().st_mtime_ns for p in out.glob("pieces/*.safetensors")}
        assert before
        process = begin(folder, out, 2)
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0 or "earlier result" in errors, errors
        for name in ("units.parquet", "summary.json"):
            assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        after = {p.name: p.stat().st_mtime_ns for p in out.glob("pieces/*.safetensors")}
        assert before.items() <= after.items(), "a piece that was done was done again"
    assert read_json(tmp_path / "whole" / "summary.json")["with_formula"] == 60
    assert len(read_parquet(tmp_path / "whole" / "units.parquet")["formula"]) == 60
    process = begin(folder, tmp_path / "whole", 1)
    assert process.wait(timeout=300) == 2, "an earlier result is not replaced"
    process.communicate()
