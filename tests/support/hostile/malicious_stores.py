"""Evidence in pieces and stored maps made to harm, read by the commands. See ``malicious``."""

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support.hostile.malicious import PARQUET, case, cases
from support.hostile.malicious_zarr import VALUES, ZARR, array
from theodolite.datasets.masks.stored_maps_writer import write_maps
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.store_writer import EvidenceWriter


def pieces(folder: Path, n: int = 4, rows: int = 4) -> Path:
    """Evidence in pieces, as ``EvidenceWriter`` writes it. Its values are those of ``array``."""
    shutil.copytree(f"{written_pieces(n, rows).name}/given", folder / "given")
    return folder / "given"


@lru_cache
def written_pieces(n: int, rows: int) -> "tempfile.TemporaryDirectory[str]":
    """Written once, then copied; gone at the end."""
    folder = tempfile.TemporaryDirectory()
    values = np.resize(np.frombuffer(VALUES, "<f8"), (n, 2))
    given = ConceptEvidence(
        values=values, truth=values > 3, labels=np.arange(n) % 2, predicted=np.zeros(n, int),
        weights=np.eye(2), concepts=["horn", "hoof"],
        samples=Samples(ids=np.array([f"p{i}" for i in range(n)])),
    )  # fmt: skip
    with EvidenceWriter(f"{folder.name}/given", rows) as writer:
        writer.add(given)
    return folder


def audited(given: Path, *more: str) -> list[str]:
    return ["audit", str(given), "--quiet", "--workers", "1", "--resamples", "20", *more]


def as_piece_of(file: str) -> Callable[[Path, bytes], list[str]]:
    """One file of evidence in pieces is replaced."""

    def place(folder: Path, content: bytes) -> list[str]:
        given = pieces(folder)
        assert (given / file).is_file()
        (given / file).write_bytes(content)
        return audited(given)

    return place


SPEC = """
name: x
dataset: {name: stored_maps, root: given}
pipeline: {name: stored_dissection, quantile: 0.5, min_images: 1, length: 1}
resampling: {resamples: 20}
"""


def maps(folder: Path, n: int = 4) -> list[str]:
    """Stored maps whose activations are the bytes of ``array``; the command that reads them."""
    shutil.copytree(f"{written_maps(n).name}/given", folder / "given")
    (folder / "spec.yaml").write_text(SPEC)
    return ["run", str(folder / "spec.yaml"), "--data", str(folder), "--out", str(folder / "out"),
            "--quiet", "--workers", "1"]  # fmt: skip


@lru_cache
def written_maps(n: int) -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory()
    values = np.resize(np.frombuffer(VALUES, "<f4"), (n, 4, 1, 1))
    labels = np.arange(n).reshape(n, 1, 1, 1) % 3
    write_maps(f"{folder.name}/given", [(values, labels)], ["horn", "hoof"], shard_rows=n)
    return folder


def planted(folder: Path, canary: Path, name: str) -> tuple[Path, int]:
    """A hostile array apart, and how many rows it says it has."""
    apart = folder / "apart"
    apart.mkdir()
    ZARR[name](apart, canary)
    header = apart / "a" / "zarr.json"
    shape = json.loads(header.read_text())["shape"] if header.is_file() else [4]
    return apart / "a", 1 if shape[0] == 1 else 4


def adopted(folder: Path) -> list[str]:
    """Arrays of Zarr that somebody else wrote; the command that takes them as evidence."""
    header = folder / "values" / "zarr.json"
    shape = json.loads(header.read_text())["shape"] if header.is_file() else [4, 2]
    with tempfile.TemporaryDirectory() as apart:
        array(Path(apart), shape=shape, data_type="bool", fill_value=False)
        (Path(apart) / "a" / "c" / "0" / "0").unlink()  # all is fill value
        shutil.copytree(f"{apart}/a", folder / "truth")
    return ["data", "store", str(folder), "--in-place", "--kind", "concept"]


def zarr_adopted(name: str) -> None:
    @case(f"zarr adopted: {name}")
    def make(folder: Path, canary: Path) -> list[str]:
        hostile, _ = planted(folder, canary, name)
        hostile.rename(hostile.with_name("values"))
        return adopted(hostile.parent)


