"""Audit a network of your own with one command (needs theodolite[notebook,torch]).

The network is trained here to tell three signs apart. It has its own head, so the answers are about
its own outputs. Then the command is killed half way, and resumes.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas
import torch
from matplotlib.pyplot import imread

import theodolite
from theodolite.datasets import write_shapes

os.chdir(tempfile.mkdtemp())
write_shapes(Path("signs"), n=300)

# your code: a function that returns the network, and its weights in a file
Path("nets.py").write_text(
    "import torch\n\n\ndef build():\n    return torch.nn.Sequential(\n"
    "        torch.nn.Conv2d(3, 32, 5, stride=2), torch.nn.ReLU(),\n"
    "        torch.nn.Conv2d(32, 64, 5, stride=2), torch.nn.ReLU(),\n"
    "        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 3))\n"
)
sys.path.insert(0, ".")
network = __import__("nets").build()
signs = pandas.read_csv("signs/samples.csv")
names = sorted(set(signs["class"]))
pixels = np.stack([imread(f"signs/{name}")[..., :3] for name in signs["image"]])  # 0 to 1
images = torch.tensor((pixels - 0.5) / 0.5).permute(0, 3, 1, 2)
train = torch.tensor(signs["split"] == "train")
labels = torch.tensor([names.index(name) for name in signs["class"]])
steps = torch.optim.Adam(network.parameters(), 3e-3)
for _ in range(60):
    steps.zero_grad()
    torch.nn.functional.cross_entropy(network(images[train]), labels[train]).backward()
    steps.step()
accuracy = (network(images).argmax(1) == labels)[~train].float().mean()
print(f"accuracy on test images: {accuracy:.0%}")
torch.save(network.state_dict(), "net.pt")
Path("pixels.json").write_text(
    '{"size": [64, 64], "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}'
)
Path("classes.txt").write_text("\n".join(names))

# one command: one pass over the images, one report
command = [
    sys.executable, "-c", "from theodolite.cli import main; main()", "audit",
    "--model", "python:nets:build", "--trust-model", "--weights", "net.pt",
    "--layer", "3", "--preprocess", "pixels.json", "--classes", "classes.txt",
    "--data", "signs", "--cache", "cache", "--resamples", "100", "--workers", "1",
    "--interventions", "40",
    "--out", "run",
]  # fmt: skip

# what it will take, before it is run
plan = subprocess.run([*command, "--dry-run"], capture_output=True, text=True).stdout
print(plan)
assert plan.startswith("300 images, 1 pass")
assert "faithful (network)" in plan
assert not Path("run").exists()

# it is killed when the first 64 images are done
killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not (kept := list(Path("cache/features").rglob("*.images.npy"))):
    assert killed.poll() is None
    time.sleep(0.01)
killed.send_signal(signal.SIGKILL)
killed.wait()
maps = [path.with_name(path.name.replace("images", "maps")) for path in kept]
before = {path: path.stat().st_mtime_ns for path in maps}

# the same command resumes
ran = subprocess.run(command, capture_output=True, text=True)
print(ran.stdout, ran.stderr)
assert ran.returncode == 0
assert {path: path.stat().st_mtime_ns for path in before} == before
run = theodolite.load("run")
answers = {verdict.question: verdict.answer for verdict in run.verdicts}
print(answers)
assert run.subject.outputs == "model"
asked = {question for question, answer in answers.items() if answer != "not_evaluated"}
assert asked == {"exists", "located", "leak_free", "faithful", "detects"}
assert answers["faithful"] != "no"
# saliency maps of the same network have their own answers, in a second column
assert "saliency: located" in ran.stdout
assert "Answers for each explanation" in Path("run/report.html").read_text()
# people can be asked at once: the study lies beside the run, where no later run replaces it
assert "theodolite study init run-study" in ran.stdout
assert Path("run-study").is_dir()

# a network whose outputs are other classes: the report names the linear probe instead
other = torch.nn.Sequential(*network[:-1], torch.nn.Linear(64, 9))
pixels = {"size": (64, 64), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
probed = theodolite.audit(
    model=other, layer="3", data="signs", preprocessing=pixels, questions=["faithful"], resamples=50
)
faithful = probed.verdicts["faithful"]
print(faithful.answer, "|", probed.linear_probe.answer, "|", probed.notes)
assert faithful.answer == "not_evaluated"
assert faithful.reason == "probe_only"
assert any("The model has outputs for other classes" in note for note in probed.notes)
