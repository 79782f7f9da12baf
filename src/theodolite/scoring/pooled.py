"""Scores that need all samples at once: computed here, from as many as they can take."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Shards, some_samples
from theodolite.evidence.workers import Arrays, Workers
from theodolite.scoring.counting import Slot, countings, read
from theodolite.scoring.plan import Plan
from theodolite.scoring.request import MetricRequest
from theodolite.scoring.values import Values


def pooled_values(
    request: MetricRequest,
    plan: Plan,
    evidence: Sequence[Shards],
    drawn: "Subsample",
    workers: Workers,
) -> dict[Slot, Values]:
    """What a score says that needs all samples at once, or as many as it can take."""
    asked = list(countings(request, plan, len(evidence)))

    def measured() -> Arrays:
        found: dict[str, np.ndarray] = {}
        for number, counting in enumerate(asked):
            held = drawn(evidence[counting.experiment], plan)
            values = read(counting, counting.state(counting.changed(held, {})))
            for name, array in vars(values).items():
                if array is not None:
                    found[f"{number}.{name}"] = np.asarray(array)
        return found

    about: dict[str, Any] = {
        "pooled": [one.about({}) | {"read": repr(one.finish())} for one in asked],
        "samples": plan.n,
        "seed": plan.resampling.seed,
        "shuffles": plan.resampling.shuffles,
    }
    arrays = workers.once(about, drawn.digest(evidence), measured)
    return {
        counting.slot: Values(
            **{n: arrays.get(f"{number}.{n}") for n in ("rows", "defined", "undefined")}  # type: ignore[arg-type]
        )
        for number, counting in enumerate(asked)
    }


class Subsample:
    """The samples that scores are computed from which need all at once: read once for all."""

    def __init__(self, left: Mapping[int, Sequence[int]]) -> None:
        self._left = left
        """Of some sources, the pieces that did not fail."""
        self._held: dict[tuple[int, int], Evidence] = {}
        self._digests: dict[int, str] = {}

    def __call__(self, shards: Shards, plan: Plan) -> Evidence:
        key = (id(shards), plan.n)
        if key not in self._held:
            self._held[key] = some_samples(
                shards, plan.n, plan.resampling.seed, self._left.get(id(shards))
            )
        return self._held[key]

    def digest(self, evidence: Sequence[Shards]) -> str:
        """Of all pieces of all seeds."""
        for shards in evidence:
            if id(shards) not in self._digests:
                digests = shards.digests()
                left = self._left.get(id(shards), range(len(digests)))
                self._digests[id(shards)] = " ".join(digests[n] for n in left)
        return " ".join(self._digests[id(shards)] for shards in evidence)