def as_maps(hostile: Path) -> int:
    """The same bytes as single precision, images x units x 1 x 1; how many images."""
    header = json.loads((hostile / "zarr.json").read_text())
    grid = header["chunk_grid"]["configuration"]["chunk_shape"]
    (n, width), (rows, columns) = header["shape"], grid
    n = max(n, 2)  # of one image nothing is read
    header["shape"], header["data_type"] = [n, 2 * width, 1, 1], "float32"
    header["chunk_grid"]["configuration"]["chunk_shape"] = [rows, 2 * columns, 1, 1]
    (hostile / "zarr.json").write_text(json.dumps(header))
    values = hostile / "c" / "0" / "0"
    if values.exists():
        values.rename(hostile / "c" / "0" / "x")
        values.mkdir()
        (values / "0").mkdir()
        (hostile / "c" / "0" / "x").rename(values / "0" / "0")
    return int(n)


IN_FILES = {
    "file that is a link", "missing files of a large array", "missing file", "bomb of zstd",
    "bomb of gzip", "bomb of blosc", "gzip without its checksum", "longer than its values",
    "shorter than its values",
}  # fmt: skip
"""Arrays whose header is harmless: they must be of the right shape for their files to be read."""


def zarr_in_maps(name: str) -> None:
    @case(f"zarr in maps: {name}")
    def make(folder: Path, canary: Path) -> list[str]:
        hostile, _ = planted(folder, canary, name)
        n = as_maps(hostile) if name in IN_FILES else 4
        command = maps(folder, n)
        shutil.rmtree(folder / "given" / "activations")
        hostile.rename(folder / "given" / "activations")
        return command


FILL_VALUE = {"missing file", "missing files of a large array"}
"""Chunks that are absent when arrays are adopted are fill value: zarr leaves such chunks out."""
for zarr in ZARR:
    zarr_in_maps(zarr)
    if zarr not in FILL_VALUE:
        zarr_adopted(zarr)


def plain_adopted(folder: Path) -> list[str]:
    """Nothing hostile: the array of ``malicious_zarr`` as it is."""
    (folder / "apart").mkdir()
    array(folder / "apart")
    (folder / "apart" / "a").rename(folder / "apart" / "values")
    return adopted(folder / "apart")


def plain_in_maps(folder: Path) -> list[str]:
    command = maps(folder)
    (folder / "apart").mkdir()
    array(folder / "apart")
    as_maps(folder / "apart" / "a")
    shutil.rmtree(folder / "given" / "activations")
    (folder / "apart" / "a").rename(folder / "given" / "activations")
    return command


WRONG = {
    "zarr adopted: version 2 with pickled objects",
    "maps: header: names that are codes of a terminal", "maps: header: the same name twice",
    "maps: header: fewer categories", "maps: header: no names",
}  # fmt: skip
"""Files that are sound, and hold what no evidence may: exit code 2, as if it came from Python."""
LONG = "x" * 301
DIGEST = "0" * 64
HEADERS: dict[str, bytes] = {
    "a list of kinds": b'{"format": ["theodolite-shards"]}',
    "no manifest": b'{"format": "theodolite-shards", "format_version": [2, 0], "needs": []}',
    "a manifest that leaves": json.dumps(
        {"format": "theodolite-shards", "format_version": [2, 0], "needs": [],
         "manifest": "../../secret", "sha256": "../../secret"}
    ).encode(),
    "a manifest that is not there": json.dumps(
        {"format": "theodolite-shards", "format_version": [2, 0], "needs": [], "sha256": DIGEST}
    ).encode(),
    "another version": b'{"format": "theodolite-shards", "format_version": [99, 0], "needs": []}',
    "a version without end": b'{"format": "theodolite-shards", "format_version": 1e999}',
    "a number without end": b'{"format": "theodolite-shards", "format_version": ' + b"9" * 9999 + b"}",
    "deep nesting": b'{"format": "theodolite-shards", "bundle": ' + b"[" * 200_000,
    "not UTF-8": b'{"format": "theodolite-shards\xff"}',
}  # fmt: skip
cases(
    "pieces: header",
    {name: (lambda canary, content=content: content) for name, content in HEADERS.items()},
    as_piece_of("header.json"),
)


