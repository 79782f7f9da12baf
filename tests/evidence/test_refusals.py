"""What a source lacks is refused with the row's number; bytes are read as people write them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import theodolite
from support.rows import Device
from theodolite.errors import EvidenceError

VALUES = pa.array([[0.5, 1.0]] * 6, pa.list_(pa.float32()))
ODD: dict[str, tuple[dict[str, Any], str]] = {
    "a null among values": ({"values": [[1.0, 2.0], [None, 2.0]]}, "row 1"),
    "a missing list": ({"values": [[1.0, 2.0], None]}, "row 1"),
    "another length": ({"values": [[1.0], [1.0], [1.0, 2.0]]}, "a list of 2 in row 2"),
    "an infinite value": ({"values": [[1.0, 2.0], [np.inf, 2.0]]}, "no finite number in row 1"),
    "a null among labels": ({"values": VALUES, "labels": [0, 1, None, 1, 0, 1]}, "row 2"),
    "NaN among labels": ({"values": VALUES, "labels": [0.0, 1, 1, 1, np.nan, 1]}, "row 4"),
    "half a label": ({"values": VALUES, "labels": [0.0, 1, 1, 0.5, 1, 1]}, "whole number in row 3"),
    "a null among ids": ({"values": VALUES, "ids": ["a", None, "b", "c", "d", "e"]}, "row 1"),
    "no numbers": ({"values": pa.array([b"x"] * 6)}, "the type binary"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_the_row_is_named(name: str, tmp_path: Path) -> None:
    columns, says = ODD[name]
    with pytest.raises(EvidenceError, match=says):
        theodolite.store(pa.table(columns), tmp_path / "new")


def test_a_late_class_of_what_is_read_once_is_refused(tmp_path: Path) -> None:
    batches = pa.table({"values": VALUES, "labels": [0, 1, 0, 1, 2, 1]}).to_batches(3)
    with pytest.raises(EvidenceError, match="above the 2 classes in row 4"):
        theodolite.store(iter(batches), tmp_path / "once")
    assert theodolite.store(iter(batches), tmp_path / "named", classes=3).samples == 6


def test_arrays_on_a_device_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"Call \.cpu\(\)"):
        theodolite.store({"values": Device(np.zeros((2, 2)), device=2)}, tmp_path / "new")


def test_names_come_from_the_field(tmp_path: Path) -> None:
    field = pa.field("v", VALUES.type, metadata={"theodolite.names": '["horn", "hoof"]'})
    table = pa.table([VALUES], schema=pa.schema([field]))
    named = theodolite.store(table, tmp_path / "a", fields={"values": "v"})
    plain = {"fields": {"values": "v"}, "concepts": ["horn", "hoof"]}
    assert named.digest == theodolite.store({"v": np.stack([[0.5, 1.0]] * 6).astype("f4")}, tmp_path / "b", **plain).digest  # fmt: skip
