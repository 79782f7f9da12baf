"""Every file made to harm is refused with exit code 3, in one line, and nothing in it is run."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.hostile import malicious_runs, malicious_sources, malicious_stores
from support.hostile.malicious import CORPUS, PARQUET
from support.hostile.malicious_zarr import ZARR, array
from theodolite._storage._parquet_checks import _names_types
from theodolite._storage.checkpoints import PROGRAMS, read_checkpoint, read_weights
from theodolite._storage.stores import Store
from theodolite._storage.zarr.arrays import read_zarr_header, read_zarr_rows
from theodolite.errors import UnsafeInputError

for needed in ("h5py", "timm", "torch", "zarr"):
    pytest.importorskip(needed)

PROGRAM = """
import contextlib, io, json, os, sys
from theodolite.cli import main

for name, command, canary in json.load(sys.stdin):
    said = io.StringIO()
    sys.argv = ["theodolite", *command]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    print(json.dumps([name, code, said.getvalue(), os.path.exists(canary)]), flush=True)
"""
Answers = dict[str, tuple[int, str, bool]]
PLAIN = {
    "plain array adopted": lambda folder, canary: malicious_stores.plain_adopted(folder),
    "plain array in maps": lambda folder, canary: malicious_stores.plain_in_maps(folder),
}
"""Planted like the hostile ones, and harmless."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the command line says to each file: all in one process, as each start takes seconds."""
    root = tmp_path_factory.mktemp("malicious")
    jobs = []
    for number, (name, make) in enumerate([*CORPUS.items(), *PLAIN.items()]):
        folder = root / str(number)
        folder.mkdir()
        jobs.append((name, make(folder, folder / "canary"), str(folder / "canary")))
    assert not list(root.glob("*/canary")), "making a file must not set it off"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(jobs), capture_output=True, text=True,
        timeout=240, env={**os.environ, "THEODOLITE_CACHE": str(root / "cache")},
    )  # fmt: skip
    assert not done.returncode, done.stderr
    assert not list(root.rglob("canary"))
    result = map(json.loads, done.stdout.splitlines())
    return {name: (code, said, fired) for name, code, said, fired in result}


SAYS = {
    "npy: pickled objects": "could run code", "npz: pickled objects": "could run code",
    "npz: bomb": "as its header says", "hdf5: external link": "a link to elsewhere",
    "hdf5: soft link": "a link to elsewhere", "hdf5: virtual values": "values in other files",
    "hdf5: values in another file": "values in other files", "hdf5: foreign decoder": "decoder 305",
    "hdf5: references": "needed rows of numbers", "hdf5: more than is there": "not all of it stored",
    "pt: a call": "mkdir, which is no plain tensor", "pt: sparse": "_rebuild_sparse_tensor",
    "pieces: manifest: a type of ray's": "could run code",
    "bundle: an array that leaves": "got array '../../secret'",
    "bundle: a bundle that leaves": "an unknown kind of evidence",
    "maps: header: digests of something else": "what the header has a digest of",
    "pieces: a changed byte of what all share": "other content than was written",
    "maps: header: more digests than shards": "100000 digests",
    "zarr adopted: version 2 with pickled objects": "none for 'values'",
    "zarr in maps: version 2 with pickled objects": "needed version 3",
    "zarr in maps: missing files of a large array": "it is cut off",
    "zarr adopted: pickling decoder": "decoder 'numcodecs.pickle'",
    "zarr in maps: pickling decoder": "decoder 'numcodecs.pickle'",
    "zarr adopted: file that is a link": "a link that leaves the folder",
    "zarr in maps: file that is a link": "a link that leaves the folder",
    "zarr adopted: bomb of gzip": "broken gzip data",
    "zarr in maps: bomb of gzip": "broken gzip data",
    "npz: zeros that fill the memory": "theodolite data store x.npz NEW",
    "npz: numbers that grow": "2,359,296 bytes unpacked",
    "npz: one row that fills the memory": "1 rows of",
    "table: zeros that fill the memory": "bytes unpacked",
    "rows of parquet: zeros": "row group 0",
    "rows of parquet: one value, repeated": "row group 0",
    "rows of parquet: a longer list": "row group 0",
    "rows of parquet: a page that lies": "a page of",
    "rows of parquet: text in delta encoding": "text in delta encoding",
    "rows of arrow: zeros": "a record batch of",
    "rows of arrow: zeros in feather": "a record batch of",
    "rows of arrow: a long head": "a message head of",
    "rows of arrow: cut off": "cut off",
    "rows of arrow: a long word": "bytes of text in row 0",
    "rows of arrow: runs": "the type run_end_encoded",
    "rows of tar: a link": "a link", "rows of tar: a hard link": "a link",
    "rows of tar: a device": "a device", "rows of tar: a sparse file": "a sparse file",
    "rows of tar: a sparse file by its header": "a sparse file",
    "rows of tar: an absolute path": "an absolute path",
    "rows of tar: a path that leaves": "a path with '..'",
    "rows of tar: a path that leaves, by its header": "a path with '..'",
    "rows of tar: a huge header": "a header of 2,097,152 bytes",
    "rows of tar: past the end": "cut off", "rows of tar: packed": "Unpack .gz",
    "rows of tar: pickled objects": "could run code", "rows of tar: a bomb": "bytes unpacked",
    "rows of tar: a large file": "bytes unpacked",
    "saved data set: a file that leaves": "names of .arrow files beside it",
    "saved data set: an absolute file": "names of .arrow files beside it",
    "saved data set: a link": "a link",
}  # fmt: skip
"""Files that would be refused anyway, a step later: here the reason counts."""


