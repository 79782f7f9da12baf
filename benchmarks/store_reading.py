# mypy: disable-error-code="arg-type,import-not-found"
"""What reading stored evidence from a bucket costs, against the bare client on the same ranges.

    python benchmarks/store_reading.py [--pieces 60] [--late 0.02]

The server is that of the tests (``tests/support/servers/atomic_s3.py``: aiohttp, one thread, here),
which answers each request so many seconds late. Ours unpacks and checks every array; the
bare client, obstore with 32 requests at once, only fetches the packed bytes. Between the two: the
bare client whose four threads also unpack and take the SHA-256 of what they unpacked, and nothing
else. The ratio, ours over the bare client's bytes a second, is printed last.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import obstore  # noqa: TID251  the bare client
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.servers.atomic_s3 import atomic_s3, counted
from theodolite._storage.buckets.client import get_client
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.manifests.manifest import read_manifest
from theodolite.evidence.read_ahead import read_ahead
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter

ROWS, WIDE = 2048, 256
UNPACKING_THREADS = 4


def write(address: str, pieces: int) -> None:
    rng = np.random.default_rng(0)
    with EvidenceWriter(address) as writer:
        for _ in range(pieces):
            values = rng.normal(size=(ROWS, WIDE)).astype(np.float32)
            labels = rng.integers(0, 10, ROWS)
            names = [f"c{i}" for i in range(WIDE)]
            arrays = {"values": values, "truth": values > 0, "labels": labels, "predicted": labels}
            classes = [f"k{i}" for i in range(10)]
            writer.add(ConceptEvidence(**arrays, concepts=names, classes=classes))


def unpacked_and_digested(client: Any, ranges: list[tuple[str, int, int]], manifest: Any) -> float:
    sizes = [
        manifest.layouts[row.array].bytes_of(row.size) for row in manifest.all_rows() if row.length
    ]

    def digest(content: Any, size: int) -> bytes:
        plain = pa.decompress(content, decompressed_size=size, codec="zstd", asbytes=True)
        return hashlib.sha256(plain).digest()

    started = time.perf_counter()
    with ThreadPoolExecutor(32) as requests, ThreadPoolExecutor(UNPACKING_THREADS) as threads:
        fetch = lambda r: obstore.get_range(client, r[0], start=r[1], length=r[2])  # noqa: E731
        for _ in threads.map(digest, requests.map(fetch, ranges), sizes):
            pass
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=int, default=60)
    parser.add_argument("--late", type=float, default=0.02)
    options = parser.parse_args()
    with atomic_s3(options.late) as environment:
        os.environ.update(environment)
        address = "s3://bucket/evidence"
        write(address, options.pieces)
        shards = stored(address)
        pieces = list(shards.shards())
        manifest = read_manifest(shards.store, shards.version)
        ranges = [
            (f"evidence/{row.file}", row.offset, row.length)
            for row in manifest.all_rows()
            if row.length
        ]
        client = get_client("s3", "bucket")
        bare, checked, ours = [], [], []
        for _ in range(3):
            checked.append(unpacked_and_digested(client, ranges, manifest))
            started = time.perf_counter()
            with ThreadPoolExecutor(32) as pool:
                fetch = lambda r: len(obstore.get_range(client, r[0], start=r[1], length=r[2]))  # noqa: E731
                size = sum(pool.map(fetch, ranges))
            bare.append(time.perf_counter() - started)
            counted(environment)
            started = time.perf_counter()
            read_ahead(pieces)
            for piece in pieces:
                piece.evidence()
            ours.append(time.perf_counter() - started)
            requests = counted(environment)
    result = {
        "server": "tests/support/servers/atomic_s3.py", "late": options.late,
        "pieces": len(pieces), "arrays": 4, "packed MB": round(size / 1e6, 1),
        "GET a piece": requests["GET"] / len(pieces), "HEAD": requests.get("HEAD", 0),
        "at once": requests["at_once"], "bare MB/s": round(size / 1e6 / min(bare), 1),
        "bare, unpacked and digested MB/s": round(size / 1e6 / min(checked), 1),
        "ours MB/s": round(size / 1e6 / min(ours), 1),
        "ours over unpacked and digested": round(min(checked) / min(ours), 3),
        "ratio": round(min(bare) / min(ours), 3),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
