# mypy: disable-error-code="import-not-found"
"""How often latents that cause, and ones that only echo, are called causes.

    python benchmarks/causal_circuit.py [--seeds 40] [--noise 0.02]

CPU about 2 s a seed.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.networks.circuit import (
    CONCEPTS,
    FIRST_ANSWER,
    Circuit,
    CircuitDictionary,
    circuit_texts,
)
from theodolite.language.causal_effects import causal_effects
from theodolite.language.models.hooked import HookedModel

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--seeds", type=int, default=40)
parser.add_argument("--noise", type=float, default=0.02)
given = parser.parse_args()
answers: dict[str, list[str]] = defaultdict(list)
effects: dict[str, list[float]] = defaultdict(list)
for seed in range(given.seeds):
    circuit = Circuit(seed, given.noise)
    ids, truth = circuit_texts(seed)
    # four causes, four echoes, and four random rows with the labels of the concepts
    named = {number: number % CONCEPTS for number in range(3 * CONCEPTS)}
    targets = {concept: [FIRST_ANSWER + concept] for concept in range(CONCEPTS)}
    network = HookedModel(circuit.eval(), "block", 0)
    dictionary = CircuitDictionary(circuit, seed)
    for effect in causal_effects(
        network, ids, dictionary, truth, named, targets=targets, seed=seed
    ):
        kind = ("cause", "echo", "random")[effect.latent // CONCEPTS]
        answers[f"{kind}, {effect.act}"].append(effect.answer)
        effects[f"{kind}, {effect.act}"].append(effect.effect)
for kind, own in answers.items():
    shares = {word: round(own.count(word) / len(own), 3) for word in ("yes", "no", "inconclusive")}
    print(
        json.dumps(
            {"latents": kind, "effect": round(float(np.nanmean(effects[kind])), 2), **shares}
        )
    )
