"""How near the price of a dry run comes to the time that the run then takes.

    python benchmarks/estimate.py [--scale 1.0] [--workers 2]

Ten audits of generated evidence in pieces: many samples and few concepts, few samples and many
concepts, scores that add up, scores that need all samples at once. Each is rehearsed, then run from
the start; the last line says which share of the runs took no more than 1.5 times as long as said,
and no less than said by 1.5. ``--scale`` makes all of them shorter.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from theodolite._planted.concepts import planted_concepts
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import rehearse, run
from theodolite._runs.run_inputs import RunPaths
from theodolite.evidence.store_writer import EvidenceWriter

ADDING = ("concept_existence", "concept_global_importance")
CASES: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (100_000, 12, ADDING[:1]), (200_000, 12, ADDING[:1]), (50_000, 40, ADDING),
    (20_000, 100, ADDING[:1]), (400_000, 6, ADDING), (20_000, 12, ("concept_task_leakage",)),
    (10_000, 12, ("interconcept_leakage",)), (4_000, 40, ("interconcept_leakage",)),
    (50_000, 12, (*ADDING, "concept_task_leakage")), (8_000, 8, ()),
)  # fmt: skip
"""Samples, concepts and scores; without scores, all that there are."""
NEAR = 1.5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--workers", type=int, default=2)
    chosen = options.parse_args()
    engine, factors = Engine("local", chosen.workers), []
    for number, (samples, concepts, metrics) in enumerate(CASES):
        n = max(round(samples * chosen.scale), 500)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            evidence = planted_concepts(n, n_concepts=concepts, n_classes=4, seed=number)
            with EvidenceWriter(root / "evidence") as writer:
                writer.add(evidence)
            spec = RunSpec.model_validate(
                {
                    "name": "priced", "evidence": ["evidence"],
                    "metrics": [{"name": name} for name in metrics],
                }
            )  # fmt: skip
            started = time.monotonic()
            result = rehearse(
                spec, RunPaths(root, root / "dry", root / "dry"), engine=engine, overwrite=False
            )
            assert result is not None
            rehearsed = time.monotonic() - started
            started = time.monotonic()
            run(spec, RunPaths(root, root / "run", root / "run"), engine=engine, overwrite=False)
            wall = time.monotonic() - started
        factors.append(wall / result.wall())
        figures = {
            "samples": n, "concepts": concepts, "metrics": list(metrics),
            "estimate": round(result.wall(), 2), "of_that_starting": round(result.start_seconds, 2),
            "wall": round(wall, 2),
            "rehearsal": round(rehearsed, 2), "factor": round(factors[-1], 2),
        }  # fmt: skip
        print(json.dumps(figures), flush=True)
    near = [1 / NEAR <= factor <= NEAR for factor in factors]
    print(json.dumps({"runs": len(near), "within_1.5": sum(near) / len(near)}))


if __name__ == "__main__":
    main()
