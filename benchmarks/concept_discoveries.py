# mypy: disable-error-code="import-not-found"
"""False and true discoveries among many concepts, over worlds with known answers.

    python benchmarks/concept_discoveries.py [--worlds 200] [--first 0]

In each world, three random dictionaries are held against 20 others (the global null), and
dictionaries with planted latents in 25 % or 75 % of the concepts. CPU about 2 s a world.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.evidence.concept_worlds import (
    concept_world,
    held_out,
    planted,
    surely_above,
    told,
)

DRAWS, NULLS = 20, 3
RATES = {"weak": (0.4, 0.1), "mid": (0.7, 0.1), "strong": (0.9, 0.05)}

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--worlds", type=int, default=200)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--nulls-only", action="store_true")
given = parser.parse_args()
sums: dict[str, list[float]] = defaultdict(list)
for seed in range(given.first, given.first + given.worlds):
    world = concept_world(seed, DRAWS + NULLS)
    each = np.stack([held_out(world, own) for own in world.pooled])
    draws, easy = each[:DRAWS], world.kind == "easy"
    sums["mean draw of easy concepts"].append(float(np.nanmean(draws[:, easy])))
    sums["mean draw of mid concepts"].append(float(np.nanmean(draws[:, world.kind == "mid"])))
    for number, values in enumerate(each[DRAWS:], DRAWS):
        positive = told(values, draws)
        whole = [
            surely_above(world, world.pooled[number], world.pooled[:DRAWS], int(c))
            for c in np.flatnonzero(positive)
        ]
        sums["any false yes, this rule with its interval"].append(float(any(whole)))
        above = values > draws.max(axis=0)
        sums["any false yes, this rule"].append(float(positive.any()))
        sums["any false yes, above 20 draws only"].append(float(above.any()))
        sums["false yes an easy concept"].append(float(positive[easy].mean()))
    if given.nulls_only:
        continue
    for share in (0.25, 0.75):
        for name, rates in RATES.items():
            values, chosen = planted(world, world.pooled[DRAWS], share, rates, seed)
            positive = told(held_out(world, values), draws)
            false = (positive & ~chosen).sum() / max(positive.sum(), 1)
            sums[f"FDR, {share:.0%} {name}"].append(float(false))
            if chosen.any():
                sums[f"power, {share:.0%} {name}"].append(float(positive[chosen].mean()))
print(json.dumps({name: round(float(np.mean(own)), 4) for name, own in sums.items()}, indent=1))
