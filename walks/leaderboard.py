"""Put explanations on a leaderboard, and see it refuse what was changed.

Three concept models score the same images. One is better than the others, which differ by chance.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import numpy as np

import theodolite

os.chdir(tempfile.mkdtemp())
random = np.random.default_rng(0)
images, labels = [f"image {i}" for i in range(120)], random.integers(3, size=120)
truth = random.random((120, 6)) < 0.4


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from theodolite.cli import main; main()"]
    return subprocess.run([*program, *arguments, "--quiet"], capture_output=True, text=True)


def audit(name: str, noise: float, rows: slice = slice(None), **options: object) -> None:
    """Score a concept model, and copy the run as a submission with its file filled in."""
    values = truth + random.normal(scale=noise, size=truth.shape)
    arrays = {"values": values[rows], "truth": truth[rows], "labels": labels[rows]}
    result = theodolite.audit(**arrays, ids=images[rows], resamples=100, **options)
    result.save(f"runs/{name}")
    command("leaderboard", f"runs/{name}", "--submission", f"board/{name}__concepts")
    Path(f"board/{name}__concepts.yaml").write_text(
        f"name: {name}\nauthors: [A. Writer]\nexplanation: concepts\ndivision: open\n"
        f"model: {{digest: '{'0' * 64}', url: 'https://example.org/{name}', license: MIT}}\n"
        "code: https://example.org/code\ncontact: writer@example.org\ncpu_minutes: 0.1\n"
    )


Path("board").mkdir()
audit("sharp", 0.2)
audit("blurred", 0.8)
audit("blurred too", 0.8)
command("leaderboard", "runs/sharp", "--split", "board/split.json")

# submissions as they are: their scores follow from their evidence
ran = command("leaderboard", "board/sharp__concepts", "--check", "board/split.json")
assert ran.stdout == "ok: sharp, level: recomputed\n", ran.stdout + ran.stderr

# each question has its own places, and runs share one where their difference may be 0
ran = command("leaderboard", "board", "--out", "page.html", "--json")
(table,) = json.loads(ran.stdout)["tables"]
places = {run["run"]: run["answers"]["exists"]["place"] for run in table["runs"]}
print(places)
assert places == {
    "sharp__concepts": [1, 1], "blurred__concepts": [2, 3], "blurred too__concepts": [2, 3],
}  # fmt: skip
assert ran.returncode == 0, ran.stderr
page = Path("page.html").read_text()
assert "place 2–3 of 3" in page
assert "<script" not in page

# a score that was changed, with new checksums
shutil.copytree("board/blurred__concepts", "board/changed")
shutil.copy("board/blurred__concepts.yaml", "board/changed.yaml")
scores = json.loads(Path("board/changed/scores.json").read_text())
scores["scores"][0]["value"] += 0.1
Path("board/changed/scores.json").write_text(json.dumps(scores))
manifest = Path("board/changed/manifest.json")
sums = json.loads(manifest.read_text())
sums["files"]["scores.json"] = sha256(Path("board/changed/scores.json").read_bytes()).hexdigest()
manifest.write_text(json.dumps(sums))
digest = sha256(manifest.read_bytes()).hexdigest()
Path(f"{manifest}.sha256").write_text(f"{digest}  manifest.json\n")

# an image that is left out, and a verdict that is read from another setting
audit("fewer", 0.2, rows=slice(119))
audit("lenient", 0.8, metrics=[("concept_existence", {"top": (3,)})])

# none of them is listed, and a check says why
left_out = json.loads(command("leaderboard", "board", "--json").stdout)["left_out"]
reasons = {run["name"]: run["why"] for run in left_out}
print(reasons)
assert "other scores when computed again" in reasons["changed"]
assert "119 rows that are not the 120 test rows" in reasons["fewer__concepts"]
assert "Score it with top = 1" in reasons["lenient__concepts"]
refused = command("leaderboard", "board/changed", "--check", "board/split.json")
assert refused.returncode == 6
