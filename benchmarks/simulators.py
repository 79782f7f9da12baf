"""How far simulators get that read no mind: simulation_correlation of formulas and single tokens.

    python benchmarks/simulators.py LM_FEATURES [--latents 200] [--seed 0]

LM_FEATURES as for judge_floors.py. Each latent is explained by the predicate of tokens that
overlaps most with it on one half of the texts, and simulated on the other half: 1 where the
predicate holds (formula), or the mean activation of the token on the first half (keyword). Prints a
table in Markdown, with intervals over latents and texts, and the nulls.
"""

import time
from dataclasses import replace

import numpy as np
from judge_floors import pack_parser, read_pack

import theodolite
from theodolite.evidence.axes import LatentExplanations
from theodolite.language.judges.simulators import Simulator, simulate
from theodolite.language.texts.predicates import token_predicates


def explained(
    evidence: theodolite.TokenEvidence, latents: int, seed: int
) -> theodolite.TokenEvidence:
    """With the predicate of some latents, chosen on one half."""
    dissection = theodolite.dissect_tokens(evidence, latents=latents, length=1, seed=seed)
    names = {name: number for number, name in enumerate(evidence.predicates.names)}
    rows = [row for row in dissection.to_records() if row["formula"] in names]
    return replace(
        evidence,
        explained=np.array([row["latent"] for row in rows]),
        predicate_of=np.array([names[row["formula"]] for row in rows]),
        explanations=LatentExplanations(tuple(f"latent {row['latent']}" for row in rows)),
    )


def main() -> None:
    """Simulate, and print."""
    arguments = pack_parser(__doc__, 200).parse_args()
    started = time.process_time()
    every, vocabulary = read_pack(arguments.folder, arguments.seed)
    holds, predicates = token_predicates(every["trained"].tokens, vocabulary)
    print("| dictionary | simulator | correlation | nulls |\n|---|---|---|---|")
    simulators: tuple[Simulator, ...] = ("formula", "keyword")
    for name, evidence in every.items():
        named = replace(evidence, holds=holds, predicates=predicates)
        own = explained(named, arguments.latents, arguments.seed)
        for simulator in simulators:
            score = theodolite.score(
                "simulation_correlation", simulate(simulator, own), resamples=200
            )
            nulls = ", ".join(f"{null.name} {null.value:.3f}" for null in score.nulls)
            ends = score.interval
            text = "" if ends is None else f" [{ends.low:.3f}, {ends.high:.3f}]"
            print(f"| {name} | {simulator} | {score.value:.3f}{text} | {nulls} |", flush=True)
    print(f"\n{time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
