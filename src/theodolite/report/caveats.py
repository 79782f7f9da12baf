"""What to distrust in a report, the weightiest first."""

from collections.abc import Sequence
from typing import Any

from theodolite.metrics.catalogue import catalogue
from theodolite.report.methods import anchor
from theodolite.report.words import title
from theodolite.results import Verdict
from theodolite.run_folder.run_file import MadeRecord
from theodolite.run_folder.spec import RunSpec


def caveats(
    spec: RunSpec,
    made_record: MadeRecord,
    verdicts: Sequence[Verdict],
    unanswered: Sequence[tuple[str, Sequence[str]]],
) -> dict[str, Any]:
    """Doubts about this run: those about its verdicts before all others."""
    deciding = {v.score.metric: v.score for v in verdicts if v.score is not None}
    known = {name: score for name, score in deciding.items() if name in catalogue()}
    return {
        "failed": made_record.failed_pieces,
        "misleads": [
            (title(score), catalogue()[name].card.misleads, anchor(name))
            for name, score in known.items()
        ],
        "undefined": [
            (title(score), f"{score.n_undefined:,} of {score.n + score.n_undefined:,} {score.n_of}")
            for score in deciding.values()
            if score.n_undefined
        ],
        "differs": spec.report.differs,
        "notes": made_record.notes,
        "unanswered": [
            (catalogue()[name].title if name in catalogue() else name, ", ".join(needs))
            for name, needs in unanswered
        ],
    }