@pytest.mark.parametrize("name", CORPUS)
def test_refused_in_one_line_and_not_run(answers: Answers, name: str) -> None:
    code, said, fired = answers[name]
    assert not fired
    wanted = 2 if name in malicious_stores.WRONG | malicious_sources.WRONG else 3
    assert (code, said.count("\n"), said.startswith("theodolite: ")) == (wanted, 1, True), said
    assert "Traceback" not in said and len(said) < 1100
    assert SAYS.get(name, "") in said


UNSAFE = {
    "npy: pickled objects": "import numpy as n; n.load(f+'/given/values.npy', allow_pickle=True)",
    "npz: pickled objects": "import numpy as n; n.load(f+'/x.npz', allow_pickle=True)['values']",
    "npy: a bare pickle": "import pickle; pickle.load(open(f+'/given/values.npy', 'rb'))",
    "pt: a call": "import torch; torch.load(f+'/w.pt', weights_only=False)",
    "pt: a call by number": "import torch; torch.load(f+'/w.pt', weights_only=False)",
    "pt: a call beside tensors": "import torch; torch.load(f+'/w.pt', weights_only=False)",
    "pt: old form": "import torch; torch.load(f+'/w.pt', weights_only=False)",
    "yaml: tag that calls": "import yaml; yaml.unsafe_load(open(f+'/spec.yaml'))",
}


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where canaries were, after careless readers: all in one process, as each loads torch."""
    root, canaries, program = tmp_path_factory.mktemp("careless"), {}, "import contextlib\n"
    for number, (name, reader) in enumerate(UNSAFE.items()):
        folder = root / str(number)
        folder.mkdir()
        canaries[name] = folder / "canary"
        CORPUS[name](folder, canaries[name])
        program += f"with contextlib.suppress(Exception):\n    f = {str(folder)!r}; {reader}\n"
    assert not list(root.glob("*/canary"))
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, timeout=60)
    return canaries


@pytest.mark.parametrize("name", UNSAFE)
def test_the_canary_dies_where_a_reader_is_careless(careless: dict[str, Path], name: str) -> None:
    """So that a canary that is alive means something."""
    assert careless[name].exists()


ZARR_READERS: dict[str, Callable[[Path], object]] = {
    "about": lambda folder: read_zarr_header(Store.at(folder), "a"),
    "rows": lambda folder: read_zarr_rows(Store.at(folder), "a", 0, 1),
}
"""The commands that read Zarr get the same arrays: ``malicious_stores`` plants them."""
ONLY_IN_FILES = {
    "file that is a link", "missing files of a large array", "missing file", "bomb of zstd", "bomb of gzip", "bomb of blosc", "gzip without its checksum",
    "longer than its values", "shorter than its values", "flags that are none",
}  # fmt: skip


@pytest.mark.parametrize("reader", ZARR_READERS)
@pytest.mark.parametrize("name", ZARR)
def test_zarr_is_refused_and_not_run(tmp_path: Path, name: str, reader: str) -> None:
    folder, canary = tmp_path / "store", tmp_path / "canary"
    folder.mkdir()
    ZARR[name](folder, canary)
    tracemalloc.start()
    try:
        if reader == "about" and name in ONLY_IN_FILES:
            assert ZARR_READERS[reader](folder)
        else:
            with pytest.raises(UnsafeInputError) as refused:
                ZARR_READERS[reader](folder)
            assert refused.value.exit_code == 3 and "\n" not in str(refused.value)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
    assert not canary.exists()


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_array_that_is_planted_comes_through(answers: Answers, name: str) -> None:
    assert answers[name] == (0, "", False), answers[name]


def test_a_plain_zarr_array_comes_through(tmp_path: Path) -> None:
    """So that the refused ones were refused for what was changed."""
    array(tmp_path)
    assert read_zarr_rows(Store.at(tmp_path), "a", 1, 3).tolist() == [[2, 3], [4, 5]]


TYPES = """
import pickle, sys
import pyarrow as pa, pyarrow.parquet as pq
from theodolite.errors import UnsafeInputError
from theodolite._storage.tables import read_parquet, read_parquet_from
from pathlib import Path

