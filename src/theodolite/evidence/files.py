"""Read and write evidence as a folder with ``header.json`` and one ``.npy`` file per array."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.arrays import (
    list_npz_members,
    read_npy,
    read_npz,
    read_safetensors,
    suggest_streaming,
    write_npy,
)
from theodolite._storage.memory_limit import check_memory
from theodolite._storage.tables import read_parquet, write_parquet
from theodolite._storage.text import read_json, write_json
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.ragged import STARTS, with_starts
from theodolite.evidence.registry import (
    MissingPackage,
    check_installed,
    kinds,
    markers,
    package_entry,
)
from theodolite.evidence.shards import list_plain_fields

FORMAT = "theodolite-evidence"
FORMAT_VERSION = 1
MIN_NAME_SIMILARITY = 0.8
"""Smallest similarity of an unknown name to a known one to suggest the known one."""


def save(evidence: Evidence, folder: Path | str) -> None:
    """Write a bundle to a new folder; the header is written last."""
    folder = Path(folder)
    arrays: dict[str, Any] = {}
    for name, values in list_plain_fields(evidence):
        packed = values.dtype == np.bool_
        stored = np.packbits(values, axis=-1) if packed else values
        write_npy(folder / f"{name}.npy", stored)
        arrays[name] = {
            "encoding": "bits" if packed else "dense",
            "dtype": stored.dtype.str,
            "shape": list(values.shape),
        }
    inner = {}
    for name, bundle in evidence._inner():
        save(bundle, folder / name)
        inner[name] = bundle.kind
    axes = {n: a.header() for n, a in evidence._axes() if isinstance(a, NamedAxis)}
    if not inner:
        _save_samples(evidence.samples, folder / "samples.parquet")
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": evidence.kind,
        "kind_version": evidence.version,
        "samples": len(evidence),
        "axes": axes,
        "arrays": arrays,
        "inner": inner,
    } | package_entry(type(evidence))
    write_json(folder / "header.json", header)


def _save_samples(samples: Samples, path: Path) -> None:
    columns = {"index": samples.index, "id": samples.ids, "cluster": samples.clusters}
    write_parquet(path, {n: v.tolist() for n, v in columns.items() if v is not None})


def load(folder: Path | str) -> Evidence:
    """Read a bundle and check it; arrays are memory-mapped."""
    folder = Path(folder)
    header = _header(folder)
    kind = kinds()[header["kind"]]
    members: dict[str, Any] = {}
    layouts = dict(kind.layouts())
    starts = [axis + STARTS for _, layout in kind.layouts() for axis in layout.ragged]
    arrays = {}
    for name, entry in header["arrays"].items():
        if name not in layouts and name not in starts:
            raise UnsafeInputError(
                f"header of {folder.name!r}", f"array {name!r}", f"{list(layouts)}"
            )
        arrays[name] = _stored(folder, name, entry)
    for name in (name for name in layouts if name in arrays):
        uneven = layouts[name].ragged
        lacking = next((a for a in uneven if a + STARTS not in arrays), None)
        if lacking:
            raise UnsafeInputError(f"header of {folder.name!r}", f"no {lacking + STARTS!r}", "it")
        members[name] = with_starts(arrays[name], uneven, arrays) if uneven else arrays[name]
    members |= read_axes(kind, header, folder.name)
    for name in header["inner"]:
        members[name] = load(folder / name)
    if not header["inner"]:
        members["samples"] = _load_samples(folder / "samples.parquet")
    try:
        return kind(**members)
    except TypeError as error:
        raise UnsafeInputError(f"bundle {folder.name!r}", str(error), "all its arrays") from error


def load_all(folder: Path) -> tuple[list[Evidence], list[str]]:
    """Return all bundles of a folder, and the packages that others of them need."""
    bundles, needs = [], []
    for place in sorted(folder.iterdir()):
        try:
            bundles.append(load(place))
        except MissingPackage as error:
            needs.append(error.sentence)
    return bundles, needs


def _header(folder: Path) -> dict[str, Any]:
    header = read_json(folder / "header.json", "evidence header")
    what = f"header of {folder.name!r}"
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnsafeInputError(what, "another format", f"format {FORMAT!r}")
    if header.get("format_version") != FORMAT_VERSION:
        raise UnsafeInputError(
            what, f"format version {header.get('format_version')}", f"{FORMAT_VERSION}",
            "Read it with the version of theodolite that wrote it.",
        )  # fmt: skip
    check_installed(header)
    kind = kinds().get(str(header.get("kind")))
    if kind is None or header.get("kind_version") != kind.version:
        got = f"{header.get('kind')!r} version {header.get('kind_version')}"
        known = [(k.kind, k.version) for k in kinds().values()]
        raise UnsafeInputError(what, got, f"one of {known}")
    for key in ("arrays", "axes", "inner"):
        if not isinstance(header.get(key), dict):
            raise UnsafeInputError(
                what, f"{key!r} is {type(header.get(key)).__name__}", "an object"
            )
    return header


def _stored(folder: Path, name: str, entry: Any) -> np.ndarray:
    values = read_npy(folder / f"{name}.npy", mapped=True)
    try:
        shape = tuple(int(n) for n in entry["shape"])
        encoding, dtype = entry["encoding"], entry["dtype"]
    except (KeyError, TypeError, ValueError) as error:
        raise UnsafeInputError(
            f"header of {folder.name!r}", f"{entry!r}", "dtype, shape"
        ) from error
    expected = (*shape[:-1], math.ceil(shape[-1] / 8)) if encoding == "bits" and shape else shape
    if values.shape != expected or values.dtype.str != dtype:
        raise UnsafeInputError(
            f"array {name!r}",
            f"{values.dtype.str} {values.shape}",
            f"{dtype} {expected}, as the header says",
        )
    if encoding == "bits" and values.dtype == np.uint8:
        return np.unpackbits(values, axis=-1, count=shape[-1]).view(bool)
    return values


def read_axes(kind: type[Evidence], header: Mapping[str, Any], where: str) -> dict[str, NamedAxis]:
    """Return the axes of a bundle from its header, without those of inner bundles."""
    inner = dict(kind.inner_kinds())
    named = {n: b.get("kind") if isinstance(b, dict) else b for n, b in header["inner"].items()}
    if named != {name: own.kind for name, own in inner.items()}:
        needed = ", ".join(f"`{name}`" for name in inner) or "none"
        raise UnsafeInputError(f"header of {where!r}", "inner bundles", needed)
    inside = {name for own in inner.values() for name in own.axes()}
    axes = kind.axes()
    for name, axis in header["axes"].items():
        if name not in axes or not isinstance(axis, dict):
            raise UnsafeInputError(f"header of {where!r}", f"axis {name!r}", f"{list(axes)}")
    return {
        name: read_axis(axes[name], axis, where)
        for name, axis in header["axes"].items()
        if name not in inside
    }


def read_axis(kind: type[NamedAxis], entry: dict[str, Any], where: str) -> NamedAxis:
    """Return one axis from its entry in a header."""
    try:
        members: dict[str, Any] = {
            k: v if isinstance(v, int) else tuple(v) for k, v in entry.items()
        }
        return kind(**members)
    except TypeError as error:
        raise UnsafeInputError(f"header of {where!r}", f"{error}", "a plain axis") from error


def _load_samples(path: Path) -> Samples:
    columns = read_parquet(path)
    arrays = {
        field: np.asarray(columns[column])
        for field, column in (("index", "index"), ("ids", "id"), ("clusters", "cluster"))
        if column in columns
    }
    return Samples(**arrays)


def _most_like(arrays: dict[str, Any]) -> str:
    """Return the array that marks the kind of evidence, or the name closest to a marker."""
    known = markers()
    there = [name for name in known if name in arrays]
    if there:
        return next((name for name in there if has_all_arrays(known[name], arrays)), there[0])
    shared = {
        first: len(set(arrays) & {name for name, _ in kind.layouts()})
        for first, kind in known.items()
    }
    near = {
        first: bool(get_close_matches(first, list(arrays), 1, MIN_NAME_SIMILARITY))
        for first in known
    }
    return max(shared, key=lambda first: (near[first], shared[first]))


def has_all_arrays(kind: type[Evidence], names: Iterable[str]) -> bool:
    """Return whether a kind declares all of these names."""
    own = {name for name, _ in kind.layouts()} | set(kind.axes())
    return own.issuperset(set(names) - {"ids", "clusters", "samples"})


def _needed(kind: type[Evidence]) -> list[str]:
    bare = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    return [name for name, _ in kind.layouts() if name in bare]


def load_arrays(path: Path | str) -> Evidence:
    """Read evidence from one .npz or .safetensors file whose arrays are named like the fields.

    ``concepts``, ``classes`` and ``units`` may give names, ``ids`` and ``clusters`` say which
    samples are which and which belong together. Vectors or projections with an axis for classes
    are those of ``SurrogateEvidence.per_class``.
    """
    path = Path(path)
    read = {".npz": read_npz, ".safetensors": read_safetensors}.get(path.suffix)
    if read is None and path.exists():
        raise EvidenceError(f"{path.name!r}", f"a file {path.suffix!r}", ".npz or .safetensors")
    if path.suffix == ".npz" and path.is_file():
        with path.open("rb") as file, list_npz_members(file, path.name) as members:
            size = sum(member.as_evidence for member in members.values())
            check_memory(size, f"arrays {path.name!r}", suggest_streaming(path.name))
    return from_arrays((read or read_npz)(path), repr(path.name))


def from_arrays(named_arrays: Mapping[str, Any], what: str = "arrays") -> Evidence:
    """Build evidence from arrays named like the fields; one of them identifies the kind.

    >>> from_arrays({"values": np.eye(3), "truth": np.eye(3)})
    <ConceptEvidence: 3 samples, 3 concepts; values, truth>
    """
    arrays = dict(named_arrays)
    first = _most_like(arrays)
    kind = markers()[first]
    known = {name for name, _ in kind.layouts()}
    axes = list(kind.axes())
    unknown = sorted(set(arrays) - known - {*axes, "ids", "clusters", "samples"})
    if unknown or first not in arrays:
        _refuse(unknown, first, sorted(arrays), [*sorted(known - {first}), *axes], what)
    for axis in axes:
        if axis in arrays and not isinstance(arrays[axis], NamedAxis):
            arrays[axis] = tuple(str(name) for name in np.atleast_1d(arrays[axis]))
    samples = _samples_of(arrays)
    lacking = [name for name in _needed(kind) if name not in arrays]
    if lacking:
        raise EvidenceError(
            what, f"no {lacking[0]!r}", f"it, in addition to {first!r}",
            f"`theodolite evidence {kind.kind}` describes each array.",
        )  # fmt: skip
    try:
        return kind.from_plain({**arrays, "samples": samples})
    except TypeError as error:
        raise EvidenceError(what, str(error), "all the arrays of its kind") from error


def _samples_of(arrays: dict[str, Any]) -> Samples:
    """Remove sample numbers, ids and clusters from the arrays and return them."""
    rows = {name: arrays.pop(name) for name in ("ids", "clusters") if name in arrays}
    samples = arrays.pop("samples", None)
    if samples is None:
        return Samples(**rows)
    if not isinstance(samples, Samples):
        raise EvidenceError("samples", type(samples).__name__, "Samples(ids=..., clusters=...)")
    if rows:
        raise EvidenceError("samples", f"`samples` and `{next(iter(rows))}`", "`samples` alone")
    return samples


def _refuse(
    unknown: Sequence[str], first: str, present: Sequence[str], others: Sequence[str], what: str
) -> None:
    """Raise for names that the kind does not declare, and say which kind or name is close."""
    known = markers()
    two = [name for name in unknown if name in known and first in present]
    if two:
        names_of_both = (known[first].__name__, known[two[0]].__name__)
        raise EvidenceError(
            what, f"{first!r} and {two[0]!r}, which are of two kinds",
            f"arrays of {names_of_both[0]} or of {names_of_both[1]}",
            "Make a bundle, or a file, of each kind and audit both together.",
        )  # fmt: skip
    names = [first, *others, "ids", "clusters"]
    near = {name: get_close_matches(name, names, 1) for name in unknown}
    meant = [f"{matches[0]!r} for {name!r}" for name, matches in near.items() if matches]
    got = f"unknown arrays {list(unknown)}" if unknown else f"only {list(present)}"
    raise EvidenceError(
        what, got, f"{first!r} and perhaps {', '.join(names[1:])}",
        f"Did you mean {', '.join(meant)}?" if meant else "Rename the arrays.",
    )  # fmt: skip
