"""Scores that need all samples at once: computed here, from as many as they can take."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Shards, some_samples
from theodolite.evidence.workers import Arrays, Workers
from theodolite.scoring.counting import Slot, read, state_jobs
from theodolite.scoring.plan import Plan
from theodolite.scoring.request import MetricRequest
from theodolite.scoring.values import Values

MOMENT = "moment."


def pooled_values(
    request: MetricRequest,
    plan: Plan,
    evidence: Sequence[Shards],
    subsample: "Subsample",
    workers: Workers,
) -> dict[Slot, Values]:
    """What a score says that needs all samples at once, or as many as it can take."""
    jobs = list(state_jobs(request, plan, len(evidence)))

    def measured() -> Arrays:
        arrays: dict[str, np.ndarray] = {}
        for number, job in enumerate(jobs):
            bundle = subsample(evidence[job.experiment], plan)
            values = read(job, job.state(job.changed(bundle, {})))
            arrays |= {f"{number}.{name}": array for name, array in _arrays(values).items()}
        return arrays

    description: dict[str, Any] = {
        "pooled": [job.describe({}) | {"read": repr(job.finish())} for job in jobs],
        "samples": plan.n,
        "seed": plan.resampling.seed,
        "shuffles": plan.resampling.shuffles,
    }
    arrays = workers.once(description, subsample.digest(evidence), measured)
    return {job.slot: _values(arrays, f"{number}.") for number, job in enumerate(jobs)}


def _arrays(values: Values) -> dict[str, np.ndarray]:
    arrays = {"rows": values.rows, "defined": values.defined, "undefined": values.undefined}
    moments = {f"{MOMENT}{name}": array for name, array in values.moments.items()}
    return {n: np.asarray(a) for n, a in (arrays | moments).items() if a is not None}


def _values(arrays: Mapping[str, np.ndarray], prefix: str) -> Values:
    own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
    moments = {n.removeprefix(MOMENT): a for n, a in own.items() if n.startswith(MOMENT)}
    return Values(own["rows"], own.get("defined"), own.get("undefined"), moments)


class Subsample:
    """The samples that scores are computed from which need all at once: read once for all."""

    def __init__(self, left: Mapping[int, Sequence[int]]) -> None:
        self._left = left
        """Of some sources, the pieces that did not fail."""
        self._bundles: dict[tuple[int, int], Evidence] = {}
        self._digests: dict[int, str] = {}

    def __call__(self, shards: Shards, plan: Plan) -> Evidence:
        key = (id(shards), plan.n)
        if key not in self._bundles:
            self._bundles[key] = some_samples(
                shards, plan.n, plan.resampling.seed, self._left.get(id(shards))
            )
        return self._bundles[key]

    def digest(self, evidence: Sequence[Shards]) -> str:
        """Of all pieces of all seeds."""
        for shards in evidence:
            if id(shards) not in self._digests:
                digests = shards.digests()
                left = self._left.get(id(shards), range(len(digests)))
                self._digests[id(shards)] = " ".join(digests[n] for n in left)
        return " ".join(self._digests[id(shards)] for shards in evidence)
