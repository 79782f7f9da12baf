"""Which columns of a source make up which arrays of a kind of evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.base import Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.files import knows_all
from theodolite.evidence.registry import find_kind, markers
from theodolite.evidence.sources.columns import matching_columns

ROW_NAMES = ("ids", "clusters")
Fields = Mapping[str, str | int | Sequence[str]]


@dataclass(frozen=True)
class Target:
    """One array of evidence, and the columns that it is made from."""

    array: str
    """Its name; ``explained.values`` for one of the bundle inside."""
    layout: Layout | None
    """Nothing for names and clusters of the samples."""
    columns: dict[str, str]
    """Columns, each with what it is called by the other arrays."""
    several: bool

    @property
    def last_axis(self) -> str | None:
        """The axis along its second dimension."""
        axes = () if self.layout is None else self.layout.axes[1:]
        return axes[0] if axes else None


def kind_of(kind: str | None, names: Sequence[str]) -> type[Evidence]:
    """The kind that was named, or the one that an array among the names belongs to."""
    if kind is not None:
        return find_kind(kind)
    known = markers()
    there = [name for name in known if name in names]
    if not there:
        raise EvidenceError(
            "fields", f"{', '.join(map(repr, names)) or 'none'}",
            f"one of {', '.join(map(repr, known))}, by which a kind of evidence is known",
            "Say which columns are what, fields={'values': 'logits'}, or kind='concept'.",
        )  # fmt: skip
    return known[next((name for name in there if knows_all(known[name], names)), there[0])]


def targets_of(kind: type[Evidence], fields: Fields | None, header: Sequence[str]) -> list[Target]:
    """The arrays that a source has rows for."""
    layouts = row_arrays(kind)
    if fields is None:
        fields = {name: name for name in (*layouts, *ROW_NAMES) if name in header}
    targets = []
    for name, pattern in fields.items():
        if name not in layouts and name not in ROW_NAMES:
            raise EvidenceError(
                "fields", repr(name), f"some of {', '.join((*layouts, *ROW_NAMES))}",
                did_you_mean(name, (*layouts, *ROW_NAMES))
                or "An array without a row per sample is passed by its name.",
            )  # fmt: skip
        text = pattern if isinstance(pattern, str) else str(pattern)
        if isinstance(pattern, list | tuple):
            text = ",".join(map(str, pattern))
        columns = matching_columns(header, name, text)
        targets.append(Target(name, layouts.get(name), columns, text not in columns))
    lacking = [n for n in _needed(kind) if n not in fields]
    if lacking:
        raise EvidenceError("fields", f"no {lacking[0]!r}", f"the column that holds {lacking[0]!r}",
                            f"`theodolite evidence {kind.kind}` says what it is.")  # fmt: skip
    return targets


def row_arrays(kind: type[Evidence]) -> dict[str, Layout]:
    """The arrays of a kind, and of the kinds inside it, that have a row per sample."""
    arrays = {
        name: layout
        for name, layout in kind.layouts()
        if layout.axes[0] == "samples" and not layout.ragged
    }
    for inner, own in kind.inner_kinds():
        arrays |= {f"{inner}.{name}": layout for name, layout in row_arrays(own).items()}
    return arrays


def _needed(kind: type[Evidence]) -> list[str]:
    marker = [kind.marker] if kind.marker in row_arrays(kind) and kind.marker else []
    return [*marker, *(f"{n}.{own.marker}" for n, own in kind.inner_kinds() if own.marker)]
