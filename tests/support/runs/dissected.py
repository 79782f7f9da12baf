"""Small dissections whose every count is known, and the published search written plainly."""

from collections.abc import Callable, Sequence

import numpy as np

from theodolite.dissection.atoms import Atoms, pack
from theodolite.dissection.formula import OPERATORS, Formula
from theodolite.dissection.units import UnitMasks

GRID = (2, 3)


def bits(text: str) -> np.ndarray:
    """``110000 | 010010`` -> images x pixels."""
    return np.array([[int(c) for c in part] for part in text.replace(" ", "").split("|")], bool)


UNIT = bits("110000 | 010010 | 000001 | 000000")
NAMES = ("A", "B", "S")
MASKS = np.stack(
    [
        bits("100100 | 000000 | 001001 | 110000"),
        bits("010000 | 011011 | 000000 | 000000"),
        bits("000000 | 111111 | 000000 | 111111"),
    ]
)


def packed(masks: np.ndarray, grid: tuple[int, int], names: Sequence[str] | None = None) -> Atoms:
    """Masks (concepts x images x pixels) as atoms: a layer for each concept."""
    layers = [
        np.stack([(c + 1) * masks[c, i].reshape(grid) for c in range(len(masks))]).astype(np.uint16)
        for i in range(masks.shape[1])
    ]
    names = names or [f"c{c}" for c in range(len(masks))]
    return pack(layers, [()] * masks.shape[1], names, grid=grid)


def marked(atoms: Atoms, *masks: np.ndarray) -> UnitMasks:
    """Units from their masks (images x pixels)."""
    starts, atom, count = [0], [], []
    for mask in masks:
        for i, row in enumerate(mask):
            for a in np.unique(atoms.number[i][row]):
                atom.append(int(atoms.start[i]) + int(a))
                count.append(int((row & (atoms.number[i] == a)).sum()))
        starts.append(len(atom))
    return UnitMasks(np.array(starts), np.array(atom, np.int32), np.array(count, np.int32))


JOIN: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "OR": np.logical_or,
    "AND": np.logical_and,
    "AND NOT": lambda a, b: a & ~b,
}


def iou(mask: np.ndarray, unit: np.ndarray) -> float:
    shared = int((mask & unit).sum())
    return shared / (int(unit.sum()) + int(mask.sum()) - shared + 1e-10)


def published_beam(
    masks: np.ndarray, unit: np.ndarray, size: int, lengths: int, candidates: int = 0
) -> list[tuple[Formula, float]]:
    """The search as published, on plain masks: best formula of the beam after each length."""
    score = [iou(mask, unit) for mask in masks]
    leaves = sorted((c for c in range(len(masks)) if score[c] > 0), key=lambda c: -score[c])
    beam = [(Formula(c), masks[c], score[c]) for c in leaves[:size]]
    labels = leaves[:candidates] if candidates else list(range(len(masks)))
    result = [(beam[0][0], beam[0][2])]
    for _ in range(1, lengths):
        grown = list(beam)
        for formula, mask, _ in beam:
            for label in labels:
                for operator in OPERATORS:
                    new = JOIN[operator](mask, masks[label])
                    steps = (*formula.steps, (operator, label))
                    grown.append((Formula(formula.first, steps), new, iou(new, unit)))
        beam = sorted(grown, key=lambda entry: -entry[2])[:size]
        result.append((beam[0][0], beam[0][2]))
    return result


def best_of_all(masks: np.ndarray, unit: np.ndarray) -> float:
    """The highest overlap of any chain of up to three concepts."""
    level = list(masks)
    best = max(iou(mask, unit) for mask in level)
    for _ in range(2):
        level = [join(mask, other) for mask in level for other in masks for join in JOIN.values()]
        best = max(best, *(iou(mask, unit) for mask in level))
    return best
