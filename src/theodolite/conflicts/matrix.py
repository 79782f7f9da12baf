"""Where the questions disagree on one model: accepted but unfaithful, located but not there."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.conflicts.counts import ConflictCount, counted, most_extreme
from theodolite.conflicts.judged import JudgedItems, concepts, explanations, line_of, matched
from theodolite.conflicts.record import (
    ConflictExampleRecord,
    ConflictRecord,
    ConflictsFile,
    JudgedRecord,
    VerdictConflictRecord,
)
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load
from theodolite.io.tables import Words, read_coded
from theodolite.metrics.accepted.correlation_table import corrected
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Interval, Score, Source, Verdict
from theodolite.run_folder.headlines import resampling_of, verdicts_of
from theodolite.run_folder.run_file import RunRecord, read_record
from theodolite.run_folder.scores_file import IntervalRecord, NullRecord, read_scores, written
from theodolite.run_folder.spec import RunSpec
from theodolite.run_folder.written import per_sample
from theodolite.scoring.request import Resampling
from theodolite.verdicts.answers import AuditAnswers

FILE = "conflicts.json"
MOST_EXAMPLES = 6
UNRELATED = "unrelated questions"


def conflicts(
    answers: AuditAnswers,
    evidence: Evidence | Sequence[Evidence],
    resampling: Resampling | None = None,
) -> ConflictsFile:
    """Where the questions of an audit disagree, on the evidence that was audited.

    An explanation (a sample) or a concept is good for a question if its value reaches the line of
    the score that the verdict is read from. Samples are matched by id; without ids by number, if
    there are as many of them.
    """
    bundles = [evidence] if isinstance(evidence, Evidence) else list(evidence)
    return conflicts_between(
        answers.verdicts, answers.scores, per_sample(answers.requests, bundles),
        clusters_of_samples(bundles), resampling or Resampling(),
    )  # fmt: skip


def folder_conflicts(folder: Path) -> ConflictsFile:
    """The same of a finished run: what its file says, or counted now if it has none."""
    if (folder / FILE).is_file():
        return read_record(folder / FILE, ConflictsFile)
    spec = read_record(folder / "run.json", RunRecord).spec
    scores, _ = read_scores(folder / "scores.json")
    table = folder / "per_sample.parquet"
    columns = read_coded(table) if table.is_file() else {}
    stored = folder / "evidence" / f"seed-{spec.seeds[0]}"
    bundles = [load(kind) for kind in sorted(stored.iterdir())] if stored.is_dir() else []
    return conflicts_of_run(spec, scores, columns, bundles)


def conflicts_of_run(
    spec: RunSpec,
    scores: Sequence[Score],
    columns: Mapping[str, Sequence[Any] | Words | np.ndarray],
    bundles: Sequence[Evidence],
) -> ConflictsFile:
    """The same from the scores, the table of samples and the evidence of a run's first seed."""
    return conflicts_between(
        verdicts_of(spec, scores), scores, columns,
        clusters_of_samples(bundles), resampling_of(spec),
    )  # fmt: skip


def conflicts_between(
    verdicts: Sequence[Verdict],
    scores: Sequence[Score],
    columns: Mapping[str, Sequence[Any] | Words | np.ndarray],
    clusters: Mapping[str, int],
    resampling: Resampling,
) -> ConflictsFile:
    """The same from verdicts, scores, a table per sample, and which cluster samples belong to."""
    asked_verdicts = [v for v in verdicts if v.answer != "not asked" and v.score is not None]
    judged = [*explanations(asked_verdicts, columns), *concepts(asked_verdicts, scores)]
    pairs = [
        (first, second)
        for first, second in itertools.permutations(judged, 2)
        if first.of == second.of and first.question != second.question
    ]
    paired = {id(items) for pair in pairs for items in pair}
    return ConflictsFile(
        verdicts=_between_verdicts(asked_verdicts),
        judged=[_record(items) for items in judged if id(items) in paired],
        conflicts=_corrected(
            [_pair(first, second, clusters, resampling) for first, second in pairs]
        ),
    )


def _corrected(records: Sequence[ConflictRecord]) -> list[ConflictRecord]:
    """With p-values for all pairs of a level at once.

    The two directions of a pair are one test: with the margins as they are, either count says the
    other, and both have the same p-value.
    """
    tests = {(record.of, frozenset((record.good, record.bad))): record.p for record in records}
    for level in {record.of for record in records}:
        own = {key: p for key, p in tests.items() if key[0] == level}
        raw = np.array([np.nan if p is None else p for p in own.values()])
        tests |= dict(zip(own, map(written, corrected(raw, "holm").tolist()), strict=True))
    return [
        record.model_copy(update={"p": tests[record.of, frozenset((record.good, record.bad))]})
        for record in records
    ]


