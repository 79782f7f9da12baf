"""The mechanism of evidence: frozen bundles of arrays on named axes, checked when made.

A kind of evidence is a frozen dataclass whose fields say, through ``array(...)``, which axes they
lie on. From that alone follow the checks, cutting into shards and the files on disk.
"""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from theodolite.contracts.axes import NamedAxis, Rows, Samples
from theodolite.errors import EvidenceError

Content = Literal["real", "index", "flag"]
MAX_UNNAMED = 1_000_000  # positions that get stand-in names; more is a mistake, not a class
Bundle = TypeVar("Bundle", bound="Evidence")


@dataclass(frozen=True)
class Layout:
    """How one array of a bundle lies: its axes and what it may hold."""

    axes: tuple[str, ...]
    content: Content
    points_to: str | None = None  # an index: the axis that it points into
    none_is: int | None = None  # an index: the value that means "none"
    may_be_nan: bool = False  # real: NaN means "not there"


def array(
    *axes: str,
    content: Content = "real",
    optional: bool = False,
    points_to: str | None = None,
    none_is: int | None = None,
    may_be_nan: bool = False,
) -> Any:
    """A field of a bundle that holds an array on the named axes.

    A number as an axis name ("2") is a fixed length.
    """
    layout = Layout(axes, content, points_to, none_is, may_be_nan)
    if optional:
        return field(default=None, metadata={"layout": layout})
    return field(metadata={"layout": layout})


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Base of all bundles. Checks are made here, once; whoever receives a bundle trusts it."""

    kind: ClassVar[str]
    version: ClassVar[int]

    samples: Samples = Samples()

    def __post_init__(self) -> None:
        lengths: dict[str, tuple[int, str]] = {}
        self._adopt_inner_axes()
        for name, axis in self._axes():
            if len(axis):
                lengths[name] = (len(axis), f"`{name}`")
        for name, layout in self.layouts():
            if getattr(self, name) is not None:
                checked = _checked_array(name, getattr(self, name), layout, lengths)
                object.__setattr__(self, name, checked)
        self._count_what_is_only_pointed_to(lengths)
        for name, axis in self._axes():
            if not len(axis) and name in lengths:
                object.__setattr__(self, name, type(axis).numbered(lengths[name][0]))
        for name, layout in self.layouts():
            if layout.points_to and getattr(self, name) is not None:
                _check_pointers(name, getattr(self, name), layout, lengths)
        self.check()

    def _adopt_inner_axes(self) -> None:
        for _, inner in self._inner():
            for name, axis in inner._axes():
                if hasattr(self, name):
                    object.__setattr__(self, name, axis)

    def _count_what_is_only_pointed_to(self, lengths: dict[str, tuple[int, str]]) -> None:
        """Labels alone, without names or weights, still say how many classes there are."""
        highest: dict[str, int] = {}
        for name, layout in self.layouts():
            values, axis = getattr(self, name), layout.points_to
            if axis and axis not in lengths and values is not None:
                top = int(values.max(initial=0))
                if top >= MAX_UNNAMED:
                    raise EvidenceError(name, f"{top}", f"numbers of {axis}, counted from 0")
                highest[axis] = max(highest.get(axis, 0), top)
        lengths.update(
            {axis: (top + 1, "the highest number given") for axis, top in highest.items()}
        )

    def check(self) -> None:
        """What must hold between arrays; a kind of evidence adds its own."""

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self: Bundle, rows: Rows) -> Bundle:
        """The same bundle for some of its samples; nothing is checked again."""
        cut = object.__new__(type(self))
        layouts = dict(self.layouts())
        for f in fields(self):
            value = getattr(self, f.name)
            on_samples = f.name in layouts and layouts[f.name].axes[0] == "samples"
            if isinstance(value, Evidence | Samples) or (on_samples and value is not None):
                value = value[rows]
            object.__setattr__(cut, f.name, value)
        return cut

    @classmethod
    def layouts(cls) -> Iterator[tuple[str, Layout]]:
        """The arrays of this kind of bundle."""
        return ((f.name, f.metadata["layout"]) for f in fields(cls) if "layout" in f.metadata)

    def has(self, name: str) -> bool:
        """Whether an array (``inner.name`` for one of an inner bundle) was given."""
        inner, _, rest = name.partition(".")
        value = getattr(self, inner)
        return value.has(rest) if rest else value is not None

    def _axes(self) -> Iterator[tuple[str, NamedAxis | Samples]]:
        return (pair for pair in self._members() if isinstance(pair[1], NamedAxis | Samples))

    def _inner(self) -> Iterator[tuple[str, "Evidence"]]:
        return (pair for pair in self._members() if isinstance(pair[1], Evidence))

    def _members(self) -> Iterator[tuple[str, Any]]:
        names: tuple[Field[Any], ...] = fields(self)
        return ((f.name, getattr(self, f.name)) for f in names)


def _checked_array(
    name: str, given: Any, layout: Layout, lengths: dict[str, tuple[int, str]]
) -> np.ndarray:
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise EvidenceError(name, "rows of unequal length", "a rectangular array") from error
    values = _of_content(name, values, layout)
    if values.ndim != len(layout.axes):
        needed = f"{len(layout.axes)} axes ({', '.join(layout.axes)})"
        raise EvidenceError(name, f"shape {values.shape}", needed)
    for axis, n in zip(layout.axes, values.shape, strict=True):
        expected, source = (
            (int(axis), "a fixed length")
            if axis.isdigit()
            else lengths.setdefault(axis, (n, f"`{name}`"))
        )
        if n != expected:
            raise EvidenceError(
                name,
                f"shape {values.shape} for ({', '.join(layout.axes)})",
                f"{axis} = {expected}, as in {source}",
                "Check that the rows and columns are in the order named.",
            )
    for axis, n in zip(layout.axes, values.shape, strict=True):
        if n == 0:
            raise EvidenceError(name, f"no {axis}", "at least one")
    if layout.content == "real":
        _check_finite(name, values, layout)
    frozen: np.ndarray = values.view()
    frozen.flags.writeable = False
    return frozen


def _of_content(name: str, values: np.ndarray, layout: Layout) -> np.ndarray:
    kind = values.dtype.kind
    if kind == "O":
        raise EvidenceError(
            name, "an array of Python objects", "numbers", "Convert it, e.g. array.astype(float)."
        )
    if layout.content == "real" and kind in "fiub":
        return np.asarray(values, dtype=values.dtype if kind == "f" else np.float64)
    if layout.content == "index" and kind in "iu":
        return np.asarray(values, np.int64)
    if layout.content == "flag" and kind == "b":
        return values
    if layout.content == "flag" and kind in "iuf":
        if np.isin(values, (0, 1)).all():
            return values.astype(bool)
        odd = values[~np.isin(values, (0, 1))][0]
        raise EvidenceError(
            name, f"the value {odd}", "0 and 1 only", "Threshold it first, e.g. array > 0.5."
        )
    needed = {"real": "numbers", "index": "whole numbers", "flag": "true/false or 0/1"}
    raise EvidenceError(name, f"{values.dtype} values", needed[layout.content])


def _check_finite(name: str, values: np.ndarray, layout: Layout) -> None:
    # an array that repeats itself along an axis (one map for all concepts) is looked at once
    once = values[tuple(slice(0, 1) if step == 0 else slice(None) for step in values.strides)]
    wrong = np.isinf(once) if layout.may_be_nan else ~np.isfinite(once)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise EvidenceError(
            name,
            f"{int(wrong.sum())} values that are NaN or infinite, the first at {place}",
            "finite numbers",
            "Leave those samples out, or find out where they come from.",
        )


def _check_pointers(
    name: str, values: np.ndarray, layout: Layout, lengths: dict[str, tuple[int, str]]
) -> None:
    n, source = lengths[str(layout.points_to)]
    low = 0 if layout.none_is is None else layout.none_is
    if values.size and (values.min() < low or values.max() >= n):
        raise EvidenceError(
            name,
            f"values from {values.min()} to {values.max()}",
            f"{low} to {n - 1}, positions in {layout.points_to} (from {source})",
            "Count from 0.",
        )
