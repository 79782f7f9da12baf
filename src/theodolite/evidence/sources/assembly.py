"""Assemble evidence from blocks of rows, with the same names, nulls and classes in every block.
Used by :mod:`.store_rows`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.sources.columns import Block, Column, RowSource, stack_columns
from theodolite.evidence.sources.fields import Target

MAX_CLUSTERS = 10_000_000
READ_TWICE = "Name them, or pass something that can be read twice (a table, a file)."


@dataclass(eq=False)
class Assembly:
    """Targets, axes and shared arrays of a source, and the evidence built from its blocks."""

    kind: type[Evidence]
    targets: Sequence[Target]
    source: RowSource
    axes: dict[str, NamedAxis]
    """Names along each axis: from the caller, the columns or a scan of the rows."""
    shared: Mapping[str, Any]
    """Arrays without a row per sample."""
    unknown: set[str] = field(default_factory=set)
    """Boolean arrays with nulls; they get a ``known`` array."""
    clusters: dict[str, int] = field(default_factory=dict)
    row: int = 0

    def __post_init__(self) -> None:
        axes = self.kind.axes()
        for target in self.targets:
            axis = target.last_axis
            if target.several and axis in axes and not len(self.axes.get(axis, ())):
                self.axes[axis] = axes[axis](tuple(target.columns.values()))

    @property
    def columns(self) -> list[str]:
        return [column for target in self.targets for column in target.columns]

    def evidence(self) -> Iterator[Evidence]:
        """Yield all rows as evidence, one block at a time."""
        blocks = self._looked_through()
        for block in blocks:
            rows = len(next(iter(block.values())))
            if not rows:
                continue
            arrays = {t.array: self._array(t, self._column(t, block)) for t in self.targets}
            self._add_known(arrays, block)
            try:
                yield self._bundle(self.kind, arrays, "")
            except EvidenceError as error:
                what = f"rows {self.row:,} to {self.row + rows - 1:,} of {self.source.name}"
                raise type(error)(
                    f"{what}: {error.what}", error.got, error.expected, error.hint
                ) from error
            self.row += rows

    def _looked_through(self) -> Iterator[Block]:
        """Yield the blocks, after a scan of the columns whose names are needed."""
        looked = [t for t in self.targets if self._lacks_names(t) or self._may_lack(t)]
        if self.source.again and looked:
            columns = list(dict.fromkeys(c for t in looked for c in t.columns))
            self._learn(self.source.checked_blocks(columns))
        for number, block in enumerate(self.source.checked_blocks(self.columns)):
            if not number and not self.source.again:
                self._learn([block])
            yield block

    def _learn(self, blocks: Any) -> None:
        """Collect class names or counts, and which boolean columns have nulls."""
        words: dict[str, set[str]] = {}
        highest: dict[str, int] = {}
        for block in blocks:
            for target in self.targets:
                if not set(target.columns) <= block.keys():
                    continue
                column = self._column(target, block)
                if self._may_lack(target) and _empty(column).any():
                    self.unknown.add(target.array)
                axis = _axis(target)
                if axis is not None and not len(self.axes.get(axis, ())):
                    self._count(axis, column, words, highest)
        for axis, texts in words.items():
            self.axes.setdefault(axis, self._axis_kind(axis)(tuple(sorted(texts))))
        for axis, top in highest.items():
            if top < 1_000_000:
                self.axes.setdefault(axis, self._axis_kind(axis).numbered(top + 1))

    def _count(
        self, axis: str, column: Column, words: dict[str, set[str]], highest: dict[str, int]
    ) -> None:
        if column.names is not None:
            self.axes[axis] = self._axis_kind(axis)(column.names)
        elif column.words is not None:
            words.setdefault(axis, set()).update(column.words)
        elif column.values.size and not _empty(column).all():
            highest[axis] = max(highest.get(axis, 0), int(np.nanmax(column.values)))

    def _axis_kind(self, axis: str) -> type[NamedAxis]:
        every = dict(self.kind.axes())
        for _, own in self.kind.inner_kinds():
            every = own.axes() | every
        return every[axis]

    def _lacks_names(self, target: Target) -> bool:
        axis = _axis(target)
        return axis is not None and not len(self.axes.get(axis, ()))

    def _may_lack(self, target: Target) -> bool:
        """Return whether another array can mark unknown values of this one."""
        known = _known_of(target.array)
        names = {t.array for t in self.targets}
        return target.array.rpartition(".")[2] == "truth" and known not in names

    def _column(self, target: Target, block: Block) -> Column:
        column = self._stacked(target, block)
        if column.values.dtype.kind == "f" and (target.layout is None or _axis(target)):
            self._refuse(target, np.isinf(column.values), "an infinite number")
        return column

    def _stacked(self, target: Target, block: Block) -> Column:
        if not target.several:
            (name,) = target.columns
            return block[name]
        labels = target.columns
        axis = target.last_axis
        order = list(labels)
        names = self.axes[axis].names if axis in self.axes else ()
        if set(names) == set(labels.values()):
            column_of = {label: column for column, label in labels.items()}
            order = [column_of[name] for name in names]
        elif names and len(names) != len(labels):
            raise EvidenceError(f"columns of {target.array}", f"{len(labels)} columns",
                                f"{len(names)}, one for each of the {axis}")  # fmt: skip
        chosen = tuple(labels[column] for column in order)
        return stack_columns([block[c] for c in order], chosen, target.array)

    def _array(self, target: Target, column: Column) -> Any:
        """Convert a column to the target array; raise with the row of a missing value."""
        axis = target.last_axis
        if column.names and axis in self.kind.axes() and not target.several:
            self.axes.setdefault(str(axis), self.kind.axes()[str(axis)](column.names))
        empty = _empty(column)
        layout = target.layout
        if layout is None:
            return self._row_names(target, column, empty)
        if layout.content == "real":
            values = _readable(column)
            if column.nulls is not None and layout.may_be_nan:
                return np.where(column.nulls, np.nan, values)
            wrong = np.zeros(values.shape, bool) if column.nulls is None else column.nulls
            if not layout.may_be_nan and values.dtype.kind == "f":
                wrong = wrong | ~np.isfinite(values)
            self._refuse(target, wrong, "no finite number")
            return values
        if layout.content == "index":
            return self._index(target, column, empty)
        if target.array not in self.unknown:
            self._refuse(target, empty, "nothing", "" if not self._may_lack(target) else READ_TWICE)
        return np.where(empty, 0, _readable(column)) if empty.any() else _readable(column)

    def _row_names(self, target: Target, column: Column, empty: np.ndarray) -> np.ndarray:
        self._refuse(target, empty, "nothing")
        words = column.words
        if target.array == "ids":
            if words is None:
                return column.values.astype(str)
            return np.asarray(np.array(words, str)[column.values])
        if words is None:
            return column.values
        for place in np.sort(np.unique(column.values, return_index=True)[1]):  # as rows come
            self.clusters.setdefault(words[column.values[place]], len(self.clusters))
        numbers = [self.clusters.get(word, 0) for word in words]
        if len(self.clusters) > MAX_CLUSTERS:
            raise EvidenceError("clusters", f"more than {MAX_CLUSTERS:,} names", "numbers")
        return np.asarray(np.array(numbers, np.int64)[column.values])

    def _index(self, target: Target, column: Column, empty: np.ndarray) -> np.ndarray:
        layout = target.layout
        assert layout is not None  # noqa: S101  names of rows do not come here
        if layout.none_is is None:
            self._refuse(target, empty, "nothing")
        values = column.values
        axis = layout.points_to
        if column.words is not None and axis is not None:
            numbers = {name: i for i, name in enumerate(self.axes[axis].names)}
            places = np.array([numbers.get(word, -1) for word in column.words], np.int64)
            values = places[values]
            self._refuse(target, (values < 0) & ~empty, "a word that was not among the names",
                         READ_TWICE)  # fmt: skip
        elif values.dtype.kind == "f":
            whole = np.where(empty, 0, values)
            self._refuse(target, whole != np.round(whole), "no whole number")
            values = whole.astype(np.int64)
        if axis is not None and axis in self.axes and column.words is None:
            high = (values >= len(self.axes[axis])) & ~empty
            self._refuse(target, high, f"a number above the {len(self.axes[axis])} {axis}",
                         READ_TWICE)  # fmt: skip
        return np.where(empty, layout.none_is or 0, values) if empty.any() else values

    def _refuse(self, target: Target, wrong: np.ndarray, problem: str, do: str = "") -> None:
        if wrong.any():
            row = self.row + int(np.argwhere(wrong)[0][0])
            rest = int(wrong.sum()) - 1
            more = f" and {rest:,} more like it" if rest else ""
            raise EvidenceError(
                f"{target.array} of {self.source.name}", f"{problem} in row {row:,}{more}",
                "a value for each", do or "Leave those rows out. Rows are counted from 0.",
            )  # fmt: skip

    def _add_known(self, arrays: dict[str, Any], block: Block) -> None:
        for target in self.targets:
            if target.array in self.unknown:
                arrays[_known_of(target.array)] = ~_empty(self._column(target, block))

    def _bundle(self, kind: type[Evidence], arrays: Mapping[str, Any], inside: str) -> Evidence:
        own = {n.removeprefix(inside): a for n, a in arrays.items() if n.startswith(inside)}
        rows = {name: arrays[name] for name in ("ids", "clusters") if name in arrays}
        members = {n: a for n, a in own.items() if "." not in n and n not in rows}
        members |= {n: a for n, a in self.shared.items() if n in dict(kind.layouts())}
        members |= {n: a for n, a in self.axes.items() if n in kind.axes()}
        inner = list(kind.inner_kinds())
        for name, inner_kind in inner:
            members[name] = self._bundle(inner_kind, arrays, f"{inside}{name}.")
        if not inner:
            members["samples"] = Samples(**rows)
        try:
            return kind.from_plain(members)
        except TypeError as error:
            raise EvidenceError(f"{kind.kind} evidence", f"{error}", "all its arrays") from error


def _known_of(array: str) -> str:
    return f"{array.rpartition('truth')[0]}known"


def _axis(target: Target) -> str | None:
    return None if target.layout is None else target.layout.points_to


def _readable(column: Column) -> np.ndarray:
    if column.words is not None:
        raise EvidenceError("a column", "words", "numbers")
    return column.values


def _empty(column: Column) -> np.ndarray:
    """Return where values are missing: null or NaN."""
    empty = np.zeros(column.values.shape, bool) if column.nulls is None else column.nulls
    if column.words is None and column.values.dtype.kind == "f":
        empty = empty | np.isnan(column.values)
    return empty
