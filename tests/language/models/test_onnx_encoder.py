"""Dictionaries of a text encoder in ONNX, on the real file."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.language.models.dictionaries import random_dictionary
from theodolite.language.models.onnx_encoder import OnnxEncoder
from theodolite.language.models.token_evidence import TokenSettings, token_evidence

START, END = 101, 102
TEXTS = ["the cat sat on the mat", "no dogs here", "rain"]


def test_codes_of_a_real_encoder(shared_data: Path) -> None:
    folder = shared_data / "minilm_int8"
    tokens = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = [tokens.encode(text, add_special_tokens=False).ids for text in TEXTS]
    encoder = OnnxEncoder.load(folder / "all_minilm_l6_v2_int8.onnx", START, END)
    activations = encoder.activations(ids)
    assert activations.shape == (sum(map(len, ids)), 384)
    whole = encoder.session.run(None, {
        "input_ids": np.array([[START, *ids[0], END]]),
        "attention_mask": np.ones((1, len(ids[0]) + 2), np.int64),
        "token_type_ids": np.zeros((1, len(ids[0]) + 2), np.int64),
    })[0][0]  # fmt: skip
    assert_array_equal(activations[: len(ids[0])], whole[1:-1])
    assert_array_equal(encoder.activations(ids[::-1])[-len(ids[0]) :], activations[: len(ids[0])])
    dictionary = random_dictionary(activations, 32, 4, 0)
    plain = TokenSettings(splice=False, random_dictionaries=2)
    evidence = token_evidence(encoder, ids, dictionary, settings=plain)
    assert len(evidence) == 3
    assert evidence.value is not None
    assert len(evidence.value.flat) == 4 * len(activations)
    assert evidence.loss is None
    with pytest.raises(EvidenceError, match="splice: got an ONNX encoder"):
        token_evidence(encoder, ids, dictionary)
    with pytest.raises(EvidenceError, match="ids: got no token"):
        encoder.activations([[], []])


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "a.onnx").write_bytes(b"nothing")
    with pytest.raises(UnsafeInputError, match="a file that does not load"):
        OnnxEncoder.load(tmp_path / "a.onnx", START, END)
