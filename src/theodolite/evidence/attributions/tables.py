"""Rows of a table as numbers, and numbers as the rows that a model takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError


def is_frame(table: Any) -> bool:
    """Return whether a table is a pandas frame."""
    return hasattr(table, "iloc") and hasattr(table, "columns")


@dataclass(frozen=True, eq=False)
class TableCodec:
    """How rows of a table become numbers, and back: a frame keeps its columns and their types."""

    template: Any = None
    """A frame without rows; None for arrays."""
    categories: tuple[Any, ...] = ()
    """Of each column its distinct values, which are coded by position; None for numbers."""

    @classmethod
    def of(cls, *tables: Any, names: tuple[str, ...] = ()) -> "TableCodec":
        """Take the columns of the first frame; categories are those of all tables.

        Args:
            tables: Frames, or arrays whose columns are those of a frame.
            names: Names of the columns, where a model wants frames and has arrays.
        """
        frames = [table for table in tables if is_frame(table)]
        if not frames and not names:
            return cls()
        pd = require("pandas", "a model that was fitted on a frame", "notebook")

        template = frames[0].iloc[:0] if frames else pd.DataFrame(columns=list(names), dtype=float)
        categories: list[Any] = []
        for column in template.columns:
            kind = template[column].dtype
            if pd.api.types.is_numeric_dtype(kind):
                categories.append(None)
                continue
            series = pd.concat([frame[column] for frame in frames], ignore_index=True)
            categories.append(series.drop_duplicates(ignore_index=True))
        return cls(template, tuple(categories))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; nothing for arrays."""
        return () if self.template is None else tuple(map(str, self.template.columns))

    @property
    def category_names(self) -> tuple[tuple[str, ...], ...]:
        """Names of the categories of each column, in the order of their codes."""
        return tuple(() if own is None else tuple(map(str, own)) for own in self.categories)

    def encode(self, table: Any, name: str) -> Float[np.ndarray, "rows features"]:
        """Return the rows of a table as numbers."""
        if not is_frame(table) or self.template is None:
            return _to_numbers(table, name)
        lacking = [column for column in self.template.columns if column not in table.columns]
        if lacking or len(table.columns) != len(self.template.columns):
            raise EvidenceError(
                name, f"columns {list(map(str, table.columns))[:8]}", f"{list(self.names)[:8]}"
            )
        columns = []
        for column, categories in zip(self.template.columns, self.categories, strict=True):
            series = table[column]
            if categories is None:
                columns.append(series.to_numpy(dtype=np.float64, na_value=np.nan))
                continue
            codes = {value: code for code, value in enumerate(categories)}
            missing = next((code for value, code in codes.items() if value != value), None)
            columns.append(
                np.array([codes.get(value, missing) for value in series], dtype=np.float64)
            )
        return np.stack(columns, axis=1)

    def decode(self, rows: Float[np.ndarray, "rows features"]) -> Any:
        """Return the rows that a model takes, from numbers."""
        if self.template is None:
            return rows
        pd = require("pandas", "frame", "notebook")

        frame = pd.DataFrame(rows, columns=self.template.columns, copy=False)
        for place, (column, own) in enumerate(
            zip(self.template.columns, self.categories, strict=True)
        ):
            if own is not None:
                frame[column] = own.take(rows[:, place].astype(int)).to_numpy()
            if self.template[column].dtype != frame[column].dtype:
                frame[column] = frame[column].astype(self.template[column].dtype)
        return frame


def _to_numbers(table: Any, name: str) -> Float[np.ndarray, "rows features"]:
    try:
        rows = np.array(table, np.float64)
    except (TypeError, ValueError) as error:
        raise EvidenceError(
            name, "columns that are no numbers", "numbers, or a frame",
            "A pandas frame may have columns of words and categories.",
        ) from error  # fmt: skip
    if rows.ndim != 2:
        raise EvidenceError(name, f"shape {rows.shape}", "rows of a table: (rows, features)")
    return rows
