# mypy: disable-error-code="arg-type,misc,no-untyped-call"
"""Two proofs of what is said of dictionaries: equal to dense maps, and certified.

    python benchmarks/dictionary_proofs.py [--images 500] [--cases 200] [--only dense]

``dense``: maps of EfficientNet-lite0 on real images (THEODOLITE_DATA), active where more than 0,
through ``dissect`` with its proved optimum and through codes. ``certificate``: random codes against
all formulas of up to three concepts. One line of JSON each; the last says whether all hold. Kills
are in kills.py.
"""

import argparse
import json
import os
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.datasets.masks.joined_masks import joined_masks
from theodolite.dissection.counts import count
from theodolite.dissection.dissect import dissect
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import OPERATORS, Formula, from_rows
from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.dissect import dissect_sae
from theodolite.language.sae.evidence import SparseActivationEvidence

GRID, UNITS, CONCEPTS = (14, 14), 64, 24
LAYER = "blocks.4.0.bn1"
PARTS = (("pets", "oxford_pets"), ("camvid", "camvid"), ("monumai_masks", "monumai"))
ANY = 1e-9
"""A quantile that every value above 0 exceeds."""


def real_maps(images: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Maps of the units that are active least often of some, masks of the commonest concepts."""
    from theodolite.models.features import FeatureExtractor  # noqa: PLC0415
    from theodolite.models.loading import load_model  # noqa: PLC0415

    root = Path(os.environ["THEODOLITE_DATA"])
    data = joined_masks(root, parts=PARTS)
    there = data.at_hand()
    rows = np.random.default_rng(0).permutation(there)[:images]
    masks = np.stack([
        (data.layers(row, GRID)[:, None] == np.arange(1, 1 + len(data.concepts))[:, None, None])
        .any(axis=0) for row in rows
    ])  # fmt: skip
    common = np.argsort(-masks.any(axis=(2, 3)).sum(axis=0), kind="stable")[:CONCEPTS]
    weights = root / "efficientnet_lite0" / "efficientnet_lite0_fp16.safetensors"
    backbone = load_model("efficientnet_lite0", weights=weights)
    extract = FeatureExtractor(backbone.network, LAYER)
    parts = []
    for at in range(0, len(rows), 20):
        batch = np.stack([backbone.preprocessing(data.image(row)) for row in rows[at : at + 20]])
        parts.append(np.maximum(extract(batch), 0).astype(np.float16))
    maps = np.concatenate(parts)
    share = (maps > 0).mean(axis=(0, 2, 3))
    some = np.sort(np.argsort(np.where(share > 0.001, share, 1), kind="stable")[:UNITS])
    return maps[:, some].astype(np.float32), masks[:, common], [data.concepts[c] for c in common]


def as_codes(maps: np.ndarray, masks: np.ndarray, concepts: list[str]) -> SparseActivationEvidence:
    """The same, as active values."""
    n, units = maps.shape[:2]
    values = maps.transpose(0, 2, 3, 1).reshape(-1, units)
    position, unit = np.nonzero(values)
    has = masks.transpose(0, 2, 3, 1).reshape(len(values), -1)
    piece = SparseActivationShard.from_coo(
        position, unit, values[position, unit].astype(np.float16),
        documents=np.full(n, len(values) // n),
        labels=[np.flatnonzero(row).tolist() for row in has],
    )  # fmt: skip
    return SparseActivationEvidence([piece], units=units, concepts=concepts)


def dense(images: int) -> dict[str, Any]:
    """How many units have the same formula, overlap and detection accuracy both ways."""
    maps, masks, concepts = real_maps(images)
    whole = dissect(maps, masks, concepts, quantile=ANY)
    proved = optimum(whole.atoms, whole.units)
    codes = as_codes(maps, masks, concepts)
    sparse = dissect_sae(codes, quantile=ANY, candidates=CONCEPTS, precision=0, null_units=0)
    formulas = [f for f in from_rows(sparse.rows) if f is not None]
    best = [f for f in proved.formulas if f is not None]
    counts = count(whole.atoms, whole.units, best)
    accuracy = (counts.shared > 0).sum(axis=0) / (counts.formula > 0).sum(axis=0)
    same_mask = sum(
        np.array_equal(f.holds(lambda c: masks[:, c]), g.holds(lambda c: masks[:, c]))
        for f, g in zip(formulas, best, strict=True)
    )
    figures = {
        "units": len(formulas), "concepts": len(concepts), "images": len(maps),
        "values": int((maps > 0).sum()), "same_formula": same_mask,
        "same_words": sum(f == g for f, g in zip(formulas, best, strict=True)),
        "same_active": int((sparse.active == whole.units.sizes()).sum()),
        "same_iou": int(np.isclose(sparse.fit.iou, proved.iou, rtol=1e-9).sum()),
        "same_detection_accuracy": int((sparse.fit.detection_accuracy == accuracy).sum()),
        "beam_missed": proved.missed, "mean_iou": float(np.mean(proved.iou)),
        "largest_gap": float(sparse.gap.max()),
    }  # fmt: skip
    names = ("same_formula", "same_active", "same_iou", "same_detection_accuracy")
    return figures | {"holds": all(figures[name] == UNITS for name in names)}


def every_formula(n: int) -> list[Formula]:
    """All of up to three distinct concepts."""
    formulas = [Formula(a) for a in range(n)]
    formulas += [Formula(a, ((op, b),)) for a, b in permutations(range(n), 2) for op in OPERATORS]
    return formulas + [
        Formula(a, ((p, b), (q, c)))
        for a, b, c in permutations(range(n), 3) for p in OPERATORS for q in OPERATORS
    ]  # fmt: skip


def random_case(seed: int, concepts: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    """Concepts and units at some positions; some units follow a formula, with noise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 240)) * 2
    has = rng.random((n, concepts)) < rng.uniform(0.05, 0.5, concepts)
    active = rng.random((n, units)) < rng.uniform(0.02, 0.4, units)
    for u in range(0, units, 2):
        a, b, c = rng.permutation(concepts)[:3]
        follows = (has[:, a] | has[:, b]) & ~has[:, c]
        active[:, u] = follows ^ (rng.random(n) < 0.05)
    active[0] = True
    return has, active


