"""Explanations of latents as items of a study: marks in words, hostile texts, refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.evidence.feature_texts import drawn_codes, evil_explanations, evil_vocabulary
from theodolite.datasets.study_material.marked_texts import (
    TEXT_INSTANCES,
    marked_html,
    plain_words,
    read_text_material,
    write_text_material,
)
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.language.dashboard.study_texts import study_texts
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.vocabulary import Vocabulary


def test_an_item_shows_where_its_latent_is_strong_and_weak() -> None:
    texts = TokenEvidence(
        tokens=[[0, 1, 2], [0, 3, 2]],
        latent=[[[], [0], [0]], [[], [], [0]]],
        value=[[[], [4.0], [1.0]], [[], [], [2.0]]],
    )
    words = Vocabulary.of(["the", " cat", " sat", " dog"])
    told = [LatentExplanation(0, "text", "cats", "me"), LatentExplanation(0, "none", "")]
    material = study_texts(texts, words, told)
    assert [own.label for own in material.instances] == ["cats"]
    lines = [plain_words(text) for text in material.instances[0].texts]
    assert lines == ["the [cat: 5 of 5] [sat: 2 of 5]", "the dog [sat: 3 of 5]"]


def test_tenths_from_strong_to_weak() -> None:
    evidence = drawn_codes(np.full(300, 3), 8, 2, 3)
    words = Vocabulary.of(["a", " b", " c"])
    material = study_texts(evidence, words, [LatentExplanation(1, "text", "x", "me")])
    texts = material.instances[0].texts
    assert len(texts) == 10
    strongest = [max(mark.strength for mark in text.marks) for text in texts]
    assert strongest[0] >= 3 and strongest[-1] == 1 and strongest == sorted(strongest)[::-1]
    with pytest.raises(EvidenceError, match="that is active"):
        study_texts(evidence, words, [LatentExplanation(7, "text", "dead", "me")])
    with pytest.raises(EvidenceError, match="latent 8"):
        study_texts(evidence, words, [LatentExplanation(8, "text", "x")])


def test_hostile_texts_are_written_out_and_come_back(tmp_path: Path) -> None:
    vocabulary = evil_vocabulary()
    evidence = drawn_codes(np.full(60, len(vocabulary)), 8, 4, len(vocabulary))
    ids = np.tile(np.arange(len(vocabulary), dtype=np.int32), 60)
    evidence = replace(evidence, tokens=Ragged(ids, evidence.tokens.starts))
    material = study_texts(evidence, vocabulary, evil_explanations())
    write_text_material(tmp_path, material)
    assert read_text_material(tmp_path) == material
    shown = marked_html(material.instances[0].texts)
    assert "<script" not in shown and "<img" not in shown and "\u202e" not in shown
    assert shown.count("<mark") == shown.count(" of 5</sub>") > 0, "each mark says how strong"
    assert "\\u202e" in shown and "\\xff" in shown and "y" * 65 not in shown
    assert "\u202e" not in material.instances[0].label


def test_marks_outside_the_text_are_refused(tmp_path: Path) -> None:
    text = '{"text": "abc", "marks": [{"start": %d, "end": %d, "strength": %d}]}'
    item = '{"instances": [{"key": "k", "technique": "t", "label": "l", "texts": [%s]}]}'
    for start, end, strength in ((0, 4, 1), (2, 2, 1), (0, 1, 6), (-1, 1, 1)):
        (tmp_path / TEXT_INSTANCES).write_text(item % (text % (start, end, strength)))
        with pytest.raises(EvidenceError, match=TEXT_INSTANCES):
            read_text_material(tmp_path)
