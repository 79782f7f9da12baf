"""A package outside ours brings what it likes, and changes nobody else's audit by a byte."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.packages import BROKEN, FAILING, TOKENS, installed, run_with

SCRIPT = "import sys; from pathlib import Path; from support import foreign_scripts as f; "
OURS = SCRIPT + "f.ours(Path(sys.argv[1]), *sys.argv[2:])"


def said(script: str, *arguments: Path | str, package: Path | None = None) -> Any:
    return json.loads(run_with(script, *arguments, package=package).splitlines()[-1])


@pytest.fixture(scope="module")
def token_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    points = {
        "evidence": {"passage": "tokens.all:PassageEvidence"},
        "metrics": {"token": "tokens.all"},
    }
    return installed(tmp_path_factory.mktemp("tokens"), "tokens", {"all": TOKENS}, points)


def test_a_foreign_kind_leaves_others_unchanged(token_package: Path, tmp_path: Path) -> None:
    with_it = said(OURS, tmp_path / "with", package=token_package)
    without = said(OURS, tmp_path / "without")
    assert len(without) == 12
    assert with_it == without


def test_a_foreign_kind_does_all_that_ours_do(token_package: Path, tmp_path: Path) -> None:
    tokens = SCRIPT + "f.tokens(Path(sys.argv[1]))"
    got = said(tokens, tmp_path, package=token_package)
    assert "\n  located    " in got["text"]
    assert got["header"]["package"] == {"name": "tokens", "version": "1.2"}
    assert got["again"]
    assert got["planted"].startswith("<PassageEvidence: 30 samples, 5 tokens")
    assert "What people marked." in got["evidence"]
    assert got["listed"].splitlines()[-1].startswith("passage ")
    assert (got["gate"], got["missed"], got["verify"], got["report"]) == (0, 6, 0, True)
    opened = said(SCRIPT + "f.without_tokens(Path(sys.argv[1]))", tmp_path)
    assert "passage evidence: needs tokens 1.2. It is left out." in opened["notes"]
    assert opened["kinds"] == ["intervention"]
    assert "passage evidence: needs tokens 1.2" in opened["alone"]
    assert (opened["code"], opened["report"], opened["page"]) == (3, 0, True)
    # other code of the same version: other names of its pieces, and of no others
    changed = tmp_path / "changed"
    shutil.copytree(token_package, changed)
    module = changed / "tokens" / "all.py"
    module.write_text(module.read_text() + "\n# changed\n")
    shutil.rmtree(tmp_path / "pieces")
    pieces = SCRIPT + "import json; print(json.dumps(f.pieces(Path(sys.argv[1]))))"
    again = said(pieces, tmp_path / "pieces", package=changed)
    (alone, both), (alone_again, both_again) = got["pieces"], again
    assert alone == alone_again
    assert set(alone) < set(both)
    assert set(both) & set(both_again) == set(alone)
    assert len(both) == len(both_again)


def test_what_fails_of_a_package_stays_with_it(tmp_path: Path) -> None:
    points = {
        "evidence": {"broken": "faulty.broken"},
        "metrics": {"broken": "faulty.broken", "failing": "faulty.failing"},
    }
    modules = {"broken": BROKEN, "failing": FAILING}
    package = installed(tmp_path, "faulty", modules, points)
    got = said(SCRIPT + "f.faulty(Path(sys.argv[1]))", tmp_path, package=package)
    plain = said(OURS, tmp_path / "plain", "intervention")["intervention"]
    assert [re.sub(r"0x\w+", "", w) for w in got["warnings"]] == [
        "theodolite: faulty 1.2: 'broken' (evidence) is left out: OSError: no library."
    ]
    assert "note: faulty 1.2: 'broken' (evidence) is left out" in got["listed"]
    assert got["failed"] == [
        "fails_at_null failed at null nothing: ZeroDivisionError: no null",
        "fails_at_reading failed at read: KeyError: 'no reading'",
        "fails_at_value failed at value: ZeroDivisionError: no value <object object>",
    ]
    assert f"({', '.join(got['scores'])})" == plain[0]
    assert "Failed: fails_at_value failed at value" in got["text"]
    assert got["code"] == 4
    stored = json.loads((tmp_path / "run" / "scores.json").read_text())
    before = json.loads((tmp_path / "plain" / "intervention" / "scores.json").read_text())
    assert stored["scores"] == before["scores"]
    assert [f["stage"] for f in stored["errors"]] == ["null nothing", "read", "value"]
    assert before["errors"] == []
    assert "fails_at_null failed at null nothing" in (tmp_path / "run" / "report.html").read_text()
    assert got["gate"].startswith("inconclusive: fails_at_null: failed at null nothing")
    assert (got["recompute"], got["recompute memory"]) == (0, 0)
