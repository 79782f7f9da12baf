"""Convert everything a caller may pass as evidence into plain arrays and named axes.

Frames are aligned by the names of their rows and columns; words and one-hot rows become class
numbers. Each conversion is reported in a sentence. Ambiguous input is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.checks import Layout
from theodolite.evidence.foreign_arrays import to_labeled_array

Axes = dict[str, NamedAxis | Samples]
_PLAIN = {"real": "fiub", "index": "iu", "flag": "fiub"}
_NAMES_SHOWN = 8
_LARGEST_EXACT = 2.0**53


@dataclass(frozen=True)
class NormalizedInputs:
    """Plain arrays and axis names that differ from what was passed."""

    arrays: Mapping[str, np.ndarray]
    axes: Mapping[str, NamedAxis | Samples]
    conversions: tuple[str, ...]


@dataclass(eq=False)
class _Input:
    """One input array during conversion."""

    name: str
    layout: Layout
    values: np.ndarray
    axes: tuple[str, ...]
    labels: list[Any]
    """Labels along the first two axes, where known."""
    conversions: list[str] = field(default_factory=list)

    @property
    def one_hot(self) -> bool:
        return len(self.axes) > len(self.layout.axes)

    @property
    def has_words(self) -> bool:
        kind = self.values.dtype.kind
        return self.layout.content == "index" and (
            kind == "U"
            or (kind == "O" and all(w is None or isinstance(w, str) for w in self.values.flat))
        )


def normalize(
    arrays: Mapping[str, Any],
    layouts: Sequence[tuple[str, Layout]],
    axes: Mapping[str, NamedAxis | Samples],
) -> NormalizedInputs | None:
    """Return the plain arrays of a bundle, or None if they are plain already.

    ``axes`` are those that were named by the caller, empty ones among them: their names win over
    names of columns. Nothing that is passed is changed.
    """
    present = [(name, layout) for name, layout in layouts if arrays[name] is not None]
    if all(_is_plain(arrays[name], layout) for name, layout in present):
        return None
    inputs = [_read(name, arrays[name], layout) for name, layout in present]
    named: Axes = {}
    for axis_name, axis in axes.items():
        if isinstance(axis, NamedAxis):
            named[axis_name] = _name_words(inputs, axis_name, _align(inputs, axis_name, axis))
        else:
            named[axis_name] = _name_rows(inputs, axis)
    lines = [line for item in inputs for line in _sentences(item)]
    changed = {n: axis for n, axis in named.items() if axis is not axes[n]}
    return NormalizedInputs({item.name: item.values for item in inputs}, changed, tuple(lines))


def _is_plain(value: Any, layout: Layout) -> bool:
    return (
        type(value) is np.ndarray
        and value.dtype.kind in _PLAIN[layout.content]
        and value.ndim == len(layout.axes)
    )


def _sentences(item: _Input) -> list[str]:
    return [f"{item.name}: {'; '.join(item.conversions)}."] if item.conversions else []


def _read(name: str, value: Any, layout: Layout) -> _Input:
    array = to_labeled_array(value, name)
    values, labels, axes = array.values, [array.rows, array.columns], layout.axes
    if array.columns is not None and len(array.columns) == 1 == len(axes):
        values, labels = values[:, 0], [array.rows, None]
    item = _Input(name, layout, values, axes, labels, list(array.conversions))
    if layout.content == "index":
        _whole(item)
        if layout.points_to is not None and _is_one_hot(item):
            item.axes = (*axes, layout.points_to)
    return item


def _whole(item: _Input) -> None:
    """Convert floats that hold whole numbers; NaN becomes the layout's "none" number."""
    values, none_is = item.values, item.layout.none_is
    if values.dtype.kind != "f" or values.ndim != len(item.layout.axes):
        return
    empty = np.isnan(values)
    filled = np.where(empty, 0.0 if none_is is None else none_is, values)
    if (np.abs(filled) > _LARGEST_EXACT).any() or (filled != np.round(filled)).any():
        return
    if empty.any() and none_is is None:
        raise _empty(item, empty)
    item.conversions = [text for text in item.conversions if not text.endswith("read as NaN")]
    item.conversions.append("floats that are all whole read as whole numbers")
    if empty.any():
        item.conversions.append(f"{int(empty.sum()):,} empty read as none")
    item.values = filled.astype(np.int64)


