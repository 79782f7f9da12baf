"""The input of an audit: bundles of evidence and what is known about their origin.

`reading`, `network`, `common` and other modules of this folder create an `EvidenceSource`, and
`result` scores it. The functions here merge and annotate sources.
"""

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theodolite._runs.missing_shards import BUCKETS
from theodolite._verdicts.answers import by_kind
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.subject import Claim, Subject, make_unstated_subject
from theodolite.metrics.catalogue import catalogue

if TYPE_CHECKING:
    from theodolite._runs.folder_reader import RunFolder
    from theodolite._runs.stored_bundles import StoredBundles

Fact = tuple[str, float | int | str]


@dataclass(frozen=True, eq=False)
class EvidenceSource:
    """Evidence to audit, by seed, and what is known about it."""

    name: str
    evidence: Sequence[Sequence[Evidence]] = ()
    """Bundles of each seed; a kind that has fewer seeds is only in the first entries."""
    stored: tuple[str, ...] = ()
    """Addresses of sharded evidence, which is not copied."""
    local: tuple[Path, ...] = ()
    """Files and folders that it was read from."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Digest of each input, by name."""
    notes: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    tables: Mapping[str, Mapping[str, Sequence[object]]] = field(default_factory=dict)
    image: Callable[[str], bytes] | None = None
    """Function from a sample's id to its image as JPEG, if images are available."""
    thumbnails: Mapping[int, bytes] = field(default_factory=dict)
    """Images of a few samples as JPEG or PNG, by row, if arrays were passed with images."""
    runs: tuple["RunFolder", ...] = ()
    """The runs that wrote it, whose images and tables the report shows."""
    run_alone: bool = True
    """Whether a run is the only source of this audit."""
    subject: Subject | None = None
    """The audited explanation and what it is compared with, if known."""
    claim: Claim | None = None
    """The claim of the explanation in words, if the user gave it."""

    @property
    def run(self) -> "RunFolder | None":
        """The first of the runs; its settings are those of the audit."""
        return self.runs[0] if self.runs else None

    @property
    def stated_subject(self) -> Subject:
        """The subject; without one, a subject whose outputs were given as arrays."""
        return self.subject or make_unstated_subject(self.name)

    def open_stored(self) -> "StoredBundles":
        """Open the evidence in shards."""
        from theodolite._runs.stored_bundles import StoredBundles  # noqa: PLC0415  reads Zarr

        return StoredBundles(self.stored)

    def kinds(self) -> dict[type[Evidence], Evidence]:
        """Return the evidence of the first seed by kind; of sharded evidence the first sample."""
        return self.open_stored().first() if self.stored else by_kind(self.first)

    @property
    def first(self) -> Sequence[Evidence]:
        """The bundles of the first seed, which has all kinds."""
        return self.evidence[0] if self.evidence else ()

    @property
    def root(self) -> Path:
        """The common parent folder of all sharded evidence that is not in a bucket."""
        folders = [Path(a).parent for a in self.stored if not a.startswith(BUCKETS)]
        return Path(os.path.commonpath(folders)) if folders else Path()

    @property
    def stored_names(self) -> list[str]:
        """Sharded evidence as a spec names it: by path below the root, or by bucket address."""
        return [
            a if a.startswith(BUCKETS) else Path(a).relative_to(self.root).as_posix()
            for a in self.stored
        ]


def merge_sources(parts: Sequence[EvidenceSource]) -> EvidenceSource:
    """Merge sources into one; each kind of evidence may come from one of them only."""
    if not parts:
        raise EvidenceError("evidence", "none", "some", "docs/audit.md says what can be given.")
    if len(parts) == 1:
        by_kind(parts[0].first)
        return parts[0]
    if any(part.stored for part in parts):
        return _merge_sharded(parts)
    n = max(len(part.evidence) for part in parts)
    seeds = [[b for p in parts for b in (p.evidence[s : s + 1] or [[]])[0]] for s in range(n)]
    by_kind(seeds[0])
    return EvidenceSource(
        ", ".join(part.name for part in parts),
        seeds,
        local=tuple(path for part in parts for path in part.local),
        inputs={name: digest for part in parts for name, digest in part.inputs.items()},
        notes=(
            *dict.fromkeys(n for part in parts for n in part.notes),
            *_note_unmatched_samples(seeds[0]),
        ),
        facts=tuple(fact for part in parts for fact in part.facts),
        runs=_join_runs(parts),
        run_alone=False,
        subject=_joint_subject(parts),
        claim=next((part.claim for part in parts if part.claim is not None), None),
    )


def with_claim(source: EvidenceSource, claim: str | None) -> EvidenceSource:
    """Return the source with the text of its claim; other fields of the claim stay."""
    if not claim:
        return source
    return replace(source, claim=replace(source.claim or Claim(""), text=claim))


