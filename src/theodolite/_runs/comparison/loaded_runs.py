"""Load run folders for comparisons: their scores, verdicts and evidence.

Used by `compare_runs`, `leaderboard`, `drift` and the other modules of this folder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from theodolite._runs.folder.checksums import MANIFEST, check_no_links, verify_checksums
from theodolite._runs.folder.run_records import ProducedRecord, RunRecord
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.missing_shards import BUCKETS
from theodolite._runs.stored_bundles import open_addresses
from theodolite._verdicts.answers import by_kind
from theodolite._verdicts.scores_file import VerdictRecord
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load_all
from theodolite.evidence.shards import Shards, draw_samples
from theodolite.evidence.subject import Subject, make_unstated_subject
from theodolite.questions import Question
from theodolite.results import Score

MAX_STORED = 50_000
"""Maximum number of samples of sharded evidence that are loaded into memory."""

Kinds = dict[type[Evidence], Evidence]
Key = tuple[str, int, str]
"""Metric, version and options: scores with the same key are comparable."""


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A finished run that was read from its folder and verified."""

    folder: Path
    name: str
    """Name that distinguishes it from the other runs."""
    record: RunRecord
    made_record: ProducedRecord
    scores: tuple[Score, ...]
    verdicts: dict[Question, VerdictRecord]
    sealed: bool
    subject: Subject = field(default_factory=make_unstated_subject)
    """The audited explanation, and the outputs that it is compared with."""

    @property
    def title(self) -> str:
        """Title of the run's spec, or its name."""
        return self.record.spec.title or self.record.spec.name

    @cached_property
    def by_key(self) -> dict[Key, Score]:
        """Scores by metric, version and options."""
        return {get_score_key(score): score for score in self.scores}

    def headline(self, question: Question) -> Score | None:
        """Return the score that the verdict on a question was read from."""
        verdict = self.verdicts.get(question)
        if verdict is None:
            return None
        key = (verdict.metric, _to_canonical_json(verdict.options))
        return next(
            (s for s in self.scores if (s.metric, _to_canonical_json(s.options)) == key), None
        )

    @cached_property
    def evidence(self) -> list[Kinds]:
        """Evidence of each seed by kind; raises an error if it is not available."""
        if self.made_record.stored:
            stored = self.shards.items()
            return [{kind: draw_samples(shards, MAX_STORED, 0) for kind, shards in stored}]
        return [by_kind(load_all(seed)[0]) for seed in RunFolder(self.folder).seed_folders()]

    def free_evidence(self) -> None:
        """Free the memory of the evidence; the next access reads it again."""
        self.__dict__.pop("evidence", None)

    @cached_property
    def shards(self) -> Mapping[type[Evidence], Shards]:
        """Sharded evidence by kind; raises an error unless it is on this machine and unchanged."""
        what, addresses = f"run {self.name!r}", self.made_record.stored
        if any(address.startswith(BUCKETS) for address in addresses):
            raise UnsafeInputError(what, "evidence in a bucket", "evidence on this machine")
        try:
            stored = open_addresses(self.record.spec, addresses)
        except EvidenceError as error:
            raise UnsafeInputError(
                what, "no evidence where it was", "evidence as it was"
            ) from error
        if not stored.digests().items() <= self.made_record.inputs.items():
            raise UnsafeInputError(what, "evidence that was changed since", "evidence as it was")
        return stored.kinds

    @property
    def is_large(self) -> bool:
        """Whether its evidence is compared shard by shard, because it may not fit into memory."""
        return bool(self.made_record.stored) and max(map(len, self.shards.values())) > MAX_STORED


def load_run(folder: Path, *, must_be_sealed: bool = True) -> LoadedRun:
    """Load a finished run; raise an error if its files were changed since."""
    if not (folder / "run.json").is_file():
        raise UnsafeInputError(f"run {folder.name!r}", "no run.json", "a run folder")
    check_no_links(folder)
    sealed = (folder / MANIFEST).is_file()
    if sealed or must_be_sealed:
        verify_checksums(folder)
    run = RunFolder(folder)
    verdicts = {verdict.question: verdict for verdict in run.scores_file.verdicts}
    return LoadedRun(
        folder, folder.resolve().name, run.record, run.made_record, tuple(run.scored[0]), verdicts,
        sealed, run.subject,
    )  # fmt: skip


def load_runs(folders: Sequence[Path]) -> list[LoadedRun]:
    """Load several runs, each with a distinct name."""
    runs = [load_run(folder) for folder in folders]
    names = [run.name for run in runs]
    if len({run.folder.resolve() for run in runs}) < len(runs):
        raise EvidenceError("runs", "a folder twice", "different run folders")
    named = []
    for run in runs:
        clash = names.count(run.name) > 1
        name = f"{run.folder.resolve().parent.name}/{run.name}" if clash else run.name
        named.append(replace(run, name=name))
    return named


def explain_unlike_outputs(first: LoadedRun, second: LoadedRun) -> str:
    """Return why *faithful* of two runs is not comparable; empty if it is."""
    if first.subject.outputs == second.subject.outputs:
        return ""
    names = [run.subject.wording.name for run in (first, second)]
    return f"faithful to different things: {names[0]}, and {names[1]}"


def get_score_key(score: Score) -> Key:
    """Return metric, version and options of a score as a key."""
    return score.metric, score.version, _to_canonical_json(score.options)


def _to_canonical_json(options: dict[str, Any]) -> str:
    plain = {k: list(v) if isinstance(v, list | tuple) else v for k, v in options.items()}
    return repr(sorted(plain.items()))