def _empty(item: _Input, empty: np.ndarray) -> EvidenceError:
    row = int(np.argwhere(empty)[0][0])
    return EvidenceError(
        item.name, f"nothing in row {row} ({int(empty.sum()):,} empty in all)", "a value for each",
        "Leave those samples out." if item.layout.axes[0] == "samples" else "",
    )  # fmt: skip


def _is_one_hot(item: _Input) -> bool:
    """Return whether rows are one-hot; raise if a row has several ones or none."""
    values, layout = item.values, item.layout
    if len(layout.axes) != 1 or values.ndim != 2 or values.shape[1] < 2 or not len(values):
        return False
    if values.dtype.kind not in "fiub" or not np.isin(values, (0, 1)).all():
        return False
    ones = (values != 0).sum(axis=1)
    wrong = ones > 1 if layout.none_is is not None else ones != 1
    if wrong.any():
        row = int(wrong.argmax())
        raise EvidenceError(
            item.name, f"{int(ones[row]) or 'no'} ones in row {row}",
            f"one 1 in each row, in the column of its {layout.points_to}",
        )  # fmt: skip
    return True


def _align(inputs: Sequence[_Input], axis_name: str, axis: NamedAxis) -> NamedAxis:
    """Reorder all labeled arrays along an axis to one order, and return the named axis."""
    places = [
        (item, at)
        for item in inputs
        for at, name in enumerate(item.axes[:2])
        if name == axis_name and item.labels[at] is not None and item.values.ndim == len(item.axes)
    ]
    if all(_are_positions(item.labels[at]) for item, at in places):
        places = []
    if places:
        names = [tuple(str(label) for label in item.labels[at]) for item, at in places]
        first = places[0][0]
        for (item, at), labels in zip(places, names, strict=True):
            _check_same(item, at, labels, first.name, names[0])
        order, axis = _order(first, axis_name, names[0], axis)
        for (item, at), labels in zip(places, names, strict=True):
            _reorder(item, at, [labels.index(name) for name in order], axis_name)
    for item in inputs:
        if item.one_hot and item.layout.points_to == axis_name:
            axis = _numbers_of_columns(item, axis)
    return axis


def _are_positions(labels: Any) -> bool:
    return all(
        isinstance(label, int | np.integer) and int(label) == i for i, label in enumerate(labels)
    )


def _check_same(
    item: _Input, at: int, labels: tuple[str, ...], first: str, names: tuple[str, ...]
) -> None:
    what = ("rows", "columns")[at]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise EvidenceError(item.name, f"{what} {twice!r} twice", "distinct names")
    if set(labels) == set(names):
        return
    own = [name for name in labels if name not in set(names)]
    alone, place = (own, item.name) if own else ([n for n in names if n not in labels], first)
    raise EvidenceError(
        item.name, f"{what} {_listed(labels)}", f"the names in `{first}`: {_listed(names)}",
        f"Rename or leave out what is only in `{place}`: {_listed(alone)}.",
    )  # fmt: skip


def _order(
    first: _Input, axis_name: str, names: tuple[str, ...], axis: NamedAxis
) -> tuple[tuple[str, ...], NamedAxis]:
    """Return the target order: that of the axis if it has these names."""
    if not len(axis):
        first.conversions.append(f"names read as {axis_name} {_listed(names)}")
        return names, type(axis)(names)
    if set(axis.names) == set(names):
        return axis.names, axis
    if set(axis.names) & set(names) or len(axis) != len(names):
        raise EvidenceError(
            first.name, f"names {_listed(names)}", f"those of `{axis_name}`: {_listed(axis.names)}",
            "Rename them, or pass a plain array.",
        )  # fmt: skip
    first.conversions.append(
        f"{_listed(names)} are, in this order, the {axis_name} {_listed(axis.names)}"
    )
    return names, axis


def _reorder(item: _Input, at: int, order: list[int], axis_name: str) -> None:
    if order != list(range(len(order))):
        item.values = np.take(item.values, order, axis=at)
        item.conversions.append(f"put into the order of {axis_name} by name")


