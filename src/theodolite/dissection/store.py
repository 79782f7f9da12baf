"""Packed concept masks on disk: pack once, dissect many layers."""

from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.arrays import read_npy, write_npy
from theodolite._storage.text import read_json, write_json
from theodolite.dissection.atoms import Atoms
from theodolite.errors import UnsafeInputError

FORMAT, FORMAT_VERSION = "theodolite-masks", 1
ARRAYS = {"start": "i", "weight": "i", "label_start": "i", "label": "i", "number": "u"}


def save_masks(atoms: Atoms, folder: Path | str) -> None:
    """Write packed masks into a folder of their own; the header comes last."""
    folder = Path(folder)
    for name in ARRAYS:
        write_npy(folder / f"{name}.npy", getattr(atoms, name))
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "grid": list(atoms.grid),
        "concepts": list(atoms.concepts),
        "categories": list(atoms.categories),
    }
    write_json(folder / "header.json", header)


def load_masks(folder: Path | str) -> Atoms:
    """Read packed masks. Numbers that point at each other are checked: loops trust them."""
    folder = Path(folder)
    header = _header(folder)
    arrays = {name: read_npy(folder / f"{name}.npy") for name in ARRAYS}
    for name, kind in ARRAYS.items():
        _need(arrays[name].dtype.kind == kind, folder, f"{name} of {arrays[name].dtype}")
    atoms = Atoms(header["concepts"], header["categories"], header["grid"], **arrays)
    n_pixels = atoms.grid[0] * atoms.grid[1]
    n_atoms, n_labels = len(atoms.weight), len(atoms.label)
    _need(_rises(atoms.start, n_atoms), folder, "start")
    _need(_rises(atoms.label_start, n_labels), folder, "label_start")
    _need(len(atoms.label_start) == n_atoms + 1, folder, "label_start")
    inside = not n_labels or (atoms.label.min() >= 0 and atoms.label.max() < len(atoms.concepts))
    _need(inside and atoms.label.ndim == 1, folder, "label")
    _need(atoms.number.shape == (len(atoms), n_pixels), folder, "number")
    _need((atoms.number.max(axis=1, initial=0) < np.diff(atoms.start)).all(), folder, "number")
    totals = np.add.reduceat(atoms.weight, atoms.start[:-1]) if len(atoms) else np.array([])
    _need((totals == n_pixels).all() and (atoms.weight > 0).all(), folder, "weight")
    return atoms


def _header(folder: Path) -> dict[str, Any]:
    header = read_json(folder / "header.json", "header of masks")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnsafeInputError(f"header of {folder.name!r}", "another format", f"format {FORMAT!r}")
    if header.get("format_version") != FORMAT_VERSION:
        got = f"format version {header.get('format_version')}"
        raise UnsafeInputError(f"header of {folder.name!r}", got, f"{FORMAT_VERSION}")
    names, kinds, grid = (header.get(key) for key in ("concepts", "categories", "grid"))
    words = isinstance(names, list) and isinstance(kinds, list)
    _need(words and all(isinstance(w, str) for w in [*names, *kinds]), folder, "concepts")  # type: ignore[misc]
    _need(len(set(names)) == len(names) == len(kinds) > 0, folder, "concepts")  # type: ignore[arg-type]
    sides = isinstance(grid, list) and len(grid) == 2 and all(type(side) is int for side in grid)
    _need(sides and min(grid) > 0 and grid[0] * grid[1] <= 65_536, folder, "grid")  # type: ignore[arg-type,index]
    return {"concepts": tuple(names), "categories": tuple(kinds), "grid": tuple(grid)}  # type: ignore[arg-type]


def _rises(starts: np.ndarray, total: int) -> bool:
    return bool(
        starts.ndim == 1
        and len(starts) > 0
        and starts[0] == 0
        and starts[-1] == total
        and (np.diff(starts) >= 0).all()
    )


def _need(holds: object, folder: Path, what: str) -> None:
    if not holds:
        raise UnsafeInputError(
            f"masks {folder.name!r}", f"{what} that does not fit", "packed masks"
        )
