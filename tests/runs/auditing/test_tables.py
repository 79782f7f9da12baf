"""Evidence from the columns of a table: which belong together, and what cannot be read."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import theodolite
from support.runs.command_line import theodolite as command
from theodolite._runs.auditing.reading import read_sources
from theodolite._storage import tables
from theodolite._verdicts.scores_file import scores_file
from theodolite.errors import EvidenceError

NAMES = ("horn", "mane", "tail")
WORDS = ("cat", "dog")
COLUMNS = {"values": "pred_*", "truth": "true_*"}


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    truth = random.random((40, 3)) < 0.4
    values = truth + random.normal(scale=0.4, size=truth.shape)
    return {"values": values, "truth": truth, "labels": truth[:, 0] + 0}


@pytest.fixture(scope="module", params=["csv", "parquet"])
def table(
    request: pytest.FixtureRequest, arrays: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Columns of the truth in another order than those of the values."""
    columns: dict[str, Any] = {"id": [f"row {i}" for i in range(40)]}
    columns |= {f"true_{n}": arrays["truth"][:, i] + 0 for i, n in reversed([*enumerate(NAMES)])}
    columns |= {f"pred_{name}": arrays["values"][:, i] for i, name in enumerate(NAMES)}
    columns["y"] = [WORDS[label] for label in arrays["labels"]]
    path = tmp_path_factory.mktemp("tables") / f"scores.{request.param}"
    write = pa.csv.write_csv if request.param == "csv" else pa.parquet.write_table
    write(pa.table(columns), path)
    return path


def test_columns_are_the_arrays_that_they_were(table: Path, arrays: dict[str, Any]) -> None:
    (source,) = read_sources([table], {**COLUMNS, "labels": "y", "ids": "id"})
    (evidence,) = source.first
    assert evidence.concepts.names == NAMES and evidence.classes.names == WORDS
    for name, values in arrays.items():
        assert getattr(evidence, name).tobytes() == values.tobytes()
    assert evidence.samples.name(3) == "row 3"
    assert "horn is pred_horn (values) and true_horn (truth)" in source.notes[0]
    assert source.notes[0].endswith("; labels is y; ids is id.")


WRITERS = {
    "csv": pa.csv.write_csv, "parquet": pa.parquet.write_table, "feather": pa.feather.write_feather,
    "arrow": lambda table, path: pa.feather.write_feather(table, path, compression="zstd"),
}  # fmt: skip


@pytest.mark.parametrize("suffix", WRITERS)
def test_columns_named_like_the_arrays_need_no_options(
    suffix: str, arrays: dict[str, Any], tmp_path: Path
) -> None:
    columns: dict[str, Any] = {f"values_{i}": arrays["values"][:, i] for i in (2, 0, 1)}
    if suffix == "csv":
        columns |= {f"truth_{i}": arrays["truth"][:, i] + 0 for i in range(3)}
    else:
        columns["truth"] = arrays["truth"].tolist()
    columns |= {
        "labels": arrays["labels"],
        "age": range(40),
        "ids": [f"row {i}" for i in range(40)],
    }
    path = tmp_path / f"scores.{suffix}"
    WRITERS[suffix](pa.table(columns), path)
    (source,) = read_sources([path], {})
    (evidence,) = source.first
    for name, values in arrays.items():
        np.testing.assert_array_equal(getattr(evidence, name), values)
    assert evidence.samples.name(3) == "row 3"
    assert source.notes[0].endswith("labels is labels; ids is ids; not read: age.")


def test_command_reads_attributions_from_a_table(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows, weights = random.normal(size=(40, 3)), np.array([2.0, -1.0, 0.5])
    evidence = theodolite.AttributionEvidence(
        values=(rows - rows.mean(axis=0)) * weights, inputs=rows, background=rows,
        respond=lambda asked: asked @ weights,
    )  # fmt: skip
    names = ("values", "inputs", "output", "removed", "change")
    table = {name: np.asarray(getattr(evidence, name)).tolist() for name in names}
    pa.parquet.write_table(pa.table(table), tmp_path / "attributions.parquet")
    ran = command("audit", tmp_path / "attributions.parquet", "--resamples", 20, "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("attributions.parquet: values is values; inputs is inputs;")
    assert "Do the attributions predict" in ran.stdout


def test_an_audit_of_a_table_is_that_of_its_arrays(table: Path, arrays: dict[str, Any]) -> None:
    result = theodolite.audit(table, **COLUMNS, resamples=20)
    plain = {name: arrays[name] for name in COLUMNS}
    expected = theodolite.audit(**plain, concepts=NAMES, resamples=20)
    texts = [
        scores_file(r.scores, r.verdicts, r.not_computed).model_dump_json()
        for r in (result, expected)
    ]
    assert texts[0] == texts[1]
    assert any("horn is pred_horn" in note for note in result.notes)
    assert "truth: put into the order of concepts by name." in result.notes


def test_the_command_shows_the_pairs_before_the_first_score(table: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ran = command(
        "audit", table, "--values", "pred_*", "--truth", "true_*", "--resamples", 20, "--quiet",
        "--out", run,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{table.name}: horn is pred_horn (values) and true_horn (truth);")
    assert command("verify", run).returncode == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "which columns hold what"),
        ({"values": "prd_*"}, "columns of values: got 'prd_"),
        ({"values": "pred_*", "truth": "true_horn,true_mane"}, "the names in `values`"),
        ({"values": "pred_*", "labels": "z"}, "columns of labels: got 'z'"),
        ({"values": "*"}, "not of numbers"),
        ({"values": "pred_*", "ids": "true_*"}, "columns of ids: got 3; needed 1"),
        ({"values": "pred_*", "truht": "true_*"}, "Did you mean 'truth'"),
    ],
)
def test_columns_that_do_not_fit_are_named(
    table: Path, columns: dict[str, str], message: str
) -> None:
    with pytest.raises(EvidenceError, match=message):
        theodolite.audit(table, **columns)


def test_columns_need_one_table(table: Path) -> None:
    with pytest.raises(EvidenceError, match=r"one \.csv, \.parquet or Arrow"):
        read_sources([table, table], COLUMNS)
    with pytest.raises(EvidenceError, match="no table"):
        read_sources([], COLUMNS)


def test_arrays_beside_a_table(table: Path) -> None:
    weights = np.ones((3, 2))
    result = read_sources([table], {"values": "pred_*", "weights": weights, "classes": WORDS})
    assert np.array_equal(result[0].first[0].weights, weights)


@pytest.mark.parametrize(
    "text",
    ["", "a,a\n1,2\n", "a,b\n1\n", 'a,"b\n1,2', "a,b\n1,\xff\n"],
    ids=["empty", "twice", "short", "quote", "latin"],
)
def test_broken_tables_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(EvidenceError):
        theodolite.audit(path, values="a,b")


def test_large_tables_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr(tables, "MAX_CSV_BYTES", 4)
    for read in (tables.column_names, lambda p: tables.read_columns(p, ["a"])):
        with pytest.raises(EvidenceError, match="at most 4"):
            read(path)