def clusters_of_samples(bundles: Sequence[Evidence]) -> dict[str, int]:
    """The cluster of each sample by name, from the first evidence that has clusters."""
    for bundle in bundles:
        samples = bundle.samples
        if samples.clusters is not None:
            return {samples.name(i): int(c) for i, c in enumerate(samples.clusters)}
    return {}


def _between_verdicts(verdicts: Sequence[Verdict]) -> list[VerdictConflictRecord]:
    """A yes or partly beside a no."""
    good = [v for v in verdicts if v.answer in ("yes", "partly")]
    return [
        VerdictConflictRecord(
            good=good_verdict.question,
            bad=bad_verdict.question,
            good_answer=good_verdict.answer,
            bad_answer=bad_verdict.answer,
        )
        for good_verdict in sorted(good, key=lambda v: v.answer != "yes")
        for bad_verdict in verdicts
        if bad_verdict.answer == "no"
    ]


def _record(items: JudgedItems) -> JudgedRecord:
    line, is_ = line_of(items.score)
    undefined = np.isnan(items.values)
    return JudgedRecord.model_validate(
        {
            "question": items.question,
            "of": items.of,
            "metric": items.score.metric,
            "options": {k: list(v) if isinstance(v, tuple) else v
                        for k, v in items.score.options.items()},
            "better": items.score.better,
            "line": line,
            "line_is": is_,
            "n": int((~undefined).sum()),
            "n_undefined": int(undefined.sum()),
            "n_good": int((items.good & ~undefined).sum()),
        }
    )  # fmt: skip


def _pair(
    first: JudgedItems, second: JudgedItems, clusters: Mapping[str, int], resampling: Resampling
) -> ConflictRecord:
    names, rows, second_rows = matched(first, second)
    values, second_values = first.values[rows], second.values[second_rows]
    both = ~np.isnan(values) & ~np.isnan(second_values)
    good, second_good = first.good[rows][both], second.good[second_rows][both]
    judged_names = [name for name, judged in zip(names, both, strict=True) if judged]
    groups = None
    if (
        first.of == "explanations"
        and judged_names
        and all(name in clusters for name in judged_names)
    ):
        groups = np.array([clusters[name] for name in judged_names])
    over: Source = "samples" if first.of == "explanations" else "concepts"
    count = counted(good, second_good, groups, resampling, over)
    rows, second_rows = rows[both][good & ~second_good], second_rows[both][good & ~second_good]
    named = [first.names[row] for row in rows]
    chosen = most_extreme(first.goodness[rows], second.goodness[second_rows], named, MOST_EXAMPLES)
    examples = [
        ConflictExampleRecord(
            name=named[i],
            good_value=float(first.values[rows[i]]),
            bad_value=float(second.values[second_rows[i]]),
        )
        for i in chosen
    ]
    unmatched = (
        len(set(first.names) ^ set(second.names)) if names else len(first.names) + len(second.names)
    )
    return _pair_record(first, second, count, examples, (int((~both).sum()), unmatched))


def _pair_record(
    first: JudgedItems,
    second: JudgedItems,
    count: ConflictCount,
    examples: list[ConflictExampleRecord],
    left_out: tuple[int, int],
) -> ConflictRecord:
    kinds = {find_metric(items.score.metric).needs for items in (first, second)}
    null = NullRecord(
        name=UNRELATED, value=written(count.expected), difference=_interval(count.excess)
    )
    return ConflictRecord(
        good=first.question,
        bad=second.question,
        of=first.of,
        n=count.n,
        n_conflicts=count.n_conflicts,
        n_undefined=left_out[0],
        n_unmatched=left_out[1],
        share=written(count.share),
        interval=_interval(count.interval),
        null=null,
        p=written(count.p),
        by_number=first.of == "explanations"
        and len(kinds) > 1
        and first.numbered
        and second.numbered,
        kappa=written(count.kappa),
        kappa_interval=_interval(count.kappa_interval),
        examples=examples,
    )


def _interval(interval: Interval | None) -> IntervalRecord | None:
    return None if interval is None else IntervalRecord.model_validate(vars(interval))
