"""Add a data set: a function that reads a folder, a pipeline, and two entry points."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import theodolite

HERE = Path(__file__).parent
SPEC = """\
name: clinic
dataset: {name: clinic, root: ward}
pipeline: {name: readings, noise: 0.1}
seeds: [0, 1]
resampling: {resamples: 100}
"""
ENTRY_POINTS = """\
[theodolite.datasets]
clinic = clinic:clinic
[theodolite.pipelines]
readings = clinic:Readings
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)

    # Install the file as `pip install` does: the module, and what its package declares.
    package = folder / "site" / "clinic-1.0.dist-info"
    package.mkdir(parents=True)
    shutil.copy(HERE / "clinic.py", folder / "site")
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: clinic\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(ENTRY_POINTS)
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}

    # The data: 60 patients, every second one ill; the ill have fever.
    rows = [
        f"p{i},{'ill' if i % 2 else 'well'},{i % 2},{i % 3 // 2},{i // 2 % 2}" for i in range(60)
    ]
    (folder / "ward").mkdir()
    (folder / "ward" / "patients.csv").write_text("\n".join(["id,class,fever,rash,cough", *rows]))
    (folder / "spec.yaml").write_text(SPEC)

    # The data set and the pipeline are found by their names.
    command = [str(Path(sys.executable).with_name("theodolite"))]
    listed = subprocess.run(
        [*command, "data", "list"], env=environment, check=True, capture_output=True, text=True
    )
    assert "clinic" in listed.stdout
    subprocess.run(
        [*command, "run", "spec.yaml", "--data", ".", "--out", "run", "--quiet"],
        cwd=folder, env=environment, check=True,
    )  # fmt: skip

    # The run has scores of both seeds, a verdict and a report.
    run = theodolite.load(folder / "run")
    assert run.report.is_file()
    (auc,) = [
        s for s in run.scores if s.metric == "concept_prediction" and s.options["by"] == "auc"
    ]
    answers = {verdict.question: verdict.answer for verdict in run.verdicts}
    print(f"concept_prediction {auc.value:.2f}, exists: {answers['exists']}")
    assert 0.85 < auc.value < 0.95, "a device that is wrong about 10 % of all signs"
    assert answers["exists"] in ("yes", "partly")
