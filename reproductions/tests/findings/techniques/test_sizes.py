"""What was explained and who voted, in the tables of the benchmark."""

from typing import Any

import pytest

from theodolite_reproductions.findings.techniques.study import techniques_votes

EXPLAINED = [
    # image, data set, method, network, label, predicted
    ("a", "cars", "lime", "small", "car", "Car"),
    ("a", "cars", "shap", "small", "car", "Car"),
    ("a", "cars", "lime", "large", "car", "cab"),
    ("b", "cars", "lime", "small", "car", "cab"),
    ("c", "churches", "lime", "small", "gothic", "gothic"),
    ("d", "churches", "lime", "small", None, "gothic"),
]


def tables() -> dict[str, dict[str, list[Any]]]:
    names = ("image", "data_set", "method", "network", "label", "predicted")
    rows = [dict(zip(names, row, strict=True)) for row in EXPLAINED]
    for at, row in enumerate(rows):
        row |= {"explanation": str(at), "technique": f"{row['method']} / {row['network']}",
                "modality": "saliency", "concepts": None, "source": "people"}  # fmt: skip
    people = {"person": ["p", "q", "r"], "age": ["18-25", "18-25", None]}
    votes = [{"explanation": str(at), "person": person, "Q1": 1.0 + at % 5}
             for at in range(len(rows)) for person in people["person"]]  # fmt: skip
    return {
        "explanations": {name: [row[name] for row in rows] for name in rows[0]},
        "votes": {name: [vote[name] for vote in votes] for name in votes[0]},
        "people": people,
    }


def test_accuracies_techniques_and_ages_are_written() -> None:
    record = techniques_votes("study", tables(), first=2, resamples=40)

    def of(table: str, **names: str) -> tuple[float | None, int]:
        (row,) = record.rows(table, **names)
        return row.value, row.n

    assert of("accuracies", network="small", data_set="all") == (pytest.approx(2 / 3), 3)
    assert of("accuracies", network="small", data_set="cars") == (0.5, 2)
    assert of("accuracies", network="large", data_set="cars") == (0.0, 1)
    assert of("accuracies", network="small", data_set="churches") == (1.0, 1), "one has no label"
    assert of("sizes", data_set="cars") == (3, 4) and of("sizes", data_set="churches") == (1, 2)
    assert of("sizes", network="small") == (2, 5)
    assert of("people", band="age", group="18-25") == (2, 2)
    assert of("people", band="age", group="not said") == (1, 1)