def certificate(cases: int) -> dict[str, Any]:
    """Formulas that are better by more than the gap, of all; and how large gaps are."""
    concepts, units, candidates = 10, 12, 6
    formulas = every_formula(concepts)
    violations, gaps, reached, within = 0, [], [], []
    for seed in range(cases):
        has, active = random_case(seed, concepts, units)
        position, unit = np.nonzero(active)
        piece = SparseActivationShard.from_coo(
            position, unit, documents=np.full(len(has) // 2, 2),
            labels=[np.flatnonzero(row).tolist() for row in has],
        )  # fmt: skip
        evidence = SparseActivationEvidence(
            [piece], units=units, concepts=[f"{c}" for c in range(concepts)]
        )
        sparse = dissect_sae(
            evidence, candidates=candidates, gap=1.0, precision=0.01 * (seed % 2), null_units=0
        )
        masks = np.stack([f.holds(lambda c, has=has: has[:, c]) for f in formulas])
        shared = masks.astype(np.int64) @ active
        iou = shared / (masks.sum(axis=1)[:, None] + active.sum(axis=0) - shared)
        fits = np.nan_to_num(sparse.fit.iou)
        violations += int((iou > fits + sparse.gap + 1e-9).sum())
        gaps.append(sparse.gap)
        reached.append(fits / iou.max(axis=0))
        labels = (has.sum(axis=1)[:, None] * active).sum(axis=0) / active.sum(axis=0)
        within.append(sparse.gap <= 3 * labels / (candidates + 1))
    return {
        "cases": cases, "formulas": cases * units * len(formulas), "violations": violations,
        "median_gap": float(np.median(gaps)), "largest_gap": float(np.max(gaps)),
        "share_below_3m_over_k_plus_1": float(np.mean(within)),
        "reached_of_the_best": {"mean": float(np.mean(reached)), "least": float(np.min(reached))},
        "holds": violations == 0,
    }  # fmt: skip


def main() -> None:
    """Each proof in turn."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--only", choices=["dense", "certificate"])
    options = parser.parse_args()
    proofs = {
        "dense": lambda: dense(options.images),
        "certificate": lambda: certificate(options.cases),
    }
    proved = True
    for name, prove in proofs.items():
        if options.only in (None, name):
            figures = prove()
            proved &= figures["holds"]
            print(json.dumps({"proof": name, **figures}), flush=True)
    print(json.dumps({"all hold": proved}))


if __name__ == "__main__":
    main()
