"""Certificates of older code, for code that gives equal numbers."""

import json
import shutil
from pathlib import Path

from support.runs.command_line import theodolite
from theodolite._planted.validation.renewal import list_records, renew_record
from theodolite._planted.validation.validation_record import find_stale_reasons

KEPT = Path(__file__).parents[2] / "validation"


def _older(folder: Path, metric: str, **changes: object) -> Path:
    """A certificate of the package as one of other code."""
    path = folder / f"{metric}-2.json"
    content = json.loads((KEPT / path.name).read_text(encoding="utf-8"))
    content["cells"][0] |= changes
    path.write_text(json.dumps(content | {"digest": "of other code"}), encoding="utf-8")
    return path


def test_the_same_numbers_renew(tmp_path: Path) -> None:
    path = _older(tmp_path, "acceptance")
    before = json.loads(path.read_text(encoding="utf-8"))
    renewal = renew_record(path, "2026-01-31", conditions=2)
    assert renewal is not None and renewal.holds and renewal.conditions == 2
    after = json.loads(path.read_text(encoding="utf-8"))
    assert find_stale_reasons(after) == [] and after["renewed"]["date"] == "2026-01-31"
    assert len(after["renewed"]["conditions"]) == 2
    assert after["cells"] == before["cells"] and after["date"] == before["date"]
    assert renew_record(path, "2026-02-28") is None, "it is of today's code"


def test_another_number_does_not_renew(tmp_path: Path) -> None:
    path = _older(tmp_path, "acceptance", width=0.092883)
    before = path.read_bytes()
    renewal = renew_record(path, "2026-01-31", conditions=1)
    assert renewal is not None and not renewal.holds
    assert renewal.differences == ("{'clusters': 100}: width 0.092883, now 0.092882",)
    assert path.read_bytes() == before


def test_nothing_drawn_again_proves_nothing(tmp_path: Path) -> None:
    path = _older(tmp_path, "acceptance")
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"] = []
    path.write_text(json.dumps(content), encoding="utf-8")
    renewal = renew_record(path, "2026-01-31")
    assert renewal is not None and renewal.conditions == 0 and not renewal.holds


def test_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    ended = theodolite("metrics", "validate", "--renew", folder, "--out", tmp_path / "w")
    assert ended.returncode == 2 and "validation records" in ended.stderr
    _older(folder, "acceptance", width=0.5)
    shutil.copy(KEPT / "acceptance-2.json", folder / "acceptance-1.json")
    assert [path.name for path in list_records(folder)] == ["acceptance-2.json"]
    ended = theodolite(
        "metrics", "validate", "--renew", folder, "--out", tmp_path / "w", "--date", "2026-01-31"
    )
    assert ended.returncode == 6, ended.stderr
    assert "acceptance: validate it again; 3 conditions drawn again" in ended.stdout
    assert "width 0.5, now" in ended.stdout
