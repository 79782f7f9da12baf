"""The compiled loops under the address and undefined-behavior sanitizers.

    python benchmarks/native_sanitizers.py [EXAMPLES]

Compiles the library with them and runs `tests/stats/test_same_bits.py`, so many examples a test.
Ends with another code than 0 where memory is misused, or bits differ. Needs gcc on Linux.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
RUNTIMES = ("libasan.so", "libubsan.so")


def runtimes() -> list[str] | None:
    """Libraries that must be loaded before Python; None where there are none."""
    gcc = shutil.which("gcc")
    if gcc is None or sys.platform != "linux":
        return None
    ask = [[gcc, f"-print-file-name={name}"] for name in RUNTIMES]
    paths = [subprocess.check_output(one, text=True).strip() for one in ask]
    return paths if all(Path(path).is_absolute() for path in paths) else None


def run(examples: int) -> subprocess.CompletedProcess[str]:
    """All tests of equal bits, in a process of its own."""
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python itself does not free what it has at the end
        "CC": "gcc",
        "LD_PRELOAD": " ".join(runtimes() or ()),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "THEODOLITE_CFLAGS": FLAGS,
        "THEODOLITE_EXAMPLES": str(examples),
    }
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*tests, "tests/stats/test_same_bits.py"],
        cwd=ROOT, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip


if __name__ == "__main__":
    done = run(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print(done.stdout + done.stderr)
    sys.exit(done.returncode)
