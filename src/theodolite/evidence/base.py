"""Base class of all evidence: frozen bundles of arrays on named axes, checked when created.

A kind of evidence is a frozen dataclass whose fields declare their axes through ``array(...)``.
Checks, sharding and files follow from that. Declaring a ``kind`` registers the class."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Rows, Samples
from theodolite.evidence.checks import (
    RAGGED,
    Content,
    Layout,
    Lengths,
    check_pointers,
    validate_field,
)
from theodolite.evidence.normalize import normalize
from theodolite.evidence.ragged import Ragged, RowJoiner, RowSelector, share_starts
from theodolite.evidence.registry import register
from theodolite.questions import Question

MAX_UNNAMED = 1_000_000  # positions that get stand-in names; more is a mistake, not a class
Bundle = TypeVar("Bundle", bound="Evidence")


def array(
    *axes: str,
    content: Content = "real",
    optional: bool = False,
    points_to: str | None = None,
    none_is: int | None = None,
    may_be_nan: bool = False,
) -> Any:
    """Declare a field that holds an array on the named axes.

    A number as an axis name ("2") is a fixed length.
    """
    layout = Layout(axes, content, points_to, none_is, may_be_nan)
    if optional:
        return field(default=None, metadata={"layout": layout})
    return field(metadata={"layout": layout})


def ragged(*axes: str, depth: int = 1, **more: Any) -> Any:
    """Declare a field whose rows have unequal lengths along the axis after ``samples``.

    ``depth=2``: and the rows inside these too, along the axis after that. Values are ``Ragged``.
    """
    marked = [RAGGED + axis if 1 <= i <= depth else axis for i, axis in enumerate(axes)]
    return array(*marked, **more)


def inner(kind: type["Evidence"]) -> Any:
    """Declare a field that holds another bundle about the same samples."""
    return field(metadata={"inner": kind})


def flatten_entries(values: Any) -> np.ndarray:
    """Return all values of a field; ragged rows are concatenated."""
    return values.flat if isinstance(values, Ragged) else np.asarray(values)


def find_bundle(kind: type[Bundle], bundles: Iterable["Evidence"]) -> Bundle | None:
    """Return the first bundle of a kind, or None."""
    return next((bundle for bundle in bundles if isinstance(bundle, kind)), None)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Evidence:
    """Base class of all kinds of evidence: arrays that are validated once, when created."""

    kind: ClassVar[str]
    version: ClassVar[int]
    marker: ClassVar[str | None] = None
    """Name of the array that identifies this kind among plain arrays; None if there is none."""
    ways: ClassVar[Mapping[Question, str]] = MappingProxyType({})
    """Questions that this kind can answer, each with the arrays that it needs, in words."""
    samples_are: ClassVar[str] = "samples"
    """What a row is; bundles with different kinds of rows are never compared."""
    # read from the declaration once: bundles are made by the thousand while scoring
    _declared: ClassVar[tuple[Field[Any], ...]]
    _layouts: ClassVar[tuple[tuple[str, Layout], ...]]
    _is_shard: ClassVar[bool] = False

    conversions: ClassVar[tuple[str, ...]] = ()
    """Conversions applied to the given arrays, one sentence each."""

    samples: Samples = Samples()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in vars(cls):
            register(cls)

    def __post_init__(self) -> None:
        lengths: Lengths = {}
        self._name_axes()
        self._adopt_inner_axes()
        self._normalize()
        for name, axis in self._axes():
            if len(axis):
                lengths[name] = (len(axis), f"`{name}`")
        for name, layout in self.layouts():
            if getattr(self, name) is not None:
                checked = validate_field(name, getattr(self, name), layout, lengths)
                object.__setattr__(self, name, checked)
        self._share_starts()
        self._count_what_is_only_pointed_to(lengths)
        for name, axis in self._axes():
            if not len(axis) and name in lengths:
                object.__setattr__(self, name, type(axis).numbered(lengths[name][0]))
        for name, layout in self.layouts():
            if layout.points_to and getattr(self, name) is not None:
                check_pointers(name, flatten_entries(getattr(self, name)), layout, lengths)
        self.check()

    def _name_axes(self) -> None:
        for f in self._fields():
            value = getattr(self, f.name)
            if isinstance(f.default, NamedAxis) and not isinstance(value, type(f.default)):
                names = (value,) if isinstance(value, str) else value
                axis = type(f.default)
                if isinstance(value, int):  # a number of items without names
                    object.__setattr__(self, f.name, axis.numbered(value))
                else:
                    object.__setattr__(self, f.name, axis(tuple(names)))
            if f.name == "samples" and not isinstance(value, Samples):
                raise EvidenceError(f.name, type(value).__name__, "Samples(ids=..., clusters=...)")

    def _adopt_inner_axes(self) -> None:
        for f in self._fields():
            kind, value = f.metadata.get("inner"), getattr(self, f.name)
            if kind is None:
                continue
            if not isinstance(value, kind):
                raise EvidenceError(f.name, type(value).__name__, f"a {kind.__name__}")
            for name, axis in value._axes():
                own = getattr(self, name, None)
                if isinstance(own, NamedAxis) and len(own) and own != axis:
                    raise EvidenceError(
                        name, f"other names than in `{f.name}`", "the same", "Give them only there."
                    )
                if own is not None:
                    object.__setattr__(self, name, axis)

    def _normalize(self) -> None:
        """Convert tensors, frames and words to plain arrays and names."""
        members = dict(self._members())
        axes = {n: a for n, a in members.items() if isinstance(a, NamedAxis | Samples)}
        if any(self.inner_kinds()):  # the samples are those of the bundle inside
            del axes["samples"]
        rectangular = [(name, layout) for name, layout in self.layouts() if not layout.ragged]
        normalized = normalize(members, rectangular, axes)
        if normalized is not None:
            for name, value in (*normalized.arrays.items(), *normalized.axes.items()):
                object.__setattr__(self, name, value)
            object.__setattr__(self, "conversions", normalized.conversions)

    def _share_starts(self) -> None:
        """Require equal starts of fields on one ragged axis, and share them."""
        fields = self.ragged_fields()
        for name, shared in share_starts(fields).items():
            object.__setattr__(self, name, shared)
        outer = {axes[0]: int(values.starts[-1]) for _, axes, values in fields}
        empty = [axis for axis, n in outer.items() if not n]
        if empty and not self._is_shard:
            raise EvidenceError(empty[0], f"no {empty[0]} in any row", "at least one")

    def ragged_fields(self) -> list[tuple[str, tuple[str, ...], Ragged]]:
        """Return each ragged array with its field name and ragged axes."""
        return [
            (name, layout.ragged, getattr(self, name))
            for name, layout in self.layouts()
            if layout.ragged and getattr(self, name) is not None
        ]

    @classmethod
    def make_shard(cls: type[Bundle], members: Mapping[str, Any]) -> Bundle:
        """Build a shard of a larger bundle; unlike a whole bundle it may be empty."""
        bundle = object.__new__(cls)
        object.__setattr__(bundle, "_is_shard", True)
        bundle.__init__(**members)  # type: ignore[misc]
        return bundle

    def _count_what_is_only_pointed_to(self, lengths: Lengths) -> None:
        """Infer the length of an axis from indices when no names or weights give it."""
        highest: dict[str, int] = {}
        for name, layout in self.layouts():
            values, axis = getattr(self, name), layout.points_to
            if axis and axis not in lengths and values is not None:
                top = int(flatten_entries(values).max(initial=0))
                if top >= MAX_UNNAMED:
                    raise EvidenceError(name, f"{top}", f"numbers of {axis}, counted from 0")
                highest[axis] = max(highest.get(axis, 0), top)
        lengths.update(
            {axis: (top + 1, "the highest number given") for axis, top in highest.items()}
        )

    def check(self) -> None:
        """Check conditions between arrays; each kind adds its own."""

    def warnings(self) -> list[str]:
        """Return warnings about the values that no shape check can find."""
        return []

    def rankable(self) -> int:
        """Return the number of concepts that an explanation can rank."""
        return len(getattr(self, "concepts", ()))

    @classmethod
    def from_plain(cls: type[Bundle], arrays: Mapping[str, Any]) -> Bundle:
        """Build a bundle from plain arrays; kinds override it to accept other layouts."""
        return cls(**arrays)

    def __len__(self) -> int:
        return len(self.samples)

    def __repr__(self) -> str:
        sizes = [f"{len(axis)} {name}" for name, axis in self._axes() if len(axis)]
        names = [name for name, _ in self.layouts() if self.has(name)]
        return f"<{type(self).__name__}: {', '.join(sizes)}; {', '.join(names)}>"

    def __getitem__(self: Bundle, rows: Rows) -> Bundle:
        """Return the bundle for some samples, without checking again."""
        cut = object.__new__(type(self))
        layouts = dict(self.layouts())
        taking = RowSelector(rows)
        for f in self._fields():
            value = getattr(self, f.name)
            on_samples = f.name in layouts and layouts[f.name].axes[0] == "samples"
            if isinstance(value, Ragged):
                value = taking(value)
            elif isinstance(value, Evidence | Samples) or (on_samples and value is not None):
                value = value[rows]
            object.__setattr__(cut, f.name, value)
        return cut

    @classmethod
    def joined(cls: type[Bundle], parts: Sequence[Bundle]) -> Bundle:
        """Concatenate shards of one bundle, without checking again."""
        whole = object.__new__(type(parts[0]))
        layouts = dict(parts[0].layouts())
        joining = RowJoiner()
        for f in parts[0]._fields():
            values = [getattr(part, f.name) for part in parts]
            value = values[0]
            if isinstance(value, Evidence | Samples):
                value = type(value).joined(values)
            elif isinstance(value, Ragged):
                value = joining(values)
            elif value is not None and f.name in layouts and layouts[f.name].axes[0] == "samples":
                value = np.concatenate(values)
                value.flags.writeable = False
            object.__setattr__(whole, f.name, value)
        return whole

    @classmethod
    def layouts(cls) -> tuple[tuple[str, Layout], ...]:
        """Return the name and layout of each array."""
        if "_layouts" not in vars(cls):
            own = ((f.name, f.metadata.get("layout")) for f in cls._fields())
            cls._layouts = tuple((name, layout) for name, layout in own if layout is not None)
        return cls._layouts

    @classmethod
    def _fields(cls) -> tuple[Field[Any], ...]:
        if "_declared" not in vars(cls):
            cls._declared = fields(cls)
        return cls._declared

    @classmethod
    def axes(cls) -> dict[str, type[NamedAxis]]:
        """Return the named axes by field name."""
        defaults = ((f.name, f.default) for f in cls._fields())
        return {name: type(axis) for name, axis in defaults if isinstance(axis, NamedAxis)}

    @classmethod
    def inner_kinds(cls) -> Iterator[tuple[str, type["Evidence"]]]:
        """Yield the inner bundles by field name."""
        return ((f.name, f.metadata["inner"]) for f in cls._fields() if "inner" in f.metadata)

    def save(self, folder: Path | str) -> None:
        """Write the bundle to a new folder that ``theodolite.load`` reads."""
        from theodolite.evidence.files import save  # noqa: PLC0415  that knows all kinds

        save(self, folder)

    def has(self, name: str) -> bool:
        """Return whether an array was given; ``inner.name`` names one of an inner bundle."""
        inner, _, rest = name.partition(".")
        value = getattr(self, inner)
        return value.has(rest) if rest else value is not None

    def _axes(self) -> Iterator[tuple[str, NamedAxis | Samples]]:
        return (pair for pair in self._members() if isinstance(pair[1], NamedAxis | Samples))

    def _inner(self) -> Iterator[tuple[str, "Evidence"]]:
        return (pair for pair in self._members() if isinstance(pair[1], Evidence))

    def _members(self) -> Iterator[tuple[str, Any]]:
        return ((f.name, getattr(self, f.name)) for f in self._fields())
