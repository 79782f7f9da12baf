"""Every command of --help, in the environment that runs this, ends with an answer.

    python every_command.py RUN

Meant for the base environment: what a command lacks there, it must say. RUN is a run folder. It
fails where one says "internal error", ends with a code that is not documented, or is not tried.
"""

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from theodolite.cli import main as theodolite
from theodolite.cli.program import program

TIMED = "(base_install.py)"
"""In place of arguments: a command that `base_install.py` has just run in this environment."""
TRIED = {
    "audit": "concepts.npz --quiet",
    "compare": "RUN RUN",
    "data check": "folder mydata",
    "data commit": "pieces",
    "data example": "mydata",
    "data get": "cub",
    "data info": "folder",
    "data keys": "secret",
    "data list": "",
    "data store": "concepts.npz pieces",
    "demo": TIMED,
    "dissect": "--model resnet18 --data mydata --dataset mask_folder --out out",
    "doctor": "",
    "evidence": "",
    "explain": "image.png --model resnet18 --method grad_cam --out maps",
    "export": "RUN --latex tables.tex",
    "gate": "RUN thresholds.yaml",
    "leaderboard": "RUN",
    "metrics list": "",
    "metrics show": "concept_existence",
    "metrics validate": "concept_existence --draws 20 --workers 1 --out certificate",
    "models info": "monumai-lite0",
    "models list": "",
    "models train": "monumai-lite0 --data mydata",
    "papers accept score": "concepts.npz --model model",
    "papers accept train": "spec.yaml --out out",
    "papers accept tune": "image.png --model model --backbone resnet18 --space space.yaml",
    "papers findings list": "",
    "papers findings pages": "RUN",
    "papers findings power": "alignment_monumai",
    "papers findings run": "alignment_monumai --out out",
    "papers findings show": "P003-F0-05",
    "papers findings status": "",
    "papers findings tables": "",
    "papers inputs": "leakage_tabulartoy",
    "papers list": "",
    "papers run": "leakage_tabulartoy --out out",
    "papers show": "leakage_tabulartoy",
    "plan": "RUN",
    "report": "RUN",
    "run": "leakage_tabulartoy --short --out out",
    "sae audit": "model --module m --texts texts.txt --out out",
    "sae dashboard": "concepts.npz --out out",
    "sae dissect": "codes --out out",
    "sae explain": "concepts.npz --out out --address http://127.0.0.1:9/v1 --model m",
    "sae judge": "concepts.npz --out out --address http://127.0.0.1:9/v1 --model m --kind fuzzing",
    "sign": "RUN --key secret",
    "study": "demo",
    "verify": "RUN",
}
"""Commands by their words, and the least that each needs to get to its work."""
FIRST = "data example"
"""It writes images that others read."""
DOCUMENTED = (0, 2, 3, 4, 5, 6)
"""1 is for faults of ours."""


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    """All commands below a group."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name))


def bring(folder: Path) -> None:
    """What the arguments name."""
    random = np.random.default_rng(0)
    truth = random.random((60, 6)) < 0.4
    values = truth + random.normal(0, 0.3, truth.shape)
    np.savez(folder / "concepts.npz", values=values, truth=truth)
    (folder / "model").mkdir()
    Image.new("RGB", (32, 32)).save(folder / "image.png")
    (folder / "thresholds.yaml").write_text("questions: {exists: partly}\n")
    (folder / "space.yaml").write_text("{}\n")
    (folder / "spec.yaml").write_text("name: mine\nevidence: concepts.npz\n")
    (folder / "texts.txt").write_text("a text\n")


def answer(arguments: list[str]) -> tuple[int, str]:
    """How a command ends, and what it prints."""
    printed = io.StringIO()
    sys.argv = ["theodolite", *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            theodolite()
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def main() -> None:
    run = Path(sys.argv[1]).resolve()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        bring(Path(folder))
        for words in sorted(commands(program()), key=lambda words: words != FIRST):
            if words not in TRIED:
                faults.append(f"{words} is not tried")
                continue
            if TRIED[words] is TIMED:
                continue
            start = time.monotonic()
            arguments = TRIED[words].replace("RUN", str(run)).split()
            code, text = answer([*words.split(), *arguments])
            last = (text.strip().splitlines() or [""])[-1]
            took = time.monotonic() - start
            print(f"{took:4.1f} s  {code}  theodolite {words} {TRIED[words]}  |  {last[:90]}")
            if code not in DOCUMENTED or "internal error" in text or "Traceback" in text:
                faults.append(f"{words} ends with {code}: {last}")
        os.chdir(run)
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":  # commands that start workers import this file again
    main()
