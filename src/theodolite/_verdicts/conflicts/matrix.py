"""Find pairs of questions that disagree on one model, such as accepted but unfaithful."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from theodolite._scoring.request import Resampling
from theodolite._stats.multiple import correct_holm
from theodolite._storage.tables import Words
from theodolite._verdicts.answers import AuditAnswers
from theodolite._verdicts.conflicts.counts import counted, most_extreme
from theodolite._verdicts.conflicts.excess import ShuffleTest, shuffle_test
from theodolite._verdicts.conflicts.judged import (
    JudgedItems,
    concepts,
    explanations,
    line_of,
    matched,
)
from theodolite._verdicts.conflicts.record import (
    ConflictExampleRecord,
    ConflictRecord,
    ConflictsFile,
    JudgedRecord,
    VerdictConflictRecord,
)
from theodolite._verdicts.per_sample import per_sample
from theodolite._verdicts.scores_file import IntervalRecord, NullRecord, written
from theodolite.evidence.base import Evidence
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Interval, Score, Source, Verdict

MOST_EXAMPLES = 6
UNRELATED = "unrelated questions"


def conflicts(
    answers: AuditAnswers,
    evidence: Evidence | Sequence[Evidence],
    resampling: Resampling | None = None,
) -> ConflictsFile:
    """Return where the questions of an audit disagree, on the evidence that was audited.

    An explanation (a sample) or a concept is good for a question if its value reaches the line of
    the score that the verdict is read from. Samples are matched by id; without ids by number, if
    there are as many of them.
    """
    bundles = [evidence] if isinstance(evidence, Evidence) else list(evidence)
    return conflicts_between(
        answers.verdicts, answers.scores, per_sample(answers.requests, bundles),
        clusters_of_samples(bundles), resampling or Resampling(),
    )  # fmt: skip


def conflicts_between(
    verdicts: Sequence[Verdict],
    scores: Sequence[Score],
    columns: Mapping[str, Sequence[Any] | Words | np.ndarray],
    clusters: Mapping[str, int],
    resampling: Resampling,
) -> ConflictsFile:
    """The same from verdicts, scores, a table per sample, and which cluster samples belong to."""
    asked_verdicts = [v for v in verdicts if v.answer != "not_evaluated" and v.score is not None]
    judged = [*explanations(asked_verdicts, columns), *concepts(asked_verdicts, scores)]
    pairs = [
        (first, second)
        for first, second in itertools.permutations(judged, 2)
        if first.level == second.level and first.question != second.question
    ]
    records = _records(pairs, clusters, resampling)
    paired = {id(items) for pair in pairs for items in pair}
    return ConflictsFile(
        verdicts=_between_verdicts(asked_verdicts),
        judged=[_record(items) for items in judged if id(items) in paired],
        conflicts=_corrected(records),
    )


def _records(
    pairs: Sequence[tuple[JudgedItems, JudgedItems]],
    clusters: Mapping[str, int],
    resampling: Resampling,
) -> list[ConflictRecord]:
    """Of each pair; its two directions have the same excess and are one test."""
    tests: dict[frozenset[int], ShuffleTest] = {}
    records = []
    for first, second in pairs:
        both = BothJudged.of(first, second, clusters)
        key = frozenset((id(first), id(second)))
        if key not in tests:
            tests[key] = shuffle_test(both.good, ~both.second_good, both.clusters, resampling.seed)
        records.append(_pair_record(both, tests[key], resampling))
    return records


def _corrected(records: Sequence[ConflictRecord]) -> list[ConflictRecord]:
    """With p-values for all pairs of the report at once, of those that can tell anything."""
    keys = [(record.level, frozenset((record.good, record.bad))) for record in records]
    tests = {
        key: record.null.p
        for key, record in zip(keys, records, strict=True)
        if record.p is not None and record.null.p is not None
    }
    steps = dict(zip(tests, correct_holm(list(tests.values())).p.tolist(), strict=True))
    return [
        record.model_copy(update={"p": steps.get(key)})
        for key, record in zip(keys, records, strict=True)
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
            "level": items.level,
            "metric": items.score.metric,
            "options": {k: list(v) if isinstance(v, tuple) else v
                        for k, v in items.score.options.items()},
            "better": items.score.better,
            "threshold": line,
            "threshold_kind": is_,
            "n": int((~undefined).sum()),
            "n_undefined": int(undefined.sum()),
            "n_good": int((items.good & ~undefined).sum()),
        }
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class BothJudged:
    """Items that both questions judge, and what they say of each."""

    first: JudgedItems
    second: JudgedItems
    rows: Int[np.ndarray, " items"]
    second_rows: Int[np.ndarray, " items"]
    clusters: Int[np.ndarray, " items"] | None
    n_undefined: int
    n_unmatched: int

    @classmethod
    def of(
        cls, first: JudgedItems, second: JudgedItems, clusters: Mapping[str, int]
    ) -> "BothJudged":
        """Matched by name."""
        names, rows, second_rows = matched(first, second)
        both = ~np.isnan(first.values[rows]) & ~np.isnan(second.values[second_rows])
        judged_names = [name for name, judged in zip(names, both, strict=True) if judged]
        groups = None
        if (
            first.level == "explanations"
            and judged_names
            and all(name in clusters for name in judged_names)
        ):
            groups = np.array([clusters[name] for name in judged_names])
        known = set(first.names), set(second.names)
        unmatched = len(known[0] ^ known[1]) if names else len(first.names) + len(second.names)
        return cls(
            first, second, rows[both], second_rows[both], groups, int((~both).sum()), unmatched
        )

    @property
    def good(self) -> Bool[np.ndarray, " items"]:
        """Whether each item is good by the first question."""
        return np.asarray(self.first.good[self.rows])

    @property
    def second_good(self) -> Bool[np.ndarray, " items"]:
        """Whether each item is good by the second question."""
        return np.asarray(self.second.good[self.second_rows])

    @property
    def by_number(self) -> bool:
        """Whether two kinds of evidence were matched by the numbers of their rows."""
        both = (self.first, self.second)
        kinds = {find_metric(items.score.metric).needs for items in both}
        numbered = all(items.numbered for items in both)
        return self.first.level == "explanations" and len(kinds) > 1 and numbered

    def examples(self) -> list[ConflictExampleRecord]:
        """The most extreme conflicts."""
        apart = self.good & ~self.second_good
        rows, second_rows = self.rows[apart], self.second_rows[apart]
        names = [self.first.names[row] for row in rows]
        chosen = most_extreme(
            self.first.goodness[rows], self.second.goodness[second_rows], names, MOST_EXAMPLES
        )
        return [
            ConflictExampleRecord(
                name=names[i],
                good_value=float(self.first.values[rows[i]]),
                bad_value=float(self.second.values[second_rows[i]]),
            )
            for i in chosen
        ]


def _pair_record(both: BothJudged, test: ShuffleTest, resampling: Resampling) -> ConflictRecord:
    over: Source = "samples" if both.first.level == "explanations" else "concepts"
    count = counted(both.good, both.second_good, both.clusters, resampling, over)
    null = NullRecord(
        name=UNRELATED,
        value=written(count.expected),
        difference=_interval(count.excess),
        p=written(test.p),
    )
    return ConflictRecord(
        good=both.first.question,
        bad=both.second.question,
        level=both.first.level,
        n=count.n,
        n_conflicts=count.n_conflicts,
        n_undefined=both.n_undefined,
        n_unmatched=both.n_unmatched,
        n_clusters=test.n_clusters,
        share=written(count.share),
        interval=_interval(count.interval),
        null=null,
        p=written(test.p) if test.tells else None,
        by_number=both.by_number,
        kappa=written(count.kappa),
        kappa_interval=_interval(count.kappa_interval),
        examples=both.examples(),
    )


def _interval(interval: Interval | None) -> IntervalRecord | None:
    return None if interval is None else IntervalRecord.model_validate(vars(interval))
