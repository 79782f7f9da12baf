"""Scores that need all samples at once: computed here, from as many as they can take."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Shards, some_samples
from theodolite.evidence.workers import Arrays, Workers
from theodolite.results import Failed
from theodolite.scoring.counting import Slot, StateJob, read, state_jobs, sums_name
from theodolite.scoring.failures import RAISED, errors_in, failure_of, raised, stays_local
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
    *,
    catches: bool = False,
) -> dict[Slot, Values] | Failed:
    """What a score says that needs all samples at once, or as many as it can take; with
    ``catches``, what its metric raised instead."""
    jobs = list(state_jobs(request, plan, len(evidence)))

    def measured() -> Arrays:
        arrays: dict[str, np.ndarray] = {}
        known = _KnownSums()
        for number, job in enumerate(jobs):
            bundle = subsample(evidence[job.experiment], plan)
            try:
                values = read(job, job.state(job.changed(bundle, known.of(job, bundle))))
            except Exception as error:
                if not catches or not stays_local(request.metric, error):
                    raise
                return {f"{number}:{RAISED}": raised(error)}
            arrays |= {f"{number}.{name}": array for name, array in _arrays(values).items()}
        return arrays

    description: dict[str, Any] = {
        "pooled": [job.describe({}) | {"read": repr(job.finish())} for job in jobs],
        "samples": plan.n,
        "seed": plan.resampling.seed,
        "shuffles": plan.resampling.shuffles,
    }
    arrays = workers.once(description, subsample.digest(evidence), measured)
    for number, content in errors_in(arrays).items():
        return failure_of(request, jobs[int(number)].stage, content)
    return {job.slot: _values(arrays, f"{number}.") for number, job in enumerate(jobs)}


class _KnownSums:
    """What nulls must know about the samples, learnt once for all their draws."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str], Arrays] = {}

    def of(self, job: StateJob, bundle: Evidence) -> dict[str, Arrays]:
        """Of the seed's samples that the score is computed from."""
        if not job.learns:
            return {}
        key = (job.experiment, sums_name(job))
        if key not in self._sums:
            self._sums[key] = job.sums(bundle)
        return {sums_name(job): self._sums[key]}


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
