# mypy: disable-error-code="import-not-found"
"""How often a random SAE is called better than others, and a planted latent not.

    python benchmarks/random_dictionaries.py [--seeds 20] [--concepts 20] [--first 0] [--cases 7]

Dictionaries of random directions on simulated activations are held against 20 others, by the
verdict of latent_probe: concepts that words depend on, and concepts that nothing does. Then a
latent is planted for each concept that is active in sequences with it with a probability h, and
without it with m; and with labels dealt out. One line of JSON each: the share of concepts and of
dictionaries that are called *yes*, and how sure the first is, over seeds; the last says whether all
rates are as promised. By chance one random dictionary in 21 exceeds 20 others, so that the first
rate is expected just below 0.048: it may exceed 0.05 by two standard errors.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.evidence.judged_dictionaries import judged, shares

CASES: dict[str, dict[str, Any]] = {
    "random, concepts in the texts": {"in_texts": True},
    "random, concepts in nothing": {},
    "planted, labels dealt out": {"rates": (0.9, 0.05), "shuffled": True},
    "planted 0.9 / 0.05": {"rates": (0.9, 0.05)},
    "planted 0.7 / 0.1": {"rates": (0.7, 0.1)},
    "planted 0.5 / 0.1": {"rates": (0.5, 0.1)},
    "planted 0.3 / 0.1": {"rates": (0.3, 0.1)},
}
MOST, LEAST = 0.05, 0.95
"""Of what is called yes: where nothing is to be seen, and where it must be."""


def main() -> None:
    """All cases, and whether the rates are as promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--concepts", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--cases", type=int, default=len(CASES), help="how many of them")
    arguments = parser.parse_args()
    rates = {}
    errors = {}
    for name, settings in list(CASES.items())[: arguments.cases]:
        before = time.process_time()
        every = [
            judged(arguments.first + number, arguments.concepts, **settings)
            for number in range(arguments.seeds)
        ]
        rates[name] = shares(every)
        each = [shares([dictionary])[0] for dictionary in every]
        errors[name] = float(np.std(each, ddof=1) / np.sqrt(len(each)))
        line = {
            "case": name,
            "concepts called yes": round(rates[name][0], 4),
            "standard error": round(errors[name], 4),
            "dictionaries called yes": round(rates[name][1], 4),
            "random dictionaries score": round(sum(d.chance for d in every) / len(every), 4),
            "cpu seconds": round(time.process_time() - before, 1),
        }
        print(json.dumps(line), flush=True)
    nothing = [name for name in list(CASES)[:3] if name in rates]
    holds = all(rates[name][0] <= MOST + 2 * errors[name] for name in nothing)
    holds = holds and all(rates[name][1] <= MOST for name in nothing)
    seen = rates.get("planted 0.9 / 0.05", (1.0, 1.0))[0] >= LEAST
    print(
        json.dumps(
            {"rates": {n: round(r[0], 4) for n, r in rates.items()}, "holds": holds and seen}
        )
    )


if __name__ == "__main__":
    main()
