"""What seals cost: CPU of writing and reading sealed entries over entries with a digest alone.

    python benchmarks/seals.py [ENTRIES]

Entries of 54 kB, packed and unpacked in memory: beside files the share would be smaller. The
ratio comes last.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from theodolite.engine.ledger import PieceName, canonical, opened, sealed
from theodolite.engine.seal import KEY_FILE, new_key, seal_key
from theodolite.io.packed import packed, unpacked

ARRAYS = {"sums": np.random.default_rng(0).standard_normal((54_000 // 16, 2))}
DESCRIPTION = canonical({"metric": "concept_existence", "options": {"k": 3}, "seed": 0})
CODE = canonical({"theodolite": "0.1.0+" + "0" * 64, "packages": {"numpy": "2.0.0"}})


def seconds(entries: int, *, sealing: bool) -> float:
    started = time.process_time()
    for number in range(entries):
        if sealing:
            name = PieceName.of(DESCRIPTION, f"{number}", CODE)
            file, _ = sealed(name, ARRAYS, "0" * 64)
            opened(file, name.key, seal_key())
        else:
            unpacked(packed(ARRAYS), "entry")
    return time.process_time() - started


def main(entries: int) -> None:
    rounds = 10
    ratios: dict[str, list[float]] = {"sha256": [], "hmac": []}
    with TemporaryDirectory() as folder:
        new_key(Path(folder) / "key")
        for _ in range(rounds):  # in turn: another program's load meets all alike
            plain = seconds(entries // rounds, sealing=False)
            for kind, path in (("sha256", ""), ("hmac", str(Path(folder) / "key"))):
                os.environ[KEY_FILE] = path
                ratios[kind].append(seconds(entries // rounds, sealing=True) / plain)
    result = {kind: round(statistics.median(values), 3) for kind, values in ratios.items()}
    print(json.dumps({"entries": entries, **result, "ratio": max(result.values())}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
