"""Run three protocols from an empty folder, by their pages alone (needs theodolite[torch])."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import theodolite

BIN = Path(sys.executable).parent
PROTOCOLS = ("leakage_3dshapes", "leakage_dsprites", "leakage_tabulartoy_embeddings")


def call(command: str) -> str:
    """Run a command as a page states it."""
    words = command.split()
    ran = subprocess.run(
        [str(BIN / words[0]), *words[1:]], cwd=folder, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for data in ("shapes3d", "dsprites", "tabular_toy"):
        # The page of the data set says that nothing needs a download, and how to run its protocols.
        page = call(f"theodolite data info {data}")
        assert "made by theodolite: nothing to download" in page
        commands = re.findall(r"^\$ (theodolite run (\w+) --out (\S+))$", page, re.MULTILINE)
        command, protocol, out = next(c for c in commands if c[1] in PROTOCOLS)

        # The protocol reads nothing else. Run its short form: one seed and few resamples.
        assert protocol not in call(f"theodolite papers inputs {protocol}")
        call(f"{command} --short --quiet")

        # The run has a report, and an answer about leakage.
        run = theodolite.load(folder / out)
        answers = {verdict.question: verdict.answer for verdict in run.verdicts}
        print(f"{protocol}: leak_free is {answers['leak_free']!r}")
        assert run.report.is_file()
        assert answers["leak_free"] == "yes", "the first model's concepts are learned to the full"
