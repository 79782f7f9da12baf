"""Explanations in words of answers to questions, each accepted or not by three people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_csv
from theodolite.datasets.votes.rows import plain_text
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Raters, Samples, Techniques
from theodolite.evidence.kinds.rating import RatingEvidence

FILES = tuple(
    f"acceptability_{data}_{part}.csv" for data in ("commonsenseqa", "snli")
    for part in ("train", "test")
)  # fmt: skip
FINE = {
    "fine_commonsenseqa_cose.csv": "cose", "fine_commonsenseqa_ecqa.csv": "ecqa",
    "fine_commonsenseqa_gpt3_greedy.csv": "gpt3 greedy", "fine_snli_esnli.csv": "esnli",
    "fine_snli_gpt3_greedy.csv": "gpt3 greedy",
}  # fmt: skip
ASKED = ("generality_factuality", "grammar", "new_info", "supports_label", "amount_info",
         "acceptable")  # fmt: skip
EXPLANATIONS, VOTES = 5, 3
NOT_KNOWN = "-9"
ANONYMOUS = (
    "Raters are not identified: the three votes on an explanation are of three of many people, in "
    "no order."
)
Row = Mapping[str, str]


def text_acceptability(root: Path) -> VotedExplanations:
    """Read ``acceptability_{commonsenseqa,snli}_{train,test}.csv`` of a folder.

    One explanation is one item: of five to each question, the greedy answer of a language model
    and four that it sampled. Each of three people lists those that they accept. Explanations of
    one question are one cluster.
    """
    paths = [confined(Path(root), name) for name in FILES]
    ids: list[str] = []
    explanations: list[ShownExplanation] = []
    votes: list[list[float]] = []
    numbers: list[list[float]] = []
    for path in paths:
        data = "snli" if "snli" in path.name else "csqa"
        for key, rows in _items(path):
            accepted_sets = [_accepted(row, path) for row in rows]
            for k in range(1, EXPLANATIONS + 1):
                ids.append(f"{path.stem}/{key}/{k}")
                text = plain_text(rows[0][f"Input.explanation_{k}"])
                explanations.append(
                    ShownExplanation(_context(rows[0]), text, label=rows[0]["Input.gold_label"])
                )
                votes.append([float(k in accepted_set) for accepted_set in accepted_sets])
                greedy = rows[0][f"Input.source_sample_{k}"] == "greedy"
                nll = _number(rows[0][f"Input.nll_{k}"], path)
                numbers.append([nll, greedy, "test" in path.stem, data == "snli", k])
    columns = np.array(numbers, np.float64)
    evidence = RatingEvidence(
        ratings=np.array(votes),
        scale=np.array([0.0, 1.0]),
        raters=Raters(tuple(f"vote {i + 1}" for i in range(VOTES))),
        technique=columns[:, 1].astype(np.int64),
        techniques=Techniques(("sampled", "greedy")),
        samples=Samples(ids=np.array(ids), clusters=_questions(explanations)),
    )
    names = ("nll", "greedy", "test", "snli", "place")
    return VotedExplanations(
        name="acceptability of explanations in words",
        questions={"acceptable": evidence},
        explanations=tuple(explanations),
        numbers=dict(zip(names, columns.T, strict=True)),
        notes=(ANONYMOUS,),
        tables=tuple(paths),
    )


def text_quality(root: Path) -> VotedExplanations:
    """Read the five ``fine_*.csv`` of a folder: up to six questions about one explanation each.

    Answers are -1 (no, or too little), 0 and 1 (yes, or too much). -9, which says that an
    explanation is no statement that could be true, is no answer on that scale and left out.
    """
    paths = [confined(Path(root), name) for name in FINE]
    tables: dict[str, list[list[float]]] = {question: [] for question in ASKED}
    ids, explanations, item_techniques = [], [], []
    for path in paths:
        for key, rows in _items(path):
            ids.append(f"{path.stem}/{key}")
            item_techniques.append(FINE[path.name])
            text = plain_text(rows[0]["Input.explanation"])
            explanations.append(
                ShownExplanation(_context(rows[0]), text, label=rows[0]["Input.gold_label"])
            )
            for question, table in tables.items():
                table.append([_fine(row.get(f"Answer.{question}", ""), path) for row in rows])
    techniques = tuple(dict.fromkeys(item_techniques))
    arguments: dict[str, Any] = {
        "raters": tuple(f"vote {i + 1}" for i in range(VOTES)),
        "technique": np.array([techniques.index(name) for name in item_techniques]),
        "techniques": Techniques(techniques),
        "samples": Samples(ids=np.array(ids), clusters=_questions(explanations)),
    }
    two = {"grammar", "new_info", "supports_label", "acceptable"}
    return VotedExplanations(
        name="quality of explanations in words",
        questions={
            question: RatingEvidence(
                ratings=np.array(table),
                scale=np.array([-1.0, 1.0] if question in two else [-1.0, 0.0, 1.0]),
                **arguments,
            )
            for question, table in tables.items()
        },
        explanations=tuple(explanations),
        notes=(ANONYMOUS,),
        tables=tuple(paths),
    )


def _items(path: Path) -> list[tuple[str, list[Row]]]:
    """Rows by item, as many as there are votes, in the order in which items appear."""
    rows = list(read_csv(path, "table of votes"))
    needed = ("Input.id", "Input.gold_label")
    missing = [name for name in needed if not rows or name not in rows[0]]
    if missing:
        raise UnsafeInputError(f"table {path.name!r}", f"no {missing}", "columns of that data set")
    by_item: dict[str, list[Row]] = {}
    for row in rows:
        by_item.setdefault(row["Input.id"], []).append(row)
    odd = next((key for key, same in by_item.items() if len(same) != VOTES), None)
    if odd is not None:
        got = f"{len(by_item[odd])} rows of {odd!r}"
        raise UnsafeInputError(f"table {path.name!r}", got, f"{VOTES} for each item")
    return list(by_item.items())


def _accepted(row: Row, path: Path) -> set[int]:
    parts = [part for part in row["Answer.acceptable"].split("|") if part]
    if not all(part in "12345" and len(part) == 1 for part in parts):
        raise UnsafeInputError(
            f"table {path.name!r}", f"{row['Answer.acceptable']!r}", "such as '2|5'"
        )
    return {int(part) for part in parts}


def _fine(text: str, path: Path) -> float:
    if text in ("", NOT_KNOWN):
        return float("nan")
    if text not in ("-1", "0", "1"):
        raise UnsafeInputError(f"table {path.name!r}", f"answer {text!r}", "-1, 0, 1 or -9")
    return float(text)


def _number(text: str, path: Path) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UnsafeInputError(f"table {path.name!r}", f"{text!r}", "a number") from error


def _context(row: Row) -> str:
    """What was to be explained, in the order in which raters saw it."""
    if "Input.question" in row:
        prompt = f"{row['Input.question']} Choices: {row['Input.answer_choices']}."
        return plain_text(f"{prompt} Answer: {row['Input.gold_label']}")
    prompt = f"{row['Input.premise']} Hypothesis: {row['Input.hypothesis']}"
    return plain_text(f"{prompt} Label: {row['Input.gold_label']}")


def _questions(explanations: Sequence[ShownExplanation]) -> np.ndarray:
    """Which question each explanation belongs to. Ids do not tell: files use the same ones."""
    number = {
        context: i for i, context in enumerate(dict.fromkeys(s.context for s in explanations))
    }
    return np.array([number[explanation.context] for explanation in explanations])
