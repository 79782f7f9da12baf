"""Specs: every mistake is one line that names the place."""

from theodolite._runs.folder.spec import read_spec
from theodolite_reproductions.protocols import PROTOCOLS


def test_protocols_of_the_project_are_good_specs() -> None:
    files = sorted(PROTOCOLS.glob("*.yaml"))
    protocols = [p for p in files if ".sweep" not in p.suffixes]
    assert [p.stem for p in protocols] == [read_spec(p).name for p in protocols]
    assert {"alignment_cub", "alignment_monumai"} <= {p.stem for p in protocols}
