"""Seconds and memory of random draws beside the bare encoding of the same tokens.

    python benchmarks/random_draws.py [--latents 16384] [--texts 1000] [--wide 256] [--draws 2]

Bare is one product and one top K in torch, in blocks of tokens. CPU time on one thread.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from theodolite.language.models.chance_draws import (
    Choosing,
    RandomRows,
    Spread,
    chosen_values,
    pooled_draw,
)

TOKENS, ACTIVE, CONCEPTS = 32, 32, 20


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def peak() -> int:
    """Megabytes of this process at its largest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def encode(activations: np.ndarray, rows: torch.Tensor) -> None:
    step = max((1 << 25) // len(rows), 1)
    with torch.inference_mode():
        for at in range(0, len(activations), step):
            (torch.as_tensor(activations[at : at + step]) @ rows.T).topk(ACTIVE, dim=1)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
for name, default in (("latents", 16_384), ("texts", 1_000), ("wide", 256), ("draws", 2)):
    parser.add_argument(f"--{name}", type=int, default=default)
parser.add_argument("--no-bare", action="store_true")
given = parser.parse_args()
torch.set_num_threads(1)
random = np.random.default_rng(0)
hidden = random.standard_normal((given.texts * TOKENS, given.wide), np.float32)
starts = TOKENS * np.arange(given.texts + 1)
truth = random.random((given.texts, CONCEPTS)) < 0.3
choosing = Choosing(truth, np.ones_like(truth), random.random(given.texts) < 0.5)
spread, before = Spread.of(hidden), peak()
lines: dict[str, Any] = {"before MB": before}
if not given.no_bare:
    plain = torch.as_tensor(RandomRows(0, 0, given.latents).block(0, given.latents, given.wide))
    lines["bare s"], _ = timed(lambda: encode(hidden, plain))
    del plain
draws, probes = [], []
for number in range(given.draws):
    rows = RandomRows(0, 1 + number, given.latents)
    seconds, pooled = timed(partial(pooled_draw, rows, hidden, starts, spread, ACTIVE))
    draws.append(seconds)
    probes.append(timed(partial(chosen_values, pooled, choosing))[0])
    lines["triples"] = len(pooled.value)
    del pooled
    lines[f"peak MB after {number + 1}"] = peak()
lines |= {"draw s": float(np.mean(draws)), "probe s": float(np.mean(probes))}
print(json.dumps(lines, indent=1))
