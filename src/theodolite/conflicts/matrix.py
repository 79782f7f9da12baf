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
    found: AuditAnswers,
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
        found.verdicts, found.scores, per_sample(found.requests, bundles),
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
    answers: Sequence[Verdict],
    scores: Sequence[Score],
    columns: Mapping[str, Sequence[Any] | Words | np.ndarray],
    clusters: Mapping[str, int],
    resampling: Resampling,
) -> ConflictsFile:
    """The same from verdicts, scores, a table per sample, and which cluster samples belong to."""
    asked = [v for v in answers if v.answer != "not asked" and v.score is not None]
    judged = [*explanations(asked, columns), *concepts(asked, scores)]
    pairs = [
        (one, other)
        for one, other in itertools.permutations(judged, 2)
        if one.of == other.of and one.question != other.question
    ]
    paired = {id(one) for pair in pairs for one in pair}
    return ConflictsFile(
        verdicts=_between_verdicts(asked),
        judged=[_record(one) for one in judged if id(one) in paired],
        conflicts=_corrected([_pair(one, other, clusters, resampling) for one, other in pairs]),
    )


def _corrected(found: Sequence[ConflictRecord]) -> list[ConflictRecord]:
    """With p-values for all pairs of a level at once.

    The two directions of a pair are one test: with the margins as they are, either count says the
    other, and both have the same p-value.
    """
    tests = {(one.of, frozenset((one.good, one.bad))): one.p for one in found}
    for level in {one.of for one in found}:
        own = {key: p for key, p in tests.items() if key[0] == level}
        raw = np.array([np.nan if p is None else p for p in own.values()])
        tests |= dict(zip(own, map(written, corrected(raw, "holm").tolist()), strict=True))
    return [
        one.model_copy(update={"p": tests[one.of, frozenset((one.good, one.bad))]}) for one in found
    ]


def clusters_of_samples(bundles: Sequence[Evidence]) -> dict[str, int]:
    """The cluster of each sample by name, from the first evidence that has clusters."""
    for bundle in bundles:
        samples = bundle.samples
        if samples.clusters is not None:
            return {samples.name(i): int(c) for i, c in enumerate(samples.clusters)}
    return {}


def _between_verdicts(asked: Sequence[Verdict]) -> list[VerdictConflictRecord]:
    """A yes or partly beside a no."""
    good = [v for v in asked if v.answer in ("yes", "partly")]
    return [
        VerdictConflictRecord(
            good=one.question, bad=other.question, good_answer=one.answer, bad_answer=other.answer
        )
        for one in sorted(good, key=lambda v: v.answer != "yes")
        for other in asked
        if other.answer == "no"
    ]


def _record(one: JudgedItems) -> JudgedRecord:
    line, is_ = line_of(one.score)
    undefined = np.isnan(one.values)
    return JudgedRecord.model_validate(
        {
            "question": one.question,
            "of": one.of,
            "metric": one.score.metric,
            "options": {k: list(v) if isinstance(v, tuple) else v
                        for k, v in one.score.options.items()},
            "better": one.score.better,
            "line": line,
            "line_is": is_,
            "n": int((~undefined).sum()),
            "n_undefined": int(undefined.sum()),
            "n_good": int((one.good & ~undefined).sum()),
        }
    )  # fmt: skip


def _pair(
    one: JudgedItems, other: JudgedItems, clusters: Mapping[str, int], resampling: Resampling
) -> ConflictRecord:
    names, rows, other_rows = matched(one, other)
    values, other_values = one.values[rows], other.values[other_rows]
    both = ~np.isnan(values) & ~np.isnan(other_values)
    good, other_good = one.good[rows][both], other.good[other_rows][both]
    kept = [name for name, judged in zip(names, both, strict=True) if judged]
    groups = None
    if one.of == "explanations" and kept and all(name in clusters for name in kept):
        groups = np.array([clusters[name] for name in kept])
    over: Source = "samples" if one.of == "explanations" else "concepts"
    numbers = counted(good, other_good, groups, resampling, over)
    rows, other_rows = rows[both][good & ~other_good], other_rows[both][good & ~other_good]
    named = [one.names[row] for row in rows]
    chosen = most_extreme(one.goodness[rows], other.goodness[other_rows], named, MOST_EXAMPLES)
    examples = [
        ConflictExampleRecord(
            name=named[i],
            good_value=float(one.values[rows[i]]),
            bad_value=float(other.values[other_rows[i]]),
        )
        for i in chosen
    ]
    unmatched = (
        len(set(one.names) ^ set(other.names)) if names else len(one.names) + len(other.names)
    )
    return _pair_record(one, other, numbers, examples, (int((~both).sum()), unmatched))


def _pair_record(
    one: JudgedItems,
    other: JudgedItems,
    found: ConflictCount,
    examples: list[ConflictExampleRecord],
    left_out: tuple[int, int],
) -> ConflictRecord:
    kinds = {find_metric(each.score.metric).needs for each in (one, other)}
    null = NullRecord(
        name=UNRELATED, value=written(found.expected), difference=_interval(found.excess)
    )
    return ConflictRecord(
        good=one.question,
        bad=other.question,
        of=one.of,
        n=found.n,
        n_conflicts=found.n_conflicts,
        n_undefined=left_out[0],
        n_unmatched=left_out[1],
        share=written(found.share),
        interval=_interval(found.interval),
        null=null,
        p=written(found.p),
        by_number=one.of == "explanations" and len(kinds) > 1 and one.numbered and other.numbered,
        kappa=written(found.kappa),
        kappa_interval=_interval(found.kappa_interval),
        examples=examples,
    )


def _interval(given: Interval | None) -> IntervalRecord | None:
    return None if given is None else IntervalRecord.model_validate(vars(given))
