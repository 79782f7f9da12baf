"""Run every call in the table "I have …" of README.md, with arrays a reader could have."""

# needs theodolite[dissect]
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

import theodolite

COMMAND = "from theodolite.cli import main; main()"
readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")

# What a reader has already, by the names that the calls of the table use.
random = np.random.default_rng(0)
truth = random.random((100, 4)) < 0.4
values = truth + random.normal(scale=0.3, size=truth.shape)
weights = random.normal(size=(4, 3))
X = random.normal(size=(60, 5))
masks = np.zeros((40, 16, 16), bool)
for mask, (row, column) in zip(masks, random.integers(12, size=(40, 2)), strict=True):
    mask[row : row + 4, column : column + 4] = True
images = (0.1 * random.random((40, 3, 16, 16)) + masks[:, None]).astype(np.float32)
having = {
    "theodolite": theodolite, "truth": truth, "values": values, "weights": weights,
    "labels": (values @ weights).argmax(axis=1), "outputs": values @ weights,
    "X": X, "background": X, "attributions": X * [1, 2, 3, 0, 0],
    "model": LinearRegression().fit(X, X @ [1, 2, 3, 0, 0]),
    "net": lambda batch: np.asarray(batch)[:, :2, ::2].sum(axis=(2, 3)),
    "images": images, "masks": masks, "maps": masks * 1.0,
    "activations": random.normal(size=(40, 2, 16, 16)), "concepts": ["square"],
    "ratings": random.integers(1, 6, (60, 4)).astype(float),
}  # fmt: skip
of_arrays = dict(having)
of_arrays["masks"] = masks[:, None]  # a mask per concept
texts = {
    "tokens": [[0, 1, 2], [3, 1, 4, 5], [0, 6, 2], [7, 8, 9]] * 20,
    "latent": [[[1], [0], []], [[], [0], [0], []], [[1], [0], []], [[], [], [1]]] * 20,
    "value": [[[1.0], [2.0], []], [[], [1.5], [0.5], []], [[1.2], [0.4], []], [[], [], [0.3]]] * 20,
    "truth": [[1], [1], [0], [0]] * 20,
}

calls = re.findall(r"^\|[^|]+\| `(theodolite[. ][^`]+)` \|", readme, re.MULTILINE)
assert len(calls) > 10
for call in calls:
    print(f"== {call}")
    if call.startswith("theodolite "):  # the command exists, and has these options
        words = shlex.split(call)
        named = words[1 : 3 if words[1] in ("sae", "study") else 2]
        shown = subprocess.run(
            [sys.executable, "-c", COMMAND, *named, "--help"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if named[0] != "study":  # another distribution
            assert shown.returncode == 0, shown.stderr
            assert all(word in shown.stdout for word in words if word.startswith("--"))
    elif "data=" in call:  # a torch model and a folder of images
        assert {"model", "layer", "data"} <= set(inspect.signature(theodolite.audit).parameters)
    else:
        extra = texts if "audit_tokens" in call else {}
        names = of_arrays if "dissect" in call else having
        print(eval(call, {**names, **extra}))  # noqa: S307  a line of our own page
