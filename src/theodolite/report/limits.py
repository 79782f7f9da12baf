"""Write the limits of an audit: general sentences, and all caveats for the appendix."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from theodolite._runs.folder.run_records import ProducedRecord, RunRecord
from theodolite._runs.folder.spec import RunSpec
from theodolite._verdicts.words import joined, number_word
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue
from theodolite.report.formulas import with_code
from theodolite.report.methods import anchor
from theodolite.report.sentences import with_noun
from theodolite.report.words import source_words, title, worst_first
from theodolite.results import Score, Verdict

MOST = 6
"""Number of limits that are shown; all others are in the appendix."""
Limit = tuple[str, str | Markup]
"""A few words, and a sentence."""


def limits(
    record: RunRecord,
    made_record: ProducedRecord,
    verdicts: Sequence[Verdict],
    subject: Subject,
    noun: str,
) -> list[Limit]:
    """At most six, the first about what scores are compared with, the last on intervals."""
    answered = [v for v in verdicts if v.score is not None]
    scores = [v.score for v in answered if v.score is not None]
    first = [*_compared_with(answered, subject), *_partial(made_record)]
    last = _varied(scores, record.spec)
    room = MOST - len(first) - len(last)
    notes: list[Limit] = [("", with_code(note)) for note in made_record.notes]
    misleading = [_misleads(v.score, noun) for v in worst_first(answered) if v.score is not None]
    some = [*misleading[:1], *notes, *misleading[1:]]
    return [*first, *some[:room], *last]


def _compared_with(answered: Sequence[Verdict], subject: Subject) -> list[Limit]:
    """Return a limit that names the outputs of faithfulness, or else the baselines."""
    faithful = any(v.question == "faithful" for v in answered)
    if (faithful or subject.outputs == "probe_only") and subject.reference:
        apart = "" if faithful else " It does not decide a verdict here."
        return [("Faithful to what?", f"{subject.reference}{apart}")]
    names = dict.fromkeys(
        v.score.null.label
        for v in answered
        if v.score is not None and v.score.null is not None and not math.isnan(v.score.null.value)
    )
    if not names:
        return []
    text = f"Scores are compared with {joined(list(names))}, not with other explanations."
    return [("Better than what?", text)]


def _partial(made_record: ProducedRecord) -> list[Limit]:
    n = made_record.failed_tasks
    text = f"{n:,} tasks failed. All scores are computed without their samples."
    return [("This run is incomplete.", text)] if n else []


def _misleads(score: Score, noun: str) -> Limit:
    metric = catalogue().get(score.metric)
    text = "" if metric is None else metric.card.limitations
    first = text.partition(". ")[0].rstrip(".")
    return _link(score, f"{title(score)}."), escape(with_noun(f"{first}.", noun))


def _link(score: Score, text: str) -> Markup:
    return Markup('<a href="#{}">{}</a>').format(anchor(score.metric), text)


def _varied(scores: Sequence[Score], spec: RunSpec) -> list[Limit]:
    """What intervals are over, and so what they say nothing of."""
    over = dict.fromkeys(source_words(s.interval, spec) for s in scores if s.interval is not None)
    if not over:
        return []
    n = len(spec.seeds)
    trained = "One model" if n == 1 else f"{number_word(n).capitalize()} seeds"
    samples = max((s.n_samples or s.n for s in scores), default=0)
    varied = joined(list(over))
    text = f"Intervals show how results vary over {varied}. Results can differ on other data sets."
    return [(f"{trained}, {samples:,} samples, one data set.", text)]


def doubts(
    spec: RunSpec,
    made_record: ProducedRecord,
    verdicts: Sequence[Verdict],
    not_computed: Sequence[tuple[str, Sequence[str]]],
) -> dict[str, Any]:
    """Return all caveats of this run, for the appendix."""
    deciding = {v.score.metric: v.score for v in verdicts if v.score is not None}
    known = {name: score for name, score in deciding.items() if name in catalogue()}
    return {
        "limitations": [
            (_link(score, title(score)), catalogue()[name].card.limitations)
            for name, score in known.items()
        ],
        "undefined": [
            (
                title(score),
                f"{score.n_undefined:,} of {score.n + score.n_undefined:,} {score.n_unit}",
            )
            for score in deciding.values()
            if score.n_undefined
        ],
        "differs": spec.report.differs,
        "notes": made_record.notes,
        "not_computed": [
            (catalogue()[name].title if name in catalogue() else name, f"needs {', '.join(needs)}")
            for name, needs in not_computed
        ],
    }
