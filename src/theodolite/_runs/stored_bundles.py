"""Stored evidence: its bundles, and what is computed from it shard by shard."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.missing_shards import BUCKETS, missing_shards_error
from theodolite._scoring.request import MetricRequest
from theodolite._storage.paths import confined
from theodolite._verdicts.per_sample import add_samples, is_of_samples, no_samples, sample_values
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence, flatten_entries
from theodolite.evidence.shards import Shards
from theodolite.evidence.store import StoredShards, is_stored, stored
from theodolite.evidence.workers import Arrays, Work, Workers

Kinds = Mapping[type[Evidence], Shards]


class StoredBundles:
    """Stored bundles, each opened once. They stay where they are."""

    def __init__(self, addresses: Sequence[str], *, by_class: bool = False) -> None:
        """With ``by_class`` whole classes are resampled."""
        self.addresses = list(addresses)
        self._bundles = [stored(address) for address in addresses]
        self.kinds: Kinds = self._by_kind()
        if by_class:
            self.kinds = {kind: bundle.by_class() for kind, bundle in self._by_kind().items()}

    def _by_kind(self) -> dict[type[Evidence], StoredShards]:
        """Return bundles by kind; one inside another serves if there is no other."""
        kinds: dict[type[Evidence], StoredShards] = {}
        for bundle in self._bundles:
            if bundle.kind in kinds:
                got = f"two bundles of {bundle.kind.kind}"
                raise EvidenceError("evidence", got, "one of a kind")
            kinds[bundle.kind] = bundle
        for address, bundle in zip(self.addresses, self._bundles, strict=True):
            for name, inner in bundle.kind.inner_kinds():
                kinds.setdefault(inner, stored(address, name))
        return kinds

    def first(self) -> dict[type[Evidence], Evidence]:
        """Return the first sample of each kind."""
        return {kind: shards.first() for kind, shards in self.kinds.items()}

    def digests(self) -> dict[str, str]:
        """Return a digest of each bundle's header and manifest, which holds all others."""
        bundles = zip(self.addresses, self._bundles, strict=True)
        return {address: bundle.digest() for address, bundle in bundles}

    def notes(self) -> list[str]:
        """Return how many chunks of adopted arrays were not there."""
        return [note for bundle in self._bundles for note in bundle.notes()]

    def count_samples(self) -> int:
        """Return the samples of the largest kind."""
        return max(map(len, self.kinds.values()))

    def largest_shard(self) -> int:
        """Return the decoded bytes of the largest shard, if samples are as large as the first."""
        return max(count_array_bytes(s.first()) * _count_rows(s) for s in self.kinds.values())

    def clusters(self) -> dict[str, int]:
        """Return the cluster of each sample by name, from the first kind that has clusters."""
        for shards in self.kinds.values():
            clusters: dict[str, int] = {}
            for samples, _ in shards.samples():
                if samples.clusters is None:
                    break
                clusters |= {samples.name(i): int(c) for i, c in enumerate(samples.clusters)}
            if clusters:
                return clusters
        return {}

    def per_sample(
        self, requests: Sequence[MetricRequest], workers: Workers
    ) -> dict[str, list[Any]]:
        """Return the columns of ``_verdicts.per_sample.per_sample``, computed shard by shard."""
        columns = no_samples()
        for request in requests:
            shards = self.kinds.get(request.metric.needs)
            if shards is None or not is_of_samples(request):
                continue
            work = Work(
                what="samples",
                do=partial(_sample_values, request),
                items=shards.shards(),
                digests=shards.digests(),
                about={
                    "samples of": [request.metric.name, request.metric.version],
                    "options": {k: repr(v) for k, v in sorted(request.all_options().items())},
                    "packages": [str(package) for package in request.metric.packages],
                },
                kept=False,  # the table is
            )
            names: list[str] = []
            parts = []
            for arrays, (samples, _) in zip(workers.each(work), shards.samples(), strict=True):
                if arrays is not None:
                    names += [samples.name(i) for i in range(len(samples))]
                    parts.append(arrays["value"])
            if parts:
                add_samples(columns, request, names, np.concatenate(parts))
        return columns


def open_stored(spec: RunSpec, data: Path) -> StoredBundles | None:
    """Open the evidence of a spec; None if it is not stored in shards."""
    addresses = [
        name if name.startswith(BUCKETS) else str(confined(data, name)) for name in spec.evidence
    ]
    in_shards = [is_stored(address) for address in addresses]
    for address, has_shards in zip(addresses, in_shards, strict=True):
        if address.startswith(BUCKETS) and not has_shards:
            raise missing_shards_error(address)
    if any(in_shards) and not all(in_shards):
        raise EvidenceError("evidence", "sharded and other bundles", "all of one sort")
    return open_addresses(spec, addresses) if any(in_shards) else None


def open_addresses(spec: RunSpec, addresses: Sequence[str]) -> StoredBundles:
    """Open stored evidence, with samples grouped as the spec says."""
    return StoredBundles(addresses, by_class=spec.resampling.clusters == "classes")


def count_array_bytes(evidence: Evidence) -> int:
    """Return the bytes of all arrays."""
    arrays = (getattr(evidence, name) for name, _ in evidence.layouts())
    own = sum(flatten_entries(array).nbytes for array in arrays if array is not None)
    return own + sum(count_array_bytes(bundle) for _, bundle in evidence._inner())


def _count_rows(shards: Shards) -> int:
    if isinstance(shards, StoredShards):
        return max(last - first for first, last, _ in shards.cuts)
    return len(shards)


def _sample_values(request: MetricRequest, piece: Any) -> Arrays:
    return {"value": sample_values(request, piece.evidence())}
