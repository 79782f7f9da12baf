"""Bytes of tokens, what holds of them, and what latents are said to stand for."""

from pathlib import Path

import numpy as np
import pytest

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.language.texts.explanations import (
    LatentExplanation,
    load_explanations,
    save_explanations,
    with_explanations,
)
from theodolite.language.texts.patterns import find_pattern_spans
from theodolite.language.texts.predicates import token_predicates
from theodolite.language.texts.vocabulary import Vocabulary

TEXTS = ["The", " cat", " runn", "ing", " 42", "!", " NASA", b" caf\xc3", b"\xa9", " the"]
WORDS = Vocabulary.of(TEXTS)


def facts(rows: list[list[int]], **how: object) -> list[set[str]]:
    """By token, the names of what holds of it."""
    holds, predicates = token_predicates(Ragged.from_rows(rows), WORDS, **how)
    evidence = TokenEvidence(tokens=rows, holds=holds, predicates=predicates)  # passes all checks
    each = Ragged(evidence.holds.flat, evidence.holds.inner_starts)
    return [{predicates.names[i] for i in each[token]} for token in range(len(each))]


def test_a_vocabulary_is_bytes(tmp_path: Path) -> None:
    assert [WORDS[i] for i in (0, 8)] == [b"The", b"\xa9"]
    assert WORDS.shown(1) == "' cat'"
    assert Vocabulary.of(["\x1b[31m"]).shown(0) == repr("\x1b[31m")
    WORDS.save(tmp_path)
    again = Vocabulary.load(tmp_path)
    assert [again[i] for i in range(len(again))] == [WORDS[i] for i in range(len(WORDS))]
    with pytest.raises(EvidenceError, match="the id 10"):
        WORDS[10]
    file = tmp_path / "vocabulary.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(UnsafeInputError):
        Vocabulary.load(tmp_path)


def test_shapes_and_places() -> None:
    shapes = facts([[0, 1, 3, 4, 5, 6, 7]], families=["shape"])
    assert shapes[0] == {"shape capitalized", "shape starts a word"}
    assert shapes[1] == {"shape lower", "shape starts a word"}
    assert shapes[2] == {"shape lower"}
    assert shapes[3] == {"shape digit", "shape starts a word"}
    assert shapes[4] == {"shape punctuation"}
    assert shapes[5] == {"shape all capitals", "shape starts a word"}
    assert "shape non-ASCII" in shapes[6]
    places = facts([[1] * 18, [1]], families=["place"])
    assert places[0] == {"place first"}
    assert places[1] == places[3] == {"place 2-4"}
    assert places[4] == places[7] == {"place 5-8"}
    assert places[8] == places[15] == {"place 9-16"}
    assert places[17] == {"place 17-32", "place last"}
    assert places[18] == {"place first", "place last"}


def test_tokens_words_and_neighbors() -> None:
    rows = [[0, 1, 2, 3], [1, 2]]
    assert facts(rows, families=["token"], least=2) == [
        set(), {"token ' cat'"}, {"token ' runn'"}, set(), {"token ' cat'"}, {"token ' runn'"},
    ]  # fmt: skip
    words = facts(rows, families=["word"], least=1)
    assert words == [
        {"word the"}, {"word cat"}, {"word running"}, {"word running"}, {"word cat"},
        {"word runn"},
    ]  # fmt: skip
    near = facts([[0, 1, 9]], families=["after", "before"])
    assert near == [
        {"before ' cat'"}, {"after 'The'", "before ' the'"}, {"after ' cat'"},
    ]  # fmt: skip
    rare = facts([[0, 1, 1]], families=["after"], most_neighbors=1)
    assert rare == [set(), set(), {"after ' cat'"}]


def test_patterns_taggers_and_topics() -> None:
    rows = [[0, 7, 8, 4, 5], [1]]
    got = facts(
        rows,
        families=[],
        patterns={"number": r"\d+", "accent": "é"},
        taggers={"tag": lambda text: [(0, 3, "article")] if text.startswith("The") else []},
        topics=(["food"], np.array([[False], [True]])),
    )
    assert got == [
        {"tag article"}, {"pattern accent"}, {"pattern accent"}, {"pattern number"}, set(),
        {"topic food"},
    ]  # fmt: skip


def test_what_is_refused() -> None:
    with pytest.raises(EvidenceError, match="'color'"):
        facts([[0]], families=["color"])
    with pytest.raises(EvidenceError, match="an expression"):
        find_pattern_spans(["a"], {"broken": "("}, 5.0)
    with pytest.raises(EvidenceError, match="no end after"):
        find_pattern_spans(["a" * 40 + "b"], {"evil": "(a+)+$"}, 3.0)


def named(ids: list[str] | None = None) -> TokenEvidence:
    samples = Samples() if ids is None else Samples(ids=np.array(ids))
    return TokenEvidence(
        tokens=[[1], [2]], latent=[[[0]], [[1]]], value=[[[1.0]], [[1.0]]], holds=[[[0]], [[]]],
        predicates=["token cat"], truth=[[1], [0]], concepts=["about cats"], samples=samples,
    )  # fmt: skip


def test_explanations_are_not_scored_on_what_they_were_written_from(tmp_path: Path) -> None:
    cat = LatentExplanation(0, "formula", "token cat", "a judge", ("s7",))
    topic = LatentExplanation(1, "formula", "about cats")
    save_explanations([cat, topic], tmp_path)
    assert load_explanations(tmp_path) == [cat, topic]
    explained, findings = with_explanations(named(["s1", "s2"]), [cat, topic])
    assert explained.explained.tolist() == [0, 1]
    assert explained.predicate_of.tolist() == [0, -1]
    assert explained.concept_of.tolist() == [-1, 0]
    assert findings == ["1 explanations may have been scored on what they were written from"]
    for ids in (["s1", "s7"], None):
        with pytest.raises(EvidenceError, match="scored on what it was written from"):
            with_explanations(named(ids), [cat])
    with pytest.raises(EvidenceError, match="10,000 characters"):
        LatentExplanation(0, "text", "cats" * 3000)
