"""Refuse damaged files in one sentence: nothing crashes, nothing is read as if it were whole."""

import tempfile
from pathlib import Path

import numpy as np

import theodolite

folder = Path(tempfile.mkdtemp())
random = np.random.default_rng(0)
values = random.normal(size=(64, 3)).astype(np.float32)
truth = values + random.normal(size=(64, 3)) > 0

# Columns of other programs can hold anything. None of these can be audited.
columns = {
    "dates": np.zeros(64, "M8[D]"),
    "records": np.zeros(64, [("a", "f4"), ("b", "i2")]),
    "infinite": np.full(64, np.inf),
    "complex": np.zeros(64, complex),
}
for name, labels in columns.items():
    np.savez(folder / f"{name}.npz", values=values, truth=truth, labels=labels)
    try:
        theodolite.store(folder / f"{name}.npz", folder / name)
    except theodolite.EvidenceError as refusal:
        print(f"{name}: {refusal}")
    else:
        raise AssertionError(f"{name} was accepted")

# An archive of which one byte is changed: either it is refused, or all rows are there.
np.savez_compressed(folder / "whole.npz", values=values, truth=truth)
whole = (folder / "whole.npz").read_bytes()
refused = 0
for number in range(200):
    content = bytearray(whole)
    content[int(random.integers(len(content)))] ^= int(random.integers(1, 256))
    (folder / "changed.npz").write_bytes(content)
    try:
        bundle = theodolite.store(folder / "changed.npz", folder / f"stored-{number}")
        assert bundle.samples == 64
    except theodolite.EvidenceError:
        refused += 1
print(f"{refused} of 200 changed archives were refused, none ended in an error of ours")
assert refused > 20

# Stored evidence has a digest of every array: a changed shard is refused when it is read.
theodolite.store({"values": values, "truth": truth}, folder / "bundle", rows=16)
shard = folder / "bundle" / "shards" / "000002"
content = bytearray(shard.read_bytes())
content[20] ^= 1
shard.write_bytes(content)
try:
    theodolite.store(folder / "bundle", folder / "copy")
except theodolite.EvidenceError as refusal:
    print(f"shard: {refusal}")
else:
    raise AssertionError("a changed shard was copied")
