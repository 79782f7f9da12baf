"""Files are read in theodolite._storage and nowhere else: a reader elsewhere would have its own holes.

The lint rule in pyproject.toml bans the same names. It does not see a package that is fetched by
its name as text, nor a method of an object; this does.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import theodolite

SOURCE = Path(theodolite.__file__).parent
PACKAGES = {
    "botocore", "cloudpickle", "dill", "fsspec", "gcsfs", "h5py", "joblib", "marshal", "numcodecs",
    "obstore", "pickle", "requests", "s3fs", "shelve", "tarfile", "yaml", "zarr", "zipfile",
}  # fmt: skip
NAMES = {
    "fromfile", "fromregex", "genfromtxt", "loadtxt", "memmap", "open_memmap", "read_pickle",
    "read_table", "safe_load", "unsafe_load", "safe_open", "load_file", "unpack_archive",
    "extractall", "urlopen", "urlretrieve", "ParquetFile", "ParquetDataset", "weights_only",
    "allow_pickle", "load_state_dict_from_url",
}  # fmt: skip
LOADERS = {
    "np.load",
    "numpy.load",
    "torch.load",
    "torch.jit.load",
    "torch.export.load",
    "torch.hub",
}
MODULES = {"ray.data", "urllib.request", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.dataset"}


def faults(code: str) -> Iterator[str]:
    """What a file uses that only theodolite._storage may use."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or "", *(f"{node.module}.{name}" for name in modules)]
            yield from (m for m in modules if _banned(m))
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func).rpartition(".")[2]:
            texts = (a.value for a in node.args if isinstance(a, ast.Constant))
            yield from (t for t in texts if isinstance(t, str) and _banned(t))
        elif isinstance(node, ast.Attribute):
            if node.attr in NAMES or ast.unparse(node) in LOADERS | MODULES:
                yield ast.unparse(node)
        elif isinstance(node, ast.keyword) and node.arg in NAMES:
            yield node.arg


def _banned(module: str) -> bool:
    inside = any(f"{module}.".startswith(f"{banned}.") for banned in MODULES | LOADERS)
    return inside or module.partition(".")[0] in PACKAGES or module.rpartition(".")[2] in NAMES


ALLOWED = {
    # it passes on names and numbers; tables are read in theodolite._storage, which knows of ray's types
    "_runs/engine/ray_data.py": {"ray.data"},
    # torchvision fetches and reads its own weights, and is told to take tensors only; a program of
    # torch.export can run code, and is only read with --trust-model
    "models/loading.py": {"weights_only", "torch.export.load"},
    # a law: a state survives being sent as a worker process sends it
    "testing/laws.py": {"pickle"},
}
FILES = sorted(p for p in SOURCE.rglob("*.py") if SOURCE / "_storage" not in p.parents)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_nothing_else_reads_files(path: Path) -> None:
    allowed = ALLOWED.get(path.relative_to(SOURCE).as_posix(), set())
    assert set(faults(path.read_text("utf-8"))) <= allowed


@pytest.mark.parametrize(
    "code",
    [
        "import pickle", "from pickle import loads", "import h5py as h", "import zarr.storage",
        "def f():\n    import joblib", "import ray.data", "from ray import data",
        "importlib.import_module('h5py')", "import_module('zarr.storage')", "__import__('dill')",
        "np.load(p)", "np.memmap(p)", "np.lib.format.open_memmap(p)", "x.extractall()",
        "from numpy import loadtxt", "torch.load(p)", "torch.jit.load(p)", "torch.hub.load(p)",
        "f(p, allow_pickle=True)", "f(weights_only=False)", "from urllib.request import urlopen",
        "import urllib.request", "import pyarrow.parquet as pq", "from pyarrow import ipc",
        "from torch import load", "pq.ParquetFile(p)", "from safetensors import safe_open",
    ],
)  # fmt: skip
def test_it_sees(code: str) -> None:
    assert list(faults(code))


def test_it_sees_no_more_than_that() -> None:
    plain = (
        "import ray\nfrom theodolite.evidence.files import load\nload(p)\nimport_module('torch')"
    )
    assert list(faults(plain)) == []


def test_it_sees_the_readers_at_home() -> None:
    result = {
        fault for path in (SOURCE / "_storage").rglob("*.py") for fault in faults(path.read_text())
    }
    assert {"zarr", "fsspec", "yaml", "zipfile", "np.load", "weights_only"} <= result
