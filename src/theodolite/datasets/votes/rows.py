"""Single ratings, one after the other, put together as a table of explanations by raters."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Groups, Raters, Samples, Techniques
from theodolite.evidence.kinds.rating import RatingEvidence

MOST_CELLS = 100_000_000
MOST_LEVELS = 1001
LONGEST = 20_000
Repeated = Literal["refused", "last"]
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of the text around them."""


@dataclass(frozen=True)
class Vote:
    """One answer of one rater."""

    item: str
    rater: str
    question: str
    rating: float
    """NaN where they did not answer."""
    technique: str = ""
    image: str = ""
    group: str = ""


def plain_text(text: object, limit: int = LONGEST) -> str:
    """Text that other people wrote, without what a terminal or a page could stumble over.

    >>> plain_text("a\\x1b[31mcat\\n")
    'a[31mcat'
    """
    clean_text = "".join(
        c
        for c in str(text)
        if c in "\n\t" or (unicodedata.category(c) not in {"Cc", "Cs"} and c not in _TURNS)
    ).strip()
    return clean_text if len(clean_text) <= limit else clean_text[: limit - 1] + "…"


def plain_name(text: object, what: str) -> str:
    """A name of one line; refused if there is none."""
    name = printable(str(text).strip(), 300)
    if not name:
        raise EvidenceError(what, "an empty name", "a name for each")
    return name


def rating_from(text: object, where: str) -> float:
    """A vote as a number; NaN where nothing was answered."""
    if text is None or (isinstance(text, str) and not text.strip()):
        return float("nan")
    try:
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise ValueError
        number = float(text)
    except ValueError:
        number = float("inf")
    if np.isinf(number):
        raise EvidenceError(where, f"{text!r}"[:60], "a number, or nothing")
    return number


def explanations_from(
    votes: Iterable[Vote],
    *,
    name: str,
    explanations: Mapping[str, ShownExplanation] | None = None,
    scale: Sequence[float] | None = None,
    repeated: Repeated = "refused",
    tables: Sequence[Path] = (),
) -> VotedExplanations:
    """Put single votes together, explanations and raters in the order in which they appear.

    Without ``scale`` it is made of all whole numbers from the lowest answer to the highest.
    ``repeated`` says what is done if a rater answers twice; ``last`` counts the last answer.
    """
    all_votes = list(votes)
    items, raters, questions = (
        list(dict.fromkeys(getattr(vote, name) for vote in all_votes))
        for name in ("item", "rater", "question")
    )
    if len(items) * len(raters) * len(questions) > MOST_CELLS:
        got = f"{len(items):,} explanations by {len(raters):,} raters"
        raise EvidenceError("votes", got, f"at most {MOST_CELLS:,} cells")
    if not items:
        raise EvidenceError("votes", "none", "at least one")
    tables_by_question, replaced = _filled(all_votes, items, raters, repeated)
    answered = {q: r for q, r in tables_by_question.items() if not np.isnan(r).all()}
    levels, notes = _levels(answered, scale)
    if replaced:
        notes.append(f"{replaced:,} votes were given again later; the last one counts.")
    explanation_of = {item: (explanations or {}).get(item, ShownExplanation()) for item in items}
    samples, together = _samples(all_votes, items, explanation_of)
    notes += together
    arguments: dict[str, Any] = {
        "samples": samples,
        "raters": Raters(tuple(plain_name(rater, "rater") for rater in raters)),
    } | _pointers(all_votes, items, raters)
    return VotedExplanations(
        name=name,
        questions={
            plain_name(question, "question"): RatingEvidence(
                ratings=table, scale=levels, **arguments
            )
            for question, table in answered.items()
        },
        explanations=tuple(explanation_of.values()),
        notes=tuple(notes),
        tables=tuple(tables),
    )


