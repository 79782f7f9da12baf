"""The ledger: what its files may say, and that all of it is there."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.entry import DECIDED_BY_TESTS, REASONS
from theodolite_reproductions.claims.ledger import ledger, read_ledger

ROOT = Path(__file__).parents[3]
ENTRY = {
    "id": "P000-F0-01",
    "where": "Table 1",
    "kind": "finding",
    "states": "more",
    "score": "concept_existence",
    "test": {"type": "difference", "rule": "sign", "unit": "classes"},
    "effect": 5,
    "from": {"effect": "printed"},
}
OPTION = ENTRY | {
    "id": "P000-O-01",
    "kind": "option",
    "test": {"type": "difference", "rule": "moves"},
}
YEARLESS = {"effect": "convention: one in ten"}


def written(folder: Path, *entries: object) -> Path:
    path = folder / "alignment.yaml"
    content = {
        "paper": "000",
        "page": "alignment",
        "name": "aysel2025",
        "title": "A",
        "entries": entries,
    }
    path.write_text(json.dumps(content))  # JSON is YAML without aliases
    return path


def test_all_entries_are_there() -> None:
    counts = ledger().counts()
    assert len(ledger().entries) == 300
    assert counts["paper"] == {"000": 62, "001": 90, "002": 40, "003": 45, "004": 63}
    assert counts["kind"] == {
        "option": 31, "definition": 70, "algorithm": 7, "number": 67, "figure": 22, "finding": 91,
        "ablation": 8, "reading": 4,
    }  # fmt: skip


def test_an_entry_by_its_id() -> None:
    entry = ledger().entry("p003-f0-05")
    assert entry.printed == {"NetDissect": 0.3615, "Comp": 0.3294} and entry.effect == 0.16
    with pytest.raises(UnsafeInputError, match="P009"):
        ledger().entry("P009-F0-05")


def test_printed_tables_are_whole() -> None:
    for form, (mean, negative) in {1: (0.314, 12), 2: (0.057, 48), 3: (0.301, 3)}.items():
        printed = ledger().entry(f"P000-T6-0{form}").printed
        assert printed is not None
        values = printed["values"]
        assert len(values) == 112 and sum(value < 0 for value in values) == negative
        assert sum(values) / 112 == pytest.approx(mean, abs=0.0005)


def test_what_is_right_is_read(tmp_path: Path) -> None:
    moved = ENTRY | {"moved_by": ["P000-O-01"]}
    read = read_ledger([written(tmp_path, OPTION, moved)])
    assert [entry.id for entry in read.entries] == ["P000-O-01", "P000-F0-01"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"status": "proven"}, "status"),
        ({"score": "beauty"}, "beauty"),
        ({"moved_by": ["P000-O-09"]}, "P000-O-09"),
        ({"id": "P001-F0-01"}, "not of paper 000"),
        ({"id": "first"}, "no id"),
        ({"effect": None}, "need a source"),
        ({"from": {}}, "need a source"),
        ({"from": YEARLESS}, "pattern"),
        ({"reason": "not run: CPU time"}, "estimate"),
        ({"reason": "no time"}, "reason"),
        ({"proofs": ["tests/a.py::test_b"]}, "prove definitions"),
        ({"test": {"type": "equivalence", "rule": "sign"}}, "margin"),
        ({"test": {"type": "share", "rule": "line"}}, "line"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, change: dict[str, object], says: str) -> None:
    with pytest.raises(UnsafeInputError, match=says):
        read_ledger([written(tmp_path, ENTRY | change)])


def test_no_id_comes_twice(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="P000-F0-01 2 times"):
        read_ledger([written(tmp_path, ENTRY, ENTRY)])


@cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing(proof: str) -> bool:
    place, _, name = proof.partition("::")
    path = ROOT / place
    return not name.startswith("test_") or not path.is_file() or name not in functions_of(path)


def test_every_proof_is_a_test() -> None:
    proofs = [(entry.id, proof) for entry in ledger().entries for proof in entry.proofs]
    assert len({name for name, _ in proofs}) > 70
    assert not [f"{name}: {proof}" for name, proof in proofs if missing(proof)]


def test_a_proof_that_is_gone_is_noticed() -> None:
    assert not missing(
        "reproductions/tests/claims/test_ledger.py::test_a_proof_that_is_gone_is_noticed"
    )
    assert missing("reproductions/tests/claims/test_ledger.py::test_that_was_never_written")
    assert missing("reproductions/tests/claims/test_nowhere.py::test_every_proof_is_a_test")
    assert missing("reproductions/tests/claims/test_ledger.py::functions_of")


def test_no_proof_is_left_out_by_name() -> None:
    skipped = (ROOT / "tests" / "SKIPPED.md").read_text()
    proofs = {proof for entry in ledger().entries for proof in entry.proofs}
    assert not [proof for proof in proofs if f"`{proof.partition('::')[2]}`" in skipped]


def test_reasons_are_a_closed_list() -> None:
    used = {entry.reason for entry in ledger().entries} - {None}
    assert used <= set(REASONS) and len(REASONS) == 6
    decided = [entry.id for entry in ledger().entries if entry.reason and entry.proofs]
    assert not decided
    assert not [e.id for e in ledger().entries if e.reason and e.test.type in DECIDED_BY_TESTS]
