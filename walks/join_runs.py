"""Join two runs on the same network into one report (needs theodolite[torch]).

One run asks about concepts, the other about units. Each kind of evidence keeps its own number of
samples, and all images stay.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import timm
import torch

import theodolite
from theodolite.datasets import write_shapes

os.chdir(tempfile.mkdtemp())
write_shapes(Path("signs"), n=120)
torch.manual_seed(0)
torch.save(timm.create_model("test_resnet").state_dict(), "net.pt")
shared = [
    "--weights",
    "net.pt",
    "--layer",
    "layer4",
    "--cache",
    "cache",
    "--units",
    "12",
    "--quiet",
]


def theodolite_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from theodolite.cli import main; main()"]
    return subprocess.run([*program, *arguments, "--workers", "1"], capture_output=True, text=True)


Path("concepts.yaml").write_text(
    "name: concepts\ndataset: {name: folder, root: signs}\n"
    "pipeline: {name: posthoc_cbm, backbone: test_resnet, weights: net.pt, layer: layer4,\n"
    "  n_examples: [20], regulariser: [1.0]}\n"
    "metrics: [{name: concept_existence}, {name: pointing_game}]\n"
    "resampling: {resamples: 20}\n"
)
ran = theodolite_command(
    "run", "concepts.yaml", "--data", ".", "--out", "concepts", "--cache", "cache", "--quiet"
)
assert ran.returncode == 0, ran.stderr
ran = theodolite_command(
    "dissect", "--data", "signs", "--model", "test_resnet", *shared, "--out", "units"
)
assert ran.returncode == 0, ran.stderr

joined = theodolite_command("audit", "concepts", "units", "--out", "joined", "--resamples", "20")
print(joined.stdout)
assert joined.returncode == 0, joined.stderr
page = Path("joined/report.html").read_text()
assert "What was examined" in page
for folder in ("concepts", "units"):
    images = {path.name for path in Path(folder).rglob("*.jpg")}
    assert images
    assert images <= {path.name for path in Path("joined").rglob("*.jpg")}
asked = {v.question for v in theodolite.load("joined").verdicts if v.answer != "not_evaluated"}
assert {"exists", "located", "detects"} <= asked