def _filled(
    votes: Sequence[Vote], items: Sequence[str], raters: Sequence[str], repeated: Repeated
) -> tuple[dict[str, np.ndarray], int]:
    row, column = ({name: i for i, name in enumerate(names)} for names in (items, raters))
    tables: dict[str, np.ndarray] = {}
    replaced = 0
    for vote in votes:
        if vote.question not in tables:
            tables[vote.question] = np.full((len(items), len(raters)), np.nan)
        if np.isnan(vote.rating):
            continue
        table, at = tables[vote.question], (row[vote.item], column[vote.rater])
        if not np.isnan(table[at]):
            if repeated == "refused":
                raise EvidenceError(
                    "votes",
                    f"two of {vote.rater!r} on {vote.item!r}, {vote.question!r}",
                    "one",
                    "Remove one of the rows.",
                )
            replaced += 1
        table[at] = vote.rating
    return tables, replaced


def _levels(
    answered: Mapping[str, np.ndarray], scale: Sequence[float] | None
) -> tuple[Float[np.ndarray, " levels"], list[str]]:
    if scale is not None:
        return np.asarray(scale, np.float64), []
    if not answered:
        raise EvidenceError("votes", "no answer at all", "at least one")
    answers = np.unique(np.concatenate([table[~np.isnan(table)] for table in answered.values()]))
    whole = bool((answers == answers.round()).all())
    if len(answers) < 2 or not whole or answers[-1] - answers[0] >= MOST_LEVELS:
        got = f"answers {answers.tolist()[:8]}"
        raise EvidenceError("scale", got, "all possible answers", "Give `scale`, such as 1 to 5.")
    note = (
        f"All possible answers were not said: taken as {answers[0]:g} to {answers[-1]:g}, the "
        "lowest and the highest that were given."
    )
    return np.arange(answers[0], answers[-1] + 1), [note]


def _samples(
    votes: Sequence[Vote], items: Sequence[str], explanation_of: Mapping[str, ShownExplanation]
) -> tuple[Samples, list[str]]:
    """Explanations of one image are one cluster, and so are those of one context without one."""
    ids = np.array([plain_name(item, "item") for item in items])
    image = _one_each(((v.item, v.image) for v in votes), "image")
    of_item = [
        ("image", image[item])
        if image[item]
        else ("context", explanation_of[item].context)
        if explanation_of[item].context
        else ("item", item)
        for item in items
    ]
    alone = sum(kind == "item" for kind, _ in of_item)
    notes = []
    if alone:
        of = "all" if alone == len(items) else f"{alone:,} of {len(items):,}"
        notes = [
            f"Neither image nor context is known of {of} explanations: which of them are of the "
            "same is not known, and each is taken by itself."
        ]
    if alone == len(items):
        return Samples(ids=ids), notes
    number = {name: i for i, name in enumerate(dict.fromkeys(of_item))}
    return Samples(ids=ids, clusters=np.array([number[name] for name in of_item])), notes


def _pointers(votes: Sequence[Vote], items: Sequence[str], raters: Sequence[str]) -> dict[str, Any]:
    pointers: dict[str, Any] = {}
    technique = _one_each(((v.item, v.technique) for v in votes), "technique")
    if any(technique.values()):
        names = list(dict.fromkeys(technique[item] or "unknown" for item in items))
        pointers["technique"] = np.array([names.index(technique[i] or "unknown") for i in items])
        pointers["techniques"] = Techniques(tuple(plain_name(n, "technique") for n in names))
    group = _one_each(((v.rater, v.group) for v in votes), "group")
    if any(group.values()):
        names = list(dict.fromkeys(group[rater] or "unknown" for rater in raters))
        pointers["group"] = np.array([names.index(group[r] or "unknown") for r in raters])
        pointers["groups"] = Groups(tuple(plain_name(n, "group") for n in names))
    return pointers


def _one_each(pairs: Iterable[tuple[str, str]], what: str) -> dict[str, str]:
    """Return the value of each key; refuse contradictory values."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise EvidenceError(what, f"{values[name]!r} and {value!r} for {name!r}", "one of them")
    return values