class Careless(pa.ExtensionType):  # what ray.data did before 2.55
    def __init__(self):
        super().__init__(pa.int64(), "ray.data.arrow_tensor_v2")
    def __arrow_ext_serialize__(self):
        return b""
    @classmethod
    def __arrow_ext_deserialize__(cls, storage, written):
        pickle.loads(written)
        return cls()

if sys.argv[1] == "ray":
    import ray.data
else:
    pa.register_extension_type(Careless())
for path in map(Path, sys.argv[3:]):
    if sys.argv[2] == "careless":
        pq.read_metadata(path)
    for read in (lambda: read_parquet(path), lambda: read_parquet_from(path.read_bytes(), "x")):
        try:
            read()
        except UnsafeInputError as refused:
            assert "extension types" in str(refused), refused
        else:
            raise AssertionError("not refused")
"""


def tables_read(types: str, how: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", TYPES, types, how, *map(str, paths)]
    hidden = {"RAY_DATA_AUTOLOAD_PYEXTENSIONTYPE": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **hidden}
    )


@pytest.mark.parametrize("types", ["careless", "ray"])
def test_no_type_is_built_whoever_made_it_known(tmp_path: Path, types: str) -> None:
    """pyarrow builds known types when it reads a footer: ours must not let it come to that."""
    if types == "ray":
        for needed in ("ray", "pandas"):
            pytest.importorskip(needed, reason="ray.data needs pandas")
    paths = []
    for name in ("a type of ray's", "a nested type"):
        paths.append(tmp_path / f"{name}.parquet")
        paths[-1].write_bytes(PARQUET[name](paths[-1].with_suffix(".canary")))
    done = tables_read(types, "plain", *paths)
    assert not done.returncode, done.stderr
    assert not list(tmp_path.glob("*.canary"))
    for path in paths if types == "careless" else ():
        tables_read(types, "careless", path)
        assert path.with_suffix(".canary").exists(), "pyarrow itself would have run it"


def test_weights_of_torch_come_through(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensors = {
        "a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor(3), "c": torch.ones(2).half(),
        "d": torch.nn.Parameter(torch.ones(2)), "e": torch.tensor([True, False]),
        "f": torch.ones(3, dtype=torch.bfloat16),
    }  # fmt: skip
    for content in (tensors, {"state_dict": tensors}, torch.nn.Linear(2, 3).state_dict()):
        torch.save(content, tmp_path / "w.pt")
        wanted: Any = content.get("state_dict", content)
        result = read_checkpoint(tmp_path / "w.pt")
        assert result.keys() == wanted.keys()
        for name, tensor in wanted.items():
            np.testing.assert_array_equal(result[name], tensor.detach().float().numpy())


def test_torch_itself_is_asked_to_run_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    """Were the listing not looked at, torch would still refuse: two locks."""
    monkeypatch.setattr("theodolite._storage.checkpoints._foreign", lambda listing: "")
    path, canary = tmp_path / "w.pt", tmp_path / "canary"
    path.write_bytes(malicious_runs.archived(canary))
    with pytest.raises(UnsafeInputError, match="no plain tensors"):
        read_checkpoint(path)
    assert not canary.exists()


def test_an_old_torch_is_not_trusted(tmp_path: Path, monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.ones(1)}, tmp_path / "w.pt")
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    with pytest.raises(Exception, match=r"got 2\.9\.1\+cpu; needed 2\.10 or newer"):
        read_checkpoint(tmp_path / "w.pt")


@pytest.mark.parametrize("name", malicious_runs.CHECKPOINTS)
def test_what_is_no_list_of_tensors_is_refused_as_such(tmp_path: Path, name: str) -> None:
    """And not only because it does not fit the network."""
    path, canary = tmp_path / "w.pt", tmp_path / "canary"
    path.write_bytes(malicious_runs.CHECKPOINTS[name](canary))
    with pytest.raises(UnsafeInputError, match=r"Save it again: safetensors\.torch\.save_file"):
        read_checkpoint(path)
    assert not canary.exists()


@pytest.mark.parametrize("suffix", PROGRAMS)
def test_programs_are_known_by_their_names(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"w{suffix}").write_bytes(b"x")
    with pytest.raises(UnsafeInputError, match="which may be a program"):
        read_weights(tmp_path / f"w{suffix}")


@pytest.mark.parametrize("before", range(5))
def test_types_are_found_wherever_their_text_begins(before: int) -> None:
    text = base64.b64encode(b"something ARROW:extension:name something")
    assert _names_types(b"\x18" + b"A" * before + text + b"\x00")
    assert not _names_types(base64.b64encode(b"something ARROW:schema and no more"))


def test_read_checkpoint_old_format_needs_known_digest(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "old.pth"
    tensors = {"a": torch.arange(3.0)}
    torch.save(tensors, path, _use_new_zipfile_serialization=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for known in ("", "0" * 64):
        with pytest.raises(UnsafeInputError, match="no archive"):
            read_checkpoint(path, known=known)
    np.testing.assert_array_equal(read_checkpoint(path, known=digest)["a"], [0, 1, 2])