def _numbers_of_columns(item: _Input, axis: NamedAxis) -> NamedAxis:
    n = item.values.shape[1]
    axis = axis if len(axis) else type(axis).numbered(n)
    if len(axis) != n:
        raise EvidenceError(
            item.name, f"{n} columns", f"{len(axis)}, one for each of the {item.layout.points_to}"
        )
    ones = item.values != 0
    item.values = np.where(ones.any(axis=1), ones.argmax(axis=1), item.layout.none_is or 0)
    item.conversions.append(f"one-hot rows read as numbers of {item.layout.points_to}")
    return axis


def _name_words(inputs: Sequence[_Input], axis_name: str, axis: NamedAxis) -> NamedAxis:
    """Replace words with positions in an axis; without names, use all words sorted."""
    pointers = [item for item in inputs if item.layout.points_to == axis_name]
    of_words = [item for item in pointers if item.has_words and item.values.ndim == 1]
    if not of_words:
        return axis
    for item in of_words:
        empty = np.array([word is None for word in item.values], bool)
        if empty.any() and item.layout.none_is is None:
            raise _empty(item, empty)
    if not len(axis):
        axis = type(axis)(_sorted_words(of_words, pointers, axis_name))
    for item in of_words:
        _number_words(item, axis, axis_name)
    return axis


def _sorted_words(
    of_words: Sequence[_Input], pointers: Sequence[_Input], axis_name: str
) -> tuple[str, ...]:
    numbers = [item.name for item in pointers if not item.has_words]
    if numbers:
        raise EvidenceError(
            of_words[0].name, f"words, but numbers in `{numbers[0]}`", "both alike",
            f"Pass `{axis_name}`, the names in the order of the numbers.",
        )  # fmt: skip
    words = {str(word) for item in of_words for word in item.values.tolist() if word is not None}
    if all(word.strip().lstrip("-").isdecimal() for word in words):
        raise EvidenceError(
            of_words[0].name, f"numbers written as words: {_listed(sorted(words))}", "numbers",
            f"Pass {of_words[0].name}.astype(int), or `{axis_name}` with these names in order.",
        )  # fmt: skip
    return tuple(sorted(words))


def _number_words(item: _Input, axis: NamedAxis, axis_name: str) -> None:
    numbers: dict[Any, int | None] = {name: i for i, name in enumerate(axis.names)}
    words = [None if word is None else str(word) for word in item.values.tolist()]
    unknown = next((i for i, w in enumerate(words) if w is not None and w not in numbers), None)
    if unknown is not None:
        word = str(words[unknown])
        raise EvidenceError(
            item.name, f"the word {word!r} in row {unknown}", f"{axis_name}: {_listed(axis.names)}",
            did_you_mean(word, axis.names),
        )  # fmt: skip
    numbers[None] = item.layout.none_is
    item.values = np.array([numbers[word] for word in words], np.int64)
    n = len({word for word in words if word is not None})
    item.conversions.append(
        f"{n} word{'s' if n > 1 else ''} read as {axis_name} {_listed(axis.names)}"
    )


def _name_rows(inputs: Sequence[_Input], samples: Samples) -> Samples:
    """Use row names as sample ids if no others were given."""
    named = [
        (item, item.labels[0])
        for item in inputs
        if item.axes[0] == "samples" and item.labels[0] is not None
    ]
    if not named:
        return samples
    first, labels = named[0]
    if samples.ids is not None:
        _check_rows(first.name, labels, "ids", samples.ids)
    for item, other in named[1:]:
        _check_rows(item.name, other, first.name, labels)
    words = [str(label) for label in labels if isinstance(label, str)]
    if samples.ids is not None or len(words) < len(labels):
        return samples
    if len(set(words)) < len(words):
        first.conversions.append("names of rows not taken as ids, for some are there twice")
        return samples
    first.conversions.append("names of rows read as ids")
    return Samples(index=samples.index, ids=np.array(words, str), clusters=samples.clusters)


def _check_rows(name: str, labels: np.ndarray, first: str, others: np.ndarray) -> None:
    if len(labels) != len(others) or np.array_equal(labels, others):
        return
    own, other = set(labels.tolist()), set(others.tolist())
    of_words = all(isinstance(label, str) for label in own | other) and first != "ids"
    if own == other or of_words:
        what = "the same rows in another order" if own == other else "other names of rows"
        raise EvidenceError(
            name, f"{what} than in `{first}`", "the same rows, in one order",
            f"Pass {name}.loc[{first if first == 'ids' else f'{first}.index'}], or plain arrays.",
        )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
