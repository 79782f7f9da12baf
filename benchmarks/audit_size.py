"""What an audit of stored evidence costs as it grows: CPU of all processes, peak memory of each.

    python benchmarks/audit_size.py [--sizes 100000 1000000] [--concepts 10] [--workers 2]
        [--folder FOLDER]

`theodolite audit` with default settings, of concepts with truth, labels and predictions, made
piece by piece and written once to the folder. Prints CPU seconds, wall seconds and the peak memory
of the largest process for each size, then the growth exponents of CPU; the last line is the peak at
the largest size over that at the smallest.
"""

import argparse
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from theodolite.evidence.axes import Classes
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.store import is_stored
from theodolite.evidence.store_writer import EvidenceWriter

BATCH, CLASSES = 1 << 16, 5
COMMAND = "import sys; from theodolite.cli import main; sys.exit(main())"


def batch(number: int, rows: int, concepts: int) -> ConceptEvidence:
    """Concepts that are mostly right, and a little that leaks."""
    random = np.random.default_rng([7, number])
    labels = random.integers(0, CLASSES, rows)
    truth = random.random((rows, concepts)) < 0.4
    values = 0.8 * truth + random.normal(size=(rows, concepts)) + 0.1 * labels[:, None]
    weights = np.random.default_rng(0).normal(size=(concepts, CLASSES))
    return ConceptEvidence(
        values=values.astype(np.float32), truth=truth, labels=labels,
        predicted=(values @ weights).argmax(axis=1), weights=weights,
        classes=Classes.numbered(CLASSES),
    )  # fmt: skip


def written(folder: Path, n: int, concepts: int) -> Path:
    """Stored evidence of so many samples."""
    place = folder / f"evidence-{n}-{concepts}"
    if not is_stored(place):
        with EvidenceWriter(place) as writer:
            for number, at in enumerate(range(0, n, BATCH)):
                writer.add(batch(number, min(BATCH, n - at), concepts))
    return place


def audited(place: Path, out: Path, workers: int) -> dict[str, float]:
    """CPU, wall and peak of one audit and all that it started."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-c", COMMAND, "audit", str(place), "--out", str(out),
               "--engine", "local", "--workers", str(workers)]  # fmt: skip
    end = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if end.returncode not in (0, 1):
        sys.exit(end.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": time.monotonic() - begin, "peak": after.ru_maxrss / 1024}


def main() -> None:
    """Each size in a process of its own, so that each has its own peak."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--concepts", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--single", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    if options.single:
        place = written(folder, options.single, options.concepts)
        with tempfile.TemporaryDirectory() as out:
            print(json.dumps(audited(place, Path(out) / "run", options.workers)))
        return
    figures = {}
    for n in options.sizes:
        written(folder, n, options.concepts)
        single = [sys.executable, __file__, "--single", str(n), "--folder", str(folder)]
        single += ["--concepts", str(options.concepts), "--workers", str(options.workers)]
        figures[n] = json.loads(subprocess.run(single, stdout=-1, check=True).stdout)
        print(json.dumps({"samples": n} | {k: round(v, 1) for k, v in figures[n].items()}))
    exponents = [
        math.log(figures[b]["cpu"] / figures[a]["cpu"]) / math.log(b / a)
        for a, b in itertools.pairwise(options.sizes)
    ]
    print(json.dumps({"growth exponents of CPU": [round(e, 2) for e in exponents]}))
    first, last = options.sizes[0], options.sizes[-1]
    ratio = figures[last]["peak"] / figures[first]["peak"]
    print(json.dumps({"peak memory, largest over smallest": round(ratio, 3)}))


if __name__ == "__main__":
    main()
