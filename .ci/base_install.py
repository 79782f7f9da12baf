"""Where nothing but the wheel is: nothing heavy came along, and the first report comes in seconds.

    python base_install.py RUN [--timed]

RUN is the run folder to write. With --timed, commands must end within the seconds of CPU below.
"""

import importlib.util
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

HEAVY = ("torch", "torchvision", "matplotlib", "ray", "fastapi", "mlflow", "numba", "llvmlite")
LATE = {"scipy.stats", "sklearn", "numba", "pyarrow"}
MOST_MEGABYTES = 550
BYTECODE = 1.4
"""Size of bytecode over that of its source: pip writes it, what installed this may not."""
MOST_SECONDS = {"score, 200 x 12": 4.5, "audit, 1,000 x 30": 9.0, "demo": 10.0}
"""Of CPU, on a quiet machine."""
NOISE = 2.5
"""Threads that wait for a core spin: beside other work the same commands take up to 2.5 times."""


def seconds(*command: str | Path) -> float:
    """Of CPU that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def arrays(path: Path, n: int, concepts: int) -> Path:
    """Values that know something of the truth, and of a label too many."""
    random = np.random.default_rng(0)
    truth, labels = random.random((n, concepts)) < 0.3, random.integers(10, size=n)
    values = truth + 0.7 * random.normal(size=truth.shape) + 0.1 * labels[:, None]
    np.savez(path, values=values, truth=truth, labels=labels)
    return path


found = [name for name in HEAVY if importlib.util.find_spec(name)]
assert not found, f"the base install brought {found}"
files = [path for path in Path(sysconfig.get_path("purelib")).rglob("*") if path.is_file()]
sizes = {path: path.stat().st_size for path in files if path.suffix != ".pyc"}
modules = sum(size for path, size in sizes.items() if path.suffix == ".py")
megabytes = (sum(sizes.values()) + BYTECODE * modules) / 1e6
print(f"the base environment: {megabytes:.0f} MB")
assert megabytes <= MOST_MEGABYTES
ask = f"import sys, theodolite; sys.exit(str(sorted({LATE!r} & set(sys.modules))))"
loaded = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
assert loaded.stderr.strip() == "[]", f"importing theodolite loads {loaded.stderr}"

program, run = Path(sys.executable).with_name("theodolite"), Path(sys.argv[1]).resolve()
facts = json.loads(subprocess.check_output([program, "doctor", "--json"], text=True))["facts"]
assert facts["native kernels"].startswith("native"), facts
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    few, many = arrays(Path("few.npz"), 200, 12), arrays(Path("many.npz"), 1000, 30)
    audit = ("audit", many, "--out", run, "--overwrite", "--quiet")
    first = seconds(*audit)
    print(f"the first audit, which writes Python's bytecode: {first:.1f} s of CPU")
    if "--timed" in sys.argv:
        took = {
            "score, 200 x 12": seconds("audit", few, "--quiet"),
            "audit, 1,000 x 30": seconds(*audit),
            "demo": seconds("demo"),
        }
        print("seconds of CPU with start-up:", *(f"{name}: {s:.1f};" for name, s in took.items()))
        slow = [name for name, s in took.items() if s > NOISE * MOST_SECONDS[name]]
        assert not slow, f"too slow: {slow}"
    subprocess.run([program, "verify", run], check=True)