def with_annotation_error(source: EvidenceSource | None, rate: float) -> EvidenceSource:
    """Return the source with a declared rate of wrong annotations in its concept evidence."""
    if source is None or not any(isinstance(b, ConceptEvidence) for b in source.first):
        where = "a model" if source is None else repr(source.name)
        got = f"no concept evidence in memory in {where}"
        raise EvidenceError(
            "--annotation-error", got, "concept evidence of a file",
            "Sharded evidence declares it as `annotation_error` when it is written.",
        )  # fmt: skip

    def declare(bundle: Evidence) -> Evidence:
        if not isinstance(bundle, ConceptEvidence):
            return bundle
        return replace(bundle, annotation_error=np.full(np.shape(bundle.values)[1], rate))

    return replace(source, evidence=[[declare(b) for b in bundles] for bundles in source.evidence])


def _joint_subject(parts: Sequence[EvidenceSource]) -> Subject | None:
    """Return the subject of the part that faithfulness is computed on, else the first one."""
    metrics = catalogue().values()
    kinds = {m.needs for m in metrics if m.question == "faithful" and m.decides}
    with_outputs = [part for part in parts if any(type(b) in kinds for b in part.first)]
    for part in (*with_outputs, *parts):
        if part.subject is not None or part in with_outputs:
            return part.subject
    return None


def _join_runs(parts: Sequence[EvidenceSource]) -> tuple["RunFolder", ...]:
    """Return the runs whose images the report can show: their rows must be those of the evidence.

    The run with concepts comes first. Runs of different models, layers or files are refused.
    """
    runs = sorted((part for part in parts if part.runs), key=lambda part: not _has_concepts([part]))
    for first, second in itertools.combinations(runs, 2):
        _check_same(first, second)
    if _has_concepts([part for part in parts if not part.runs]):
        return ()
    return tuple(run for part in runs for run in part.runs)


def _has_concepts(parts: Sequence[EvidenceSource]) -> bool:
    return any(type(b) in (ConceptEvidence, LocationEvidence) for p in parts for b in p.first)


def _check_same(first: EvidenceSource, second: EvidenceSource) -> None:
    """Refuse runs of different networks or data, whose answers do not belong together."""
    wrong = [
        f"{name}: {own[:40]!r} and {other[:40]!r}"
        for name, own, other in (
            ("network", first.stated_subject.model or "", second.stated_subject.model or ""),
            ("data", first.stated_subject.data, second.stated_subject.data),
            *((name, digest, second.inputs.get(name, "")) for name, digest in first.inputs.items()),
        )
        if own and other and own != other
    ]
    if wrong:
        raise EvidenceError(
            f"runs {first.name!r} and {second.name!r}", wrong[0],
            "runs of the same model on the same data", "Audit them one by one.",
        )  # fmt: skip


def _merge_sharded(parts: Sequence[EvidenceSource]) -> EvidenceSource:
    others = [part.name for part in parts if not part.stored]
    if others:
        raise EvidenceError(
            "evidence", f"sharded evidence, and {others[0]!r} in memory", "all of one sort",
            "`theodolite data store` writes sharded evidence.",
        )  # fmt: skip
    return EvidenceSource(
        ", ".join(part.name for part in parts),
        stored=tuple(address for part in parts for address in part.stored),
        local=tuple(path for part in parts for path in part.local),
        subject=next((part.subject for part in parts if part.subject is not None), None),
    )


def _note_unmatched_samples(bundles: Sequence[Evidence]) -> list[str]:
    """Describe pairs of bundles whose samples differ, or are only assumed to be the same."""
    notes = []
    for first, second in itertools.pairwise(bundles):
        pair = f"The {first.kind} evidence and the {second.kind} evidence"
        if first.samples.ids is not None and second.samples.ids is not None:
            same_unit = first.samples_are == second.samples_are  # ratings are of explanations
            if same_unit and not set(map(str, first.samples.ids)) & set(
                map(str, second.samples.ids)
            ):
                notes.append(f"{pair} have no sample in common: are they of the same data?")
        elif len(first) != len(second):
            notes.append(
                f"{pair} have {len(first):,} and {len(second):,} samples, and no names tell which "
                "are the same: give `ids`."
            )
        else:
            notes.append(
                f"{pair} are taken to be of the same samples, row by row, for no names tell which "
                "are the same: give `ids`."
            )
    return notes


def list_conversions(bundles: Sequence[Evidence]) -> list[str]:
    """List how inputs such as data frames, tensors and words were converted to arrays."""
    lines = [line for bundle in bundles for line in bundle.conversions]
    inner = [part for bundle in bundles for _, part in bundle._inner()]
    return list(dict.fromkeys([*(list_conversions(inner) if inner else []), *lines]))


def note_single_class(bundles: Sequence[Evidence]) -> list[str]:
    """Return a note if all labels are one class, else no note."""
    for bundle in by_kind(bundles).values():
        labels = getattr(bundle, "labels", None)
        if labels is not None and len(labels) > 1 and len(set(labels.tolist())) == 1:
            return [
                f"All labels are one class ({int(labels[0])}): scores that need classes say "
                "nothing. Were they counted, or cut, wrongly?"
            ]
    return []
