"""Where nothing but the wheel is: nothing heavy came along, and the first report comes in seconds.

    python base_install.py RUN

RUN is the run folder to write.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HEAVY = ("torch", "torchvision", "timm", "matplotlib", "ray", "fastapi", "mlflow")

found = [name for name in HEAVY if importlib.util.find_spec(name)]
assert not found, f"the base install brought {found}"

program, run = Path(sys.executable).with_name("theodolite"), Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    arrays = Path(folder) / "said.npz"
    random = np.random.default_rng(0)
    np.savez(arrays, values=random.normal(size=(200, 12)), truth=random.random((200, 12)) < 0.3)
    start = time.monotonic()
    audit = [program, "audit", arrays, "--out", run, "--overwrite", "--quiet"]
    subprocess.run(audit, check=True)
    print(f"arrays to a report, the first time: {time.monotonic() - start:.1f} s with start-up")
    subprocess.run([program, "verify", run], check=True)
