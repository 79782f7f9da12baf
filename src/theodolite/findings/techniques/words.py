"""How like people's own words the concepts of an explanation are: BLEU and ROUGE."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.findings.techniques.record import TechniqueRow, row_from
from theodolite.findings.techniques.voted_table import VotedTable
from theodolite.stats.unit_resamples import UnitResamples

FIRST = 5
"""So many concepts are named, those that speak most for the class."""
ORDER = 2
"""The longest runs of words that BLEU counts: concepts are one or two words."""
MEASURES = ("bleu", "rouge_1", "rouge_l")


def words_in(text: str) -> list[str]:
    """Words in small letters.

    >>> words_in("Pointed arch, rose-window")
    ['pointed', 'arch', 'rose', 'window']
    """
    return re.findall(r"[^\W_]+", text.casefold())


def named_words(concepts: str, first: int = FIRST) -> list[str]:
    """The words of the concepts that speak most for the class."""
    values = sorted(json.loads(concepts).items(), key=lambda item: (-item[1], item[0]))
    return words_in(" ".join(name for name, value in values[:first] if value > 0))


def bleu(candidate: Sequence[str], reference: Sequence[str], order: int = ORDER) -> float:
    """Geometric mean of clipped precisions of runs of words, times the penalty for being short.

    No smoothing: 0 where a run of some length has no match. Runs longer than the candidate are left
    out. NaN where one of both says nothing.

    >>> round(bleu(["pointed", "arch"], ["a", "pointed", "arch"]), 4)
    0.6065
    """
    if not candidate or not reference:
        return float("nan")
    logs = []
    for n in range(1, min(order, len(candidate)) + 1):
        runs, others = _runs(candidate, n), _runs(reference, n)
        matches = sum((runs & others).values())
        if not matches:
            return 0.0
        logs.append(np.log(matches / sum(runs.values())))
    short = min(0.0, 1 - len(reference) / len(candidate))
    return float(np.exp(short + np.mean(logs)))


def rouge_1(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of single words.

    >>> rouge_1(["arch", "door"], ["arch"])
    0.6666666666666666
    """
    return _f1(sum((Counter(candidate) & Counter(reference)).values()), candidate, reference)


def rouge_l(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """The same of the longest common sequence of words.

    >>> rouge_l(["a", "b", "c"], ["c", "a", "b"])
    0.6666666666666666
    """
    row = [0] * (len(reference) + 1)
    for word in candidate:
        last = list(row)
        for at, other in enumerate(reference, start=1):
            row[at] = last[at - 1] + 1 if word == other else max(row[at - 1], last[at])
    return _f1(row[-1], candidate, reference)


def overlap_against_votes(
    table: VotedTable, words: Mapping[str, Sequence[Any]], resamples: int, seed: int
) -> Iterator[TechniqueRow]:
    """Each person's own words against the concepts that they were shown, with their own vote.

    A pair is one vote; whole pictures are resampled. What nobody wrote about is left out.
    """
    place = {name: at for at, name in enumerate(table.ids)}
    column = {name: at for at, name in enumerate(table.people)}
    pairs = []
    for explanation, person, text in zip(
        *(words.get(n, ()) for n in ("explanation", "person", "text")), strict=True
    ):
        row, who = place.get(explanation), column.get(person)
        if row is None or who is None or not text or table.concepts[row] is None:
            continue
        named, said_words = named_words(str(table.concepts[row])), words_in(text)
        pairs.append((row, who, *(f(named, said_words) for f in (bleu, rouge_1, rouge_l))))
    if not pairs:
        return
    rows, people = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    _, units = np.unique(table.of["picture"][rows], return_inverse=True)
    n = int(units.max()) + 1
    redraws = UnitResamples.within(np.zeros(n, int), "pictures", resamples, seed).of_rows(units)
    for at, measure in enumerate(MEASURES, start=2):
        values = np.array([pair[at] for pair in pairs])
        for question, votes in table.votes.items():
            vote = votes[rows, people]
            both = int((~np.isnan(values + vote)).sum())
            names = {"measure": measure, "question": question}
            yield row_from(names, redraws.correlation(values, vote), redraws, n, both)


def _runs(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _f1(matches: int, candidate: Sequence[str], reference: Sequence[str]) -> float:
    if not candidate or not reference:
        return float("nan")
    return 2 * matches / (len(candidate) + len(reference))