def as_manifest(folder: Path, content: bytes) -> list[str]:
    """The manifest is replaced, and the header names it."""
    given = pieces(folder)
    digest = hashlib.sha256(content).hexdigest()
    (given / f"manifest-{digest[:16]}.parquet").write_bytes(content)
    header = json.loads((given / "header.json").read_text())
    (given / "header.json").write_text(json.dumps(header | {"sha256": digest}))
    return audited(given)


cases("pieces: manifest", PARQUET, as_manifest)


def flipped(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(bytes(raw))


@case("pieces: a changed byte, found by a worker")
def _changed(folder: Path, canary: Path) -> list[str]:
    given = pieces(folder, n=64, rows=16)
    flipped(given / "shards" / "000002", 20)
    return [*audited(given)[:3], "--workers", "2"]


@case("pieces: a changed byte of what all share")
def _shared(folder: Path, canary: Path) -> list[str]:
    given = pieces(folder)
    flipped(given / "shards" / "shared", 20)
    return audited(given)


@case("pieces: a header that is a link")
def _linked(folder: Path, canary: Path) -> list[str]:
    given = pieces(folder)
    (given / "header.json").rename(folder / "secret.json")
    (given / "header.json").symlink_to(folder / "secret.json")
    return audited(given)


@case("pieces: the folder of shards, a link")
def _elsewhere(folder: Path, canary: Path) -> list[str]:
    given = pieces(folder)
    (given / "shards").rename(folder / "secret")
    (given / "shards").symlink_to(folder / "secret")
    return audited(given)


@case("pieces: a giant header")
def _giant(folder: Path, canary: Path) -> list[str]:
    given = pieces(folder)
    with (given / "header.json").open("r+b") as stream:
        stream.truncate(1 << 40)  # takes no room
    return audited(given)


def with_ids(name: str, *ids: str) -> None:
    """Names of samples that no evidence can be made with, written all the same."""

    @case(f"pieces: samples: {name}")
    def make(folder: Path, canary: Path) -> list[str]:
        values = np.frombuffer(VALUES, "<f8").reshape(4, 2)
        evidence = ConceptEvidence(
            values=values, truth=values > 3, samples=Samples(ids=np.array(list("abcd")))
        )
        object.__setattr__(evidence.samples, "ids", np.array(ids))
        with EvidenceWriter(folder / "given", 4) as writer:
            writer.add(evidence)
        return audited(folder / "given")


with_ids("the same id twice", "a", "a", "c", "d")


def of_manifest(name: str, group: str = "manifest", **changes: Any) -> None:
    """A manifest with changed cells in the row of ``values``, and a header that fits it."""

    @case(f"{group}: {name}")
    def make(folder: Path, canary: Path) -> list[str]:
        given = pieces(folder)
        (path,) = given.glob("manifest-*.parquet")
        rows = pq.read_table(path)
        columns, at = rows.to_pydict(), rows["array"].to_pylist().index("values")
        metadata = dict(rows.schema.metadata)
        for column, value in changes.items():
            if column in columns:
                columns[column][at] = value
            else:
                old = json.loads(metadata[f"theodolite.{column}".encode()])
                metadata[f"theodolite.{column}".encode()] = json.dumps(value(old)).encode()
        stream = io.BytesIO()
        schema = rows.schema.with_metadata(metadata)
        pq.write_table(pa.table(columns, schema=schema), stream)
        shutil.rmtree(given)
        return as_manifest(folder, stream.getvalue())


def with_values(**changes: Any) -> Callable[[Any], Any]:
    return lambda layouts: layouts | {"values": layouts["values"] | changes}


of_manifest("a file that leaves", file="../../secret")
of_manifest("an absolute file", file="/etc/passwd")
of_manifest("a file that is not there", file="shards/000009")
of_manifest("an address", file="s3://bucket/x")
of_manifest("bytes before the file", offset=-1)
of_manifest("bytes past the end", offset=1 << 40)
of_manifest("more bytes than there are", length=1 << 33)
of_manifest("all fill value, said of something", length=0)
of_manifest("an absurd piece", size=1 << 50, length=0)
of_manifest("fewer entries", size=2)
of_manifest("a corner far away", corner=[1 << 40, 0])
of_manifest("a corner of many axes", corner=[0] * 50)
of_manifest("shards out of order", piece=7)
of_manifest("other rows", rows=3)
of_manifest("another digest", content=b"0" * 32)
of_manifest("an unknown array", array="nope")
of_manifest("a decoder that runs code", layouts=with_values(codecs=[{"name": "pickle"}]))
of_manifest("objects", layouts=with_values(dtype="|O"))
of_manifest("chunks without end", layouts=with_values(chunk=[1 << 39, 1 << 39]))
of_manifest("layouts that are a list", layouts=lambda layouts: [1])


def of_bundle(name: str, **changes: Any) -> None:
    """A manifest that says something else of its bundle."""
    of_manifest(name, group="bundle", bundle=lambda bundle: bundle | changes)


of_bundle("an array that leaves", arrays={"../../secret": True})
of_bundle("a shared array that leaves", arrays={"../../secret": False})
of_bundle("an absolute array", arrays={"/etc/passwd": True})
of_bundle("a bundle that leaves", inner={"../../secret": {}})
of_bundle("an unknown kind", kind="evil")
of_bundle("a kind that is a path", kind="../concept")
of_bundle("a kind that is a list", kind=["concept"])
of_bundle("another version", kind_version=99)
of_bundle("an unknown axis", axes={"__class__": {"names": ["a", "b"]}})
of_bundle("an axis that is no object", axes={"concepts": ["a", "b"]})
of_bundle("names that are numbers", axes={"concepts": {"names": [1, 2]}})
of_bundle("names that are codes of a terminal", axes={"concepts": {"names": ["a", "\x1b]0;x\x07"]}})
of_bundle("a name without end", axes={"concepts": {"names": ["a", LONG]}})
of_bundle(
    "more names than concepts", axes={"concepts": {"names": [f"c{i}" for i in range(50_000)]}}
)
of_bundle("a field of another sort", axes={"concepts": {"names": ["a", "b"], "x": 1}})
of_bundle("no arrays", arrays={})
of_bundle("an array that is not there", arrays={"values": True, "class_truth": True})
of_bundle("arrays that are a list", arrays=["values"])


def maps_header(**changes: Any) -> bytes:
    whole = {
        "format": "theodolite-maps", "version": 1, "concepts": ["horn", "hoof"],
        "categories": ["object"] * 2, "shard_rows": 4, "digests": [DIGEST],
    }  # fmt: skip
    return json.dumps(whole | changes).encode()


def as_maps_header(folder: Path, content: bytes) -> list[str]:
    command = maps(folder)
    (folder / "given" / "header.json").write_bytes(content)
    return command


MAPS = {
    "shards of nothing": maps_header(shard_rows=0),
    "an absurd shard": maps_header(shard_rows=1 << 62),
    "rows that are no number": maps_header(shard_rows=True),
    "more digests than shards": maps_header(digests=[DIGEST] * 100_000),
    "digests of something else": maps_header(),
    "digests that are numbers": maps_header(digests=[1]),
    "names that are numbers": maps_header(concepts=[1, 2]),
    "names that are codes of a terminal": maps_header(concepts=["a", "\x1b]0;x\x07"]),
    "the same name twice": maps_header(concepts=["a", "a"]),
    "fewer categories": maps_header(categories=[]),
    "no names": maps_header(concepts=[], categories=[]),
    "another format": maps_header(format="evil"),
    "another version": maps_header(version=[1]),
    "a list": b"[1]",
    "deep nesting": b"[" * 200_000,
    "not UTF-8": b'{"format": "\xff"}',
}
cases(
    "maps: header",
    {name: (lambda canary, content=content: content) for name, content in MAPS.items()},
    as_maps_header,
)


@case("maps: a changed byte of the labels")
def _labels(folder: Path, canary: Path) -> list[str]:
    command = maps(folder)
    flipped(folder / "given" / "labels" / "c" / "0" / "0" / "0" / "0", 4)
    return command


@case("maps: labels that are a link")
def _labels_elsewhere(folder: Path, canary: Path) -> list[str]:
    command = maps(folder)
    (folder / "given" / "labels").rename(folder / "secret")
    (folder / "given" / "labels").symlink_to(folder / "secret")
    return command
