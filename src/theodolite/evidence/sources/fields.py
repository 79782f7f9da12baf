"""Map columns of a source to arrays of a kind of evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.base import Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.files import has_all_arrays
from theodolite.evidence.registry import find_kind, markers
from theodolite.evidence.sources.columns import match_columns

ROW_NAMES = ("ids", "clusters")
Fields = Mapping[str, str | int | Sequence[str]]


@dataclass(frozen=True)
class Target:
    """One array of evidence and the columns that it is made from."""

    array: str
    """Name of the array; ``explained.values`` for one of the inner bundle."""
    layout: Layout | None
    """Layout of the array; None for ids and clusters of samples."""
    columns: dict[str, str]
    """Columns, each with its label."""
    several: bool

    @property
    def last_axis(self) -> str | None:
        """Axis along the second dimension."""
        axes = () if self.layout is None else self.layout.axes[1:]
        return axes[0] if axes else None


def choose_kind(kind: str | None, names: Sequence[str]) -> type[Evidence]:
    """Return the named kind, or the one that declares an array among the names."""
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
    return known[next((name for name in there if has_all_arrays(known[name], names)), there[0])]


def list_targets(
    kind: type[Evidence], fields: Fields | None, header: Sequence[str]
) -> list[Target]:
    """Return the arrays that the source has rows for."""
    layouts = list_row_arrays(kind)
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
        columns = match_columns(header, name, text)
        targets.append(Target(name, layouts.get(name), columns, text not in columns))
    lacking = [n for n in _needed(kind) if n not in fields]
    if lacking:
        raise EvidenceError("fields", f"no {lacking[0]!r}", f"the column that holds {lacking[0]!r}",
                            f"`theodolite evidence {kind.kind}` says what it is.")  # fmt: skip
    return targets


def list_row_arrays(kind: type[Evidence]) -> dict[str, Layout]:
    """Return the arrays of a kind and its inner kinds that have a row per sample."""
    arrays = {
        name: layout
        for name, layout in kind.layouts()
        if layout.axes[0] == "samples" and not layout.ragged
    }
    for inner, own in kind.inner_kinds():
        arrays |= {f"{inner}.{name}": layout for name, layout in list_row_arrays(own).items()}
    return arrays


def _needed(kind: type[Evidence]) -> list[str]:
    marker = [kind.marker] if kind.marker in list_row_arrays(kind) and kind.marker else []
    return [*marker, *(f"{n}.{own.marker}" for n, own in kind.inner_kinds() if own.marker)]
