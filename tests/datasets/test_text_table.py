"""Tables of texts with concepts, and what is no such table."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from theodolite._storage.tables import write_parquet
from theodolite.datasets.text_table import text_table
from theodolite.errors import EvidenceError, UnsafeInputError

ROWS = [f"t {i},{i % 2},{'' if i < 3 else int(i > 9)},{i // 2},word" for i in range(20)]
TABLE = "\n".join(["text,odd,late,document,kind", *ROWS])


def test_columns_of_zeros_and_ones_are_concepts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    table = text_table(path)
    assert table.concepts == ("odd", "late") and table.name == "a" and len(table.texts) == 20
    assert_array_equal(table.truth[:, 0], np.arange(20) % 2 == 1)
    assert_array_equal(table.known[:, 1], np.arange(20) >= 3)
    assert not (table.truth & ~table.known).any()
    assert table.documents is not None
    assert_array_equal(table.documents, np.arange(20) // 2)
    assert any("kind" in note for note in table.notes)
    assert text_table(path, concepts=["late"]).concepts == ("late",)
    assert text_table(path, document_column="none").concepts[-1] == "late"


def test_parquet_files_and_plain_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    whole = text_table(path)
    cells = [line.split(",") for line in TABLE.splitlines()]
    columns = {name: [row[i] or None for row in cells[1:]] for i, name in enumerate(cells[0])}
    columns["odd"] = [int(cell) for cell in columns["odd"]]
    (tmp_path / "parts").mkdir()
    write_parquet(tmp_path / "all.parquet", columns)
    for number, rows in enumerate((slice(0, 7), slice(7, 20))):
        some = {name: own[rows] for name, own in columns.items()}
        write_parquet(tmp_path / "parts" / f"part-{number}.parquet", some)
    for place in (tmp_path / "all.parquet", tmp_path / "parts"):
        table = text_table(place)
        assert (table.texts, table.concepts) == (whole.texts, whole.concepts)
        assert_array_equal(table.truth, whole.truth)
        assert_array_equal(table.known, whole.known)
    assert set(text_table(tmp_path / "parts").digests) == {"part-0.parquet", "part-1.parquet"}
    plain = tmp_path / "lines.txt"
    plain.write_text("a cat\n\na dog, and more\n")
    assert text_table(plain).texts == ("a cat", "a dog, and more")


def test_texts_with_line_breaks_and_packed(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b'text\n"a\nb"\n"c ""d"""\n'))
    assert text_table(tmp_path / "a.csv.gz").texts == ("a\nb", 'c "d"')
    lines = '{"text": "a", "x": true}\n{"text": null, "x": false}\n{"x": 1.0}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    table = text_table(tmp_path / "a.jsonl")
    assert table.texts == ("a",) and not table.concepts
    assert any("2 rows without" in note for note in table.notes)
    assert any("fewer than 4" in note and "x" in note for note in table.notes)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", "prompt\na", "a column 'text'"),
        ("a.csv", "text,text\na,b", "distinct column names"),
        ("a.csv", "", "distinct column names"),
        ("a.csv", "text,c\na,1,2", "3 cells in line 2"),
        ("a.csv", 'text\n"a', "broken CSV"),
        ("a.csv", "text\n \n", "no text"),
        ("a.jsonl", "[1]", "list in a line"),
        ("a.jsonl", "{", "broken JSON"),
        ("a.pdf", "text", "another kind of file"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, content: str, reason: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UnsafeInputError, match=reason):
        text_table(tmp_path / name)


def test_a_concept_must_be_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    with pytest.raises(EvidenceError, match="0, 1 or nothing"):
        text_table(path, concepts=["kind"])
    with pytest.raises(EvidenceError, match=r"no column 'lat'.*Did you mean 'late'"):
        text_table(path, concepts=["lat"])
    with pytest.raises(UnsafeInputError, match="no such file"):
        text_table(tmp_path / "b.csv")
