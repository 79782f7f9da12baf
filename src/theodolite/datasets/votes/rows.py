"""Single votes, one after the other, put together as a table of explanations by raters."""

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
    picture: str = ""
    group: str = ""


def plain_text(text: object, limit: int = LONGEST) -> str:
    """Text that other people wrote, without what a terminal or a page could stumble over.

    >>> plain_text("a\\x1b[31mcat\\n")
    'a[31mcat'
    """
    kept = "".join(
        c
        for c in str(text)
        if c in "\n\t" or (unicodedata.category(c) not in {"Cc", "Cs"} and c not in _TURNS)
    ).strip()
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


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
    shown: Mapping[str, ShownExplanation] | None = None,
    scale: Sequence[float] | None = None,
    repeated: Repeated = "refused",
    tables: Sequence[Path] = (),
) -> VotedExplanations:
    """Put single votes together, explanations and raters in the order in which they appear.

    Without ``scale`` it is made of all whole numbers from the lowest answer to the highest.
    ``repeated`` says what is done if a rater answers twice; ``last`` counts the last answer.
    """
    found = list(votes)
    items, raters, questions = (
        list(dict.fromkeys(getattr(vote, name) for vote in found))
        for name in ("item", "rater", "question")
    )
    if len(items) * len(raters) * len(questions) > MOST_CELLS:
        came = f"{len(items):,} explanations by {len(raters):,} raters"
        raise EvidenceError("votes", came, f"at most {MOST_CELLS:,} cells")
    if not items:
        raise EvidenceError("votes", "none", "at least one")
    tables_by_question, replaced = _filled(found, items, raters, repeated)
    answered = {q: r for q, r in tables_by_question.items() if not np.isnan(r).all()}
    levels, notes = _levels(answered, scale)
    if replaced:
        notes.append(f"{replaced:,} votes were given again later; the last one counts.")
    seen = {item: (shown or {}).get(item, ShownExplanation()) for item in items}
    samples, together = _samples(found, items, seen)
    notes += together
    about: dict[str, Any] = {
        "samples": samples,
        "raters": Raters(tuple(plain_name(rater, "rater") for rater in raters)),
    } | _pointers(found, items, raters)
    return VotedExplanations(
        name=name,
        questions={
            plain_name(question, "question"): RatingEvidence(ratings=table, scale=levels, **about)
            for question, table in answered.items()
        },
        shown=tuple(seen.values()),
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
    given = np.unique(np.concatenate([table[~np.isnan(table)] for table in answered.values()]))
    whole = bool((given == given.round()).all())
    if len(given) < 2 or not whole or given[-1] - given[0] >= MOST_LEVELS:
        came = f"answers {given.tolist()[:8]}"
        raise EvidenceError("scale", came, "all possible answers", "Give `scale`, such as 1 to 5.")
    note = (
        f"All possible answers were not said: taken as {given[0]:g} to {given[-1]:g}, the lowest "
        "and the highest that were given."
    )
    return np.arange(given[0], given[-1] + 1), [note]


def _samples(
    votes: Sequence[Vote], items: Sequence[str], seen: Mapping[str, ShownExplanation]
) -> tuple[Samples, list[str]]:
    """Explanations of one picture are one cluster, and so are those of one context without one."""
    ids = np.array([plain_name(item, "item") for item in items])
    picture = _one_each(((v.item, v.picture) for v in votes), "picture")
    of_item = [
        ("picture", picture[item])
        if picture[item]
        else ("context", seen[item].context)
        if seen[item].context
        else ("item", item)
        for item in items
    ]
    alone = sum(kind == "item" for kind, _ in of_item)
    said = []
    if alone:
        of = "all" if alone == len(items) else f"{alone:,} of {len(items):,}"
        said = [
            f"Neither picture nor context is known of {of} explanations: which of them are of the "
            "same is not known, and each is taken by itself."
        ]
    if alone == len(items):
        return Samples(ids=ids), said
    number = {name: i for i, name in enumerate(dict.fromkeys(of_item))}
    return Samples(ids=ids, clusters=np.array([number[name] for name in of_item])), said


def _pointers(votes: Sequence[Vote], items: Sequence[str], raters: Sequence[str]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    technique = _one_each(((v.item, v.technique) for v in votes), "technique")
    if any(technique.values()):
        names = list(dict.fromkeys(technique[item] or "unknown" for item in items))
        about["technique"] = np.array([names.index(technique[i] or "unknown") for i in items])
        about["techniques"] = Techniques(tuple(plain_name(n, "technique") for n in names))
    group = _one_each(((v.rater, v.group) for v in votes), "group")
    if any(group.values()):
        names = list(dict.fromkeys(group[rater] or "unknown" for rater in raters))
        about["group"] = np.array([names.index(group[r] or "unknown") for r in raters])
        about["groups"] = Groups(tuple(plain_name(n, "group") for n in names))
    return about


def _one_each(pairs: Iterable[tuple[str, str]], what: str) -> dict[str, str]:
    """What is said of each; refused if two things are said."""
    found: dict[str, str] = {}
    for name, said in pairs:
        if found.setdefault(name, said) != said:
            raise EvidenceError(what, f"{found[name]!r} and {said!r} for {name!r}", "one of them")
    return found
