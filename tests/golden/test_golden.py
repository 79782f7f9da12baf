"""Results of the golden set are those that were kept."""

import difflib
from pathlib import Path

import pytest

from golden.build import KINDS, build_audit, build_comparison, build_dissection, build_stored

EXPECTED = Path(__file__).with_name("expected")


def assert_equal(folder: Path) -> None:
    """Compare every file of a folder with the one that was kept."""
    kept = {path.relative_to(EXPECTED) for path in EXPECTED.rglob("*") if path.is_file()}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder)
        assert name in kept, f"{name} is new"
        new, old = path.read_text("utf-8"), (EXPECTED / name).read_text("utf-8")
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "kept", "now", n=0)
        assert new == old, f"{name}\n" + "\n".join(line[:300] for line in lines)


@pytest.mark.parametrize("kind", KINDS)
def test_audit_equals_golden(kind: str, tmp_path: Path) -> None:
    build_audit(kind, tmp_path / "work", tmp_path / "out")
    if kind == "concept":
        build_comparison(tmp_path / "work", tmp_path / "out")
    assert_equal(tmp_path / "out")


def test_stored_run_equals_golden(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    build_stored(tmp_path / "work", tmp_path / "out")
    assert_equal(tmp_path / "out")


def test_dissection_equals_golden(tmp_path: Path) -> None:
    build_dissection(tmp_path / "out")
    assert_equal(tmp_path / "out")


@pytest.mark.slow
def test_ray_run_equals_golden(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (tmp_path / "work").mkdir()
    build_stored(
        tmp_path / "work", tmp_path / "out", "--engine", "ray", "--workers", "2", name="ray"
    )
    assert_equal(tmp_path / "out")
