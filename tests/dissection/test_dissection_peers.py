"""Formulas for units against the package on PyPI, and the benchmark that times both."""

import contextlib
import io
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from support.runs.dissected import best_of_all, iou, marked
from theodolite.dissection.atoms import Atoms, pack
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import OPERATORS, Formula
from theodolite.dissection.search import search

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
N, CONCEPTS, SIDE = 6, 7, 8


def case(seed: int) -> tuple[Atoms, list[np.ndarray], np.ndarray]:
    """Blocky masks in two layers, some scenes, and a unit that is a noisy formula of three."""
    random = np.random.default_rng(seed)
    blocks = random.integers(0, CONCEPTS + 1, (N, 2, SIDE // 2, SIDE // 2)).astype(np.uint16)
    scenes = [[int(random.integers(0, 3))] if seed % 2 else [] for _ in range(N)]
    atoms = pack(
        list(blocks.repeat(2, axis=2).repeat(2, axis=3)),
        scenes,
        [str(c) for c in range(CONCEPTS)],
        grid=(SIDE, SIDE),
    )
    masks = [np.stack([atoms.mask(p, c).ravel() for p in range(N)]) for c in range(CONCEPTS)]
    a, b, c = (int(x) for x in random.choice(CONCEPTS, 3, replace=False))
    first, second = list(product(OPERATORS, repeat=2))[seed % 9]
    planted = Formula(a, ((first, b), (second, c))).holds(masks.__getitem__)
    return atoms, masks, planted ^ (random.random(planted.shape) < 0.1)


def package(
    masks: list[np.ndarray], unit: np.ndarray, disjoint: np.ndarray
) -> tuple[Formula, Formula]:
    """What the package's beam and its optimal search answer."""
    pytest.importorskip("compositional_explanations")
    from compositional_explanations import beam, optimal  # noqa: PLC0415

    given = {
        "bitmaps": torch.from_numpy(unit),
        "masks": [torch.from_numpy(mask) for mask in masks],
        "disjoint_info": disjoint,
        "length": 3,
        "device": torch.device("cpu"),
    }
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it asks for scipy.sparse.csr
        said = (
            beam.compute_beam_explanations(beam_size=5, **given),
            optimal.compute_optimal_explanations(**given),
        )
    names = [str(c) for c in range(CONCEPTS)]
    return Formula.parse(str(said[0]), names), Formula.parse(str(said[1]), names)


LOST = {1, 3, 12}
"""Where the optimal search of version 0.0.3.4 leaves out the best formula: its bounds are too low
for some (a AND b) OR c and (a OR b) AND c. Looking at every chain confirms ours."""


@pytest.mark.parametrize("seed", range(18))
def test_beam_and_optimum_agree_with_the_package(seed: int) -> None:
    atoms, masks, unit = case(seed)
    units = marked(atoms, unit)
    beamed, proved = package(masks, unit, atoms.pairs == 0)
    ours = search(atoms, units).best(0)
    assert ours is not None
    # it starts from ten leaves and we from five, so this holds on these cases, not on all
    assert ours.iou == pytest.approx(iou(beamed.holds(masks.__getitem__), unit), abs=1e-9)
    best = optimum(atoms, units)
    theirs = iou(proved.holds(masks.__getitem__), unit)
    assert best.iou[0] == pytest.approx(best_of_all(np.stack(masks), unit), abs=1e-9)
    if seed in LOST:
        assert best.iou[0] > theirs + 1e-6
    else:
        assert best.iou[0] == pytest.approx(theirs, abs=1e-9)


def test_the_benchmark_runs() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "dissection.py"), "--quick"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    name, number = lines[-1].rsplit(": ", 1)
    assert name.startswith("ratio to ") and float(number) > 1
    assert any(line.startswith("same as PyTorch and Pillow") for line in lines)
    assert any(line.startswith("same formulas as with plain masks") for line in lines)
