"""The environment of the checks, made once for a lock and a Python.

    python environment.py FOLDER

Everything is pinned, so nothing is resolved (`pip check` proves that nothing is missing). torch and
torchvision come by pip, which knows where a machine keeps its CPU build; the rest by uv, in a tenth
of the time.
"""

import subprocess
import sys
import venv
from pathlib import Path

UV = "uv==0.13.7"


def main() -> None:
    """Make it, or leave it as it is."""
    home = Path(sys.argv[1])
    full, ready = home / "full", home / "ready"
    python = full / "bin" / "python"
    if not ready.exists():
        venv.create(full, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "-q", "--no-compile", "--no-deps"]
        subprocess.run([*pip, UV, "-r", "requirements/torch.txt"], check=True)
        install = [full / "bin" / "uv", "pip", "install", "-q", "--python", python]
        subprocess.run([*install, "--no-deps", "-r", "requirements/lock.txt"], check=True)
        subprocess.run([python, ".ci/torchvision_on_cpu.py"], check=True)
        ready.touch()
    editable = ["install", "-q", "--no-deps", "--no-build-isolation", "-e", ".", "-e", "study",
                "-e", "reproductions", "-e", "models"]  # fmt: skip
    subprocess.run([python, "-m", "pip", *editable], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)


main()
