"""What seals cost: CPU of writing and reading sealed entries over entries with a digest alone.

    python benchmarks/seals.py [ENTRIES]

Entries of 54 kB, written to a folder and read again as a ledger does it; beside that in memory
alone, where the share is larger. The ratio in a folder comes last.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from theodolite._runs.engine.checkpoints import (
    MAX_BYTES,
    CheckpointName,
    CheckpointStore,
    pack_checkpoint,
    to_canonical_json,
    unpack_checkpoint,
)
from theodolite._runs.engine.signed_checksums import KEY_FILE, read_seal_key, write_new_key
from theodolite._storage.packed_arrays import pack_arrays, unpack_arrays
from theodolite._storage.stores import Store

ARRAYS = {"sums": np.random.default_rng(0).standard_normal((54_000 // 16, 2))}
DESCRIPTION = to_canonical_json({"metric": "concept_existence", "options": {"k": 3}, "seed": 0})
CODE = to_canonical_json({"theodolite": "0.1.0+" + "0" * 64, "packages": {"numpy": "2.0.0"}})


def in_memory(entries: int, *, sealing: bool) -> float:
    started = time.process_time()
    for number in range(entries):
        if sealing:
            name = CheckpointName.of(DESCRIPTION, f"{number}", CODE)
            file, _ = pack_checkpoint(name, ARRAYS, "0" * 64)
            unpack_checkpoint(file, name.key, read_seal_key())
        else:
            unpack_arrays(pack_arrays(ARRAYS), "entry")
    return time.process_time() - started


def in_folder(store: Store, entries: int, *, sealing: bool) -> float:
    ledger = CheckpointStore(store)
    started = time.process_time()
    for number in range(entries):
        if sealing:
            name = CheckpointName.of(DESCRIPTION, f"{number}", CODE)
            ledger.write(name, ARRAYS, "0" * 64)
            ledger.check(name.key)
        else:
            file = f"{number:064x}.safetensors"
            store.write(file, pack_arrays(ARRAYS))
            if store.size(file) is not None:
                unpack_arrays(store.read(file, MAX_BYTES), file)
    return time.process_time() - started


def main(entries: int) -> None:
    rounds = 10
    each = entries // rounds
    ratios: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        write_new_key(Path(folder) / "key")
        store = Store.at(Path(folder) / "pieces")
        for _ in range(rounds):  # in turn: another program's load meets all alike
            memory = in_memory(each, sealing=False)
            files = in_folder(store, each, sealing=False)
            for kind, path in (("sha256", ""), ("hmac", str(Path(folder) / "key"))):
                os.environ[KEY_FILE] = path
                alone = in_memory(each, sealing=True) / memory
                ratios.setdefault(f"{kind} in memory", []).append(alone)
                beside = in_folder(store, each, sealing=True) / files
                ratios.setdefault(kind, []).append(beside)
    result = {kind: round(statistics.median(values), 3) for kind, values in ratios.items()}
    print(
        json.dumps({"entries": entries, **result, "ratio": max(result["sha256"], result["hmac"])})
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
