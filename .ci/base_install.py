"""In the base environment: nothing heavy came along, and the first score comes within seconds."""

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

program = Path(sys.executable).with_name("theodolite")
with tempfile.TemporaryDirectory() as folder:
    arrays = Path(folder) / "said.npz"
    random = np.random.default_rng(0)
    np.savez(arrays, values=random.normal(size=(500, 20)), truth=random.random((500, 20)) < 0.3)
    subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)
    start = time.monotonic()
    subprocess.run([program, "audit", arrays, "--out", Path(folder) / "run", "--quiet"], check=True)
    print(f"arrays to report: {time.monotonic() - start:.1f} s, start-up included")
    subprocess.run([program, "verify", Path(folder) / "run"], check=True)
