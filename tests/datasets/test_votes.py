"""Readers of votes: formats as other tools write them, and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from theodolite._storage.tables import write_parquet
from theodolite.datasets.votes.label_studio import label_studio_votes
from theodolite.datasets.votes.potato import potato_votes
from theodolite.datasets.votes.rows import Vote, explanations_from
from theodolite.datasets.votes.table import vote_table
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.rating_summary import by_group

NAN = float("nan")
LONG = """item,rater,question,rating,technique,image,group,text
a,ann,clear,4,LIME,dog,old,an ear
a,bob,clear,5,LIME,dog,young,an ear
b,ann,clear,,SHAP,dog,old,a nose
b,bob,clear,2,SHAP,dog,young,a nose
c,ann,true,1,LIME,cat,old,"=cmd|'/C calc'!A1"
"""


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_long_table(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"votes{ending}"
    if ending == ".csv":
        path.write_text(LONG)
    elif ending == ".csv.gz":
        path.write_bytes(gzip.compress(LONG.encode()))
    else:
        header, *rows = [line.split(",", 7) for line in LONG.splitlines()]
        columns: dict[str, Any] = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        columns["rating"] = [float(r) if r else None for r in columns["rating"]]
        write_parquet(path, columns)
    result = vote_table(path, scale=(1, 2, 3, 4, 5))
    clear = result.questions["clear"]
    assert_array_equal(clear.ratings, [[4, 5], [NAN, 2], [NAN, NAN]])
    assert_array_equal(result.questions["true"].ratings, [[NAN, NAN], [NAN, NAN], [1, NAN]])
    assert clear.raters.names == ("ann", "bob")
    assert np.asarray(clear.technique).tolist() == [0, 1, 0]
    assert clear.samples.clusters is not None
    assert clear.samples.clusters.tolist() == [0, 0, 1]
    assert [shown.text for shown in result.explanations][:2] == ["an ear", "a nose"]
    assert list(by_group(clear)) == ["old", "young"]
    assert result.tables == (path,)


def test_explanations_of_one_context_belong_together(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    rows = ["a,r,1,why?,", "b,r,2,why?,", "c,r,2,who?,", "d,r,1,,", "e,r,1,why?,p"]
    path.write_text("item,rater,rating,context,image\n" + "\n".join(rows) + "\n")
    result = vote_table(path, scale=(1, 2))
    assert result.questions["rating"].samples.clusters is not None
    assert result.questions["rating"].samples.clusters.tolist() == [0, 0, 1, 2, 3]
    assert any("1 of 5 explanations" in note for note in result.notes)
    task = {"data": {"context": "why?", "text": "so"}, "annotations": [
        {"completed_by": 1, "result": [{"type": "rating", "from_name": "q", "value": {"rating": 2}}]}
    ]}  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps([task | {"id": n} for n in (1, 2)]))
    (asked,) = label_studio_votes(tmp_path / "export.json", scale=(1, 2)).questions.values()
    assert asked.samples.clusters is not None and asked.samples.clusters.tolist() == [0, 0]
    path.write_text("item,rater,rating\na,r,1\nb,r,2\n")
    bare = vote_table(path)
    assert bare.questions["rating"].samples.clusters is None
    assert any("of all explanations" in note for note in bare.notes)


def test_further_columns_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    rows = ["a,r,1,0.5,3,x,10,", "b,r,2,,4,y,20,", "a,s,2,0.5,3,x,30,"]
    path.write_text("item,rater,rating,nll,length,word,seconds,none\n" + "\n".join(rows) + "\n")
    result = vote_table(path)
    assert list(result.numbers) == ["nll", "length"], "no words, and nothing that is a vote's own"
    assert_array_equal(result.numbers["nll"], [0.5, NAN])
    assert_array_equal(result.numbers["length"], [3, 4])


def test_other_names_of_columns_and_a_scale_that_was_not_said(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,stars\n1,7,2\n1,8,5\n2,7,3\n")
    names = {"item": "task", "rater": "worker", "rating": "stars"}
    result = vote_table(path, columns=names)
    (votes,) = result.questions.values()
    assert votes.scale.tolist() == [2, 3, 4, 5]
    assert "taken as 2 to 5" in result.notes[0]
    assert votes.samples.clusters is None
    with pytest.raises(UnsafeInputError, match=r"no .*'item', 'rater', 'rating'.*`columns`"):
        vote_table(path)
    with pytest.raises(UnsafeInputError, match="'marks'"):
        vote_table(path, columns=names | {"group": "marks"})
    with pytest.raises(UnsafeInputError, match=r"\['rating_value'\]"):
        vote_table(path, columns={"rating_value": "stars"})


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,ann,4\na,ann,4\n", "two of 'ann' on 'a'"),
        ("a,ann,good\nb,ann,1\n", "rating in row 2: got 'good'"),
        ("a,ann,inf\nb,ann,1\n", "a number"),
        (",ann,3\n", "item in row 2"),
        ("a,ann,3\n", "all possible answers"),
        ("a,ann,2.5\nb,ann,3\n", "scale: got answers"),
        ("a,ann,\n", "no answer at all"),
        ("a,ann,1\nb,ann,999999\n", "all possible answers"),
        ("", "no rows"),
    ],
)
def test_what_a_table_refuses(tmp_path: Path, rows: str, said: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,rater,rating\n" + rows)
    with pytest.raises(EvidenceError, match=said):
        vote_table(path)


def test_tables_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "votes.pkl").write_bytes(b"")
    with pytest.raises(UnsafeInputError, match="ending"):
        vote_table(tmp_path / "votes.pkl")
    with pytest.raises(UnsafeInputError, match="nothing there"):
        vote_table(tmp_path / "none.csv")
    (tmp_path / "votes.csv.gz").write_bytes(b"no archive")
    with pytest.raises(UnsafeInputError, match="broken archive"):
        vote_table(tmp_path / "votes.csv.gz")


def test_terms_that_contradict_each_other() -> None:
    votes = [Vote("a", "ann", "q", 1.0, technique="x"), Vote("a", "bob", "q", 2.0, technique="y")]
    with pytest.raises(EvidenceError, match="'x' and 'y' for 'a'"):
        explanations_from(votes, name="")
    groups = [Vote("a", "ann", "q", 1.0, group="x"), Vote("b", "ann", "q", 2.0, group="y")]
    with pytest.raises(EvidenceError, match="group"):
        explanations_from(groups, name="")
    with pytest.raises(EvidenceError, match="cells"):
        explanations_from([Vote(str(i), str(i), "q", 1.0) for i in range(10_001)], name="")
    with pytest.raises(EvidenceError, match="votes: got none"):
        explanations_from([], name="")


def test_names_and_texts_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('item,rater,rating,text\n"a\x1b[31m",ann,1,"x\u202ey\x07"\nb,ann,2,\n')
    result = vote_table(path)
    (votes,) = result.questions.values()
    assert votes.samples.ids is not None
    assert votes.samples.ids[0] == "a\\x1b[31m"
    assert result.explanations[0].text == "xy"


def result(kind: str, answer: Any, name: str = "clarity", **more: Any) -> dict[str, Any]:
    return {"type": kind, "from_name": name, "to_name": "t", "value": {kind: answer} | more}


def test_label_studio(tmp_path: Path) -> None:
    tasks = [
        {
            "id": 11,
            "data": {"image": "https://example.com/dog.png", "technique": "LIME", "text": "ear"},
            "annotations": [
                {"completed_by": 1, "result": [result("rating", 4), result("number", 2, "trust")]},
                {"completed_by": {"id": 2}, "result": [result("choices", ["5"])]},
                {"completed_by": 3, "was_cancelled": True, "result": [result("rating", 1)]},
                {"completed_by": 1, "result": [result("rating", 5)]},
            ],
        },
        {
            "id": 12,
            "data": {"image": "https://example.com/dog.png", "technique": "SHAP"},
            "annotations": [
                {
                    "completed_by": 2,
                    "result": [
                        result("rating", 3, start=0, end=4),
                        result("textarea", ["nice"]),
                        result("choices", ["good"], "trust"),
                        result("choices", ["1", "2"], "trust"),
                        result("rating", 1),
                    ],
                }
            ],
        },
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    found = label_studio_votes(path, scale=(1, 2, 3, 4, 5))
    assert_array_equal(found.questions["clarity"].ratings, [[5, 5], [NAN, 1]])
    assert_array_equal(found.questions["trust"].ratings, [[2, NAN], [NAN, NAN]])
    assert found.questions["clarity"].raters.names == ("1", "2")
    assert found.questions["clarity"].techniques.names == ("LIME", "SHAP")
    clusters = found.questions["clarity"].samples.clusters
    assert clusters is not None
    assert clusters.tolist() == [0, 0]
    assert found.explanations[0].text == "ear"
    assert any("1 votes were given again" in note for note in found.notes)
    assert any("4 results were no votes" in note for note in found.notes)
    words = label_studio_votes(path, scale=(1, 2, 3, 4, 5), choices={"good": 4})
    assert_array_equal(words.questions["trust"].ratings, [[2, NAN], [NAN, 4]])
    for content in ('{"a": 1}', "[1]", "[]", '[{"id": 1, "annotations": {}}]'):
        path.write_text(content)
        with pytest.raises(UnsafeInputError):
            label_studio_votes(path)


def test_potato_folder(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "displayed_text": "an ear", "label_annotations": {"clear": {"scale_4": "4"}}},
        {"id": "b", "label_annotations": {"clear": {"scale_1": "1"}, "why": {"text_box": "so"}}},
    ]
    state = {
        "user_id": "bob",
        "instance_id_to_label_to_value": {
            "a": [[{"schema": "clear", "name": "scale_5"}, "true"]],
            "b": {"clear": {"labels": {"2": True, "3": False}}},
            "c": {"clear": {"slider": "3"}},
        },
    }
    for rater in ("ann", "bob", "empty"):
        (tmp_path / rater).mkdir()
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "ann" / "annotated_instances.jsonl").write_text(text + "\n")
    (tmp_path / "bob" / "user_state.json").write_text(json.dumps(state))
    result = potato_votes(tmp_path, scale=(1, 2, 3, 4, 5))
    assert_array_equal(result.questions["clear"].ratings, [[4, 5], [1, 2], [NAN, 3]])
    assert result.questions["clear"].raters.names == ("ann", "bob")
    assert result.explanations[0].text == "an ear"
    assert any("1 answers were no numbers" in note for note in result.notes)


def test_potato_words_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    said = {"user_id": "ann", "instance_id": "a", "label_annotations": {"trust": {"good": "true"}}}
    other = said | {"user_id": "bob", "label_annotations": {"trust": {"bad": "true"}}}
    path.write_text(json.dumps(said) + "\n" + json.dumps(other))
    result = potato_votes(path, labels={"bad": 0, "good": 1})
    assert_array_equal(result.questions["trust"].ratings, [[1, 0]])
    with pytest.raises(UnsafeInputError, match="no numbers"):
        potato_votes(path)
    table = tmp_path / "annotations.csv"
    table.write_text("instance_id,user_id,clear,why\na,ann,4.0,so\na,bob,2.0,\n")
    result = potato_votes(table)
    assert_array_equal(result.questions["clear"].ratings, [[4, 2]])
    assert list(result.questions) == ["clear"]
    for name, content in (("x.jsonl", "[]"), ("y.json", "[]"), ("z.jsonl", "{broken")):
        (tmp_path / name).write_text(content)
        with pytest.raises(UnsafeInputError):
            potato_votes(tmp_path / name)
    (tmp_path / "nobody").mkdir()
    with pytest.raises(UnsafeInputError, match="one per rater"):
        potato_votes(tmp_path / "nobody")
