"""Convert the table of votes of a study export to evidence, and explanations to a table.

Analysts call `build_rating_evidence` from Python; `convert` builds its table of explanations here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.ext.studies import (
    QUESTIONS,
    SCALE,
    Instance,
    RatingEvidence,
    Table,
    Vote,
    checked_table,
    columns_of,
    concepts_text,
    explanations_from,
)
from theodolite_study.store.material import get_modality


def build_rating_evidence(
    votes: Table, question: str, *, groups: Mapping[str, str] | None = None
) -> RatingEvidence:
    """Build evidence from the counted votes on one question: explanations by raters.

    It has all explanations with a counted vote, in the same order for each question. Explanations
    of one image form a cluster.

    Args:
        votes: The table ``votes`` of the export.
        question: ``q1`` to ``q6``.
        groups: Group of each participant by pseudonym, such as an age band; "unknown" if missing.
    """
    if question not in QUESTIONS:
        raise EvidenceError("question", repr(question), f"one of {', '.join(QUESTIONS)}")
    counted = list(_iterate_counted_votes(checked_table("votes", votes), question, groups or {}))
    if all(vote.rating != vote.rating for vote in counted):
        raise EvidenceError(question, "no counted vote", "at least one")
    ratings = explanations_from(counted, name="study", scale=[float(level) for level in SCALE])
    return ratings.questions[question]


def _iterate_counted_votes(
    votes: Table, question: str, groups: Mapping[str, str]
) -> Iterator[Vote]:
    columns = ("instance", "participant", question, "technique", "image_key", "counted")
    for item, rater, answer, technique, image, counted in zip(
        *(votes[name] for name in columns), strict=True
    ):
        if counted:
            rating = float("nan") if answer is None else float(answer)
            yield Vote(item, rater, question, rating, technique, image, groups.get(rater, ""))


def build_instances_table(instances: Iterable[Instance]) -> dict[str, list[Any]]:
    """Build the table ``instances`` from the explanations of a study."""
    return columns_of(
        "instances",
        [
            {
                "instance": instance.key,
                "image_key": instance.image_key,
                "technique": instance.technique,
                "modality": get_modality(instance.shown),
                "predicted": instance.shown.predicted,
                "image": instance.shown.image,
                "map": instance.shown.map,
                "concepts": concepts_text(instance.shown.concepts)
                if instance.shown.concepts
                else None,
            }
            for instance in instances
        ],
    )
