from pathlib import Path

import pytest

from support.runs.small_run import write_inputs
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import read_spec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.report.html import write_report


@pytest.fixture(scope="session")
def shapes_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs of a small run, its cache, and the finished run in ``one``.

    Tests must not change the finished run.
    """
    pytest.importorskip("timm")
    root = write_inputs(tmp_path_factory.mktemp("shapes"))
    out = root / "one"
    run(read_spec(root / "spec.yaml"), RunPaths(root / "data", out, root / "cache"), overwrite=True)
    write_report(out)
    write_checksums(out)
    return root
