"""The same rows by every way in: one digest, and the memory that each took above its imports.

    python benchmarks/sources.py --rows 100000
    python benchmarks/sources.py --packed

Each way runs in a process of its own, which makes its source first and then reads it. ``--packed``
makes a .npz of a few megabytes that unpacks to gigabytes, has it refused, then streams it.
"""

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
MOST_MEGABYTES, MOST_PACKED = 400, 600


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def way(name: str, rows: int) -> None:
    """One way, in a process of its own; sources in memory count as imports."""
    import theodolite  # noqa: PLC0415

    tested = importlib.import_module("support.rows")

    with tempfile.TemporaryDirectory() as folder:
        source = tested.WAYS[name](tested.Rows(rows), Path(folder))
        if name in ("record batches", "reader", "dicts of arrays"):
            source = list(source)
        theodolite.store(tested.Rows(64).table(), f"{folder}/warm", **tested.options(""))
        before = peak()
        bundle = theodolite.store(source, f"{folder}/new", **tested.options(name))
        print(json.dumps({"way": name, "digest": bundle.digest, "megabytes": peak() - before}))


def ways(rows: int) -> None:
    tested = importlib.import_module("support.rows")
    results = []
    for name in tested.WAYS:
        command = [sys.executable, __file__, "--rows", str(rows), "--way", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{name:32} {results[-1]['megabytes']:7.0f} MB above import", flush=True)
    digests = {result["digest"] for result in results}
    most = max(result["megabytes"] for result in results)
    print(json.dumps({
        "rows": rows, "ways": len(results), "digests": len(digests), "most_megabytes": round(most),
        "of_limit": round(most / MOST_MEGABYTES, 3),
    }))  # fmt: skip
    assert len(digests) == 1
    assert most <= MOST_MEGABYTES


PROGRAM = """
import resource, sys
from theodolite.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def command(*words: str) -> tuple[int, str, int]:
    """A command's exit code, its line, and the most memory that it had."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False
    )
    *lines, megabytes = done.stderr.splitlines()
    return done.returncode, " ".join(lines), int(megabytes)


def packed(gigabytes: float) -> None:
    """Zeros of some gigabytes in some megabytes: refused, then streamed."""
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / "x.npz", int(gigabytes * 2**30) // (64 * 8)
        np.savez_compressed(path, values=np.broadcast_to(np.zeros(64), (rows, 64)))
        size = path.stat().st_size
        code, line, refused = command("audit", str(path), "--max-memory", "1GB")
        print(f"{size:,} bytes packed: exit code {code}, {refused} MB. {line}")
        stored, line, streamed = command("data", "store", str(path), f"{folder}/new")
        print(json.dumps({
            "packed": size, "unpacked": rows * 64 * 8, "refused": code,
            "refused_megabytes": refused, "stored": stored, "stored_megabytes": streamed,
            "of_limit": round(streamed / MOST_PACKED, 3),
        }))  # fmt: skip
        assert (code, stored) == (3, 0)
        assert max(refused, streamed) <= MOST_PACKED


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--way")
    parser.add_argument("--packed", type=float, nargs="?", const=4.0)
    chosen = parser.parse_args()
    if chosen.way:
        way(chosen.way, chosen.rows)
    elif chosen.packed:
        packed(chosen.packed)
    else:
        ways(chosen.rows)
