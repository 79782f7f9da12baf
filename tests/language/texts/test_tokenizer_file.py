"""Vocabularies from files of tokenizers, held against what the library itself decodes."""

import json
from pathlib import Path

import pytest

from theodolite.errors import UnsafeInputError
from theodolite.language.texts.tokenizer_file import build_byte_alphabet, read_vocabulary

TEXT = "Ünïcode 😀 and\ttabs,\n  spaces; don't <s>"


def test_byte_level_tokens_are_the_bytes_of_the_text(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    own.train_from_iterator([TEXT, TEXT], trainer)
    own.add_special_tokens(["<|end|>"])
    own.save(str(tmp_path / "tokenizer.json"))
    words = read_vocabulary(tmp_path)
    ids = own.encode(TEXT).ids
    assert b"".join(words[i] for i in ids) == TEXT.encode()
    assert len(ids) < len(TEXT.encode()), "some tokens are longer than a byte"
    assert words[own.token_to_id("<|end|>")] == b"<|end|>"
    assert sorted(build_byte_alphabet().values()) == [bytes([byte]) for byte in range(256)]


def written(folder: Path, model: object, **more: object) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"model": model} | more), encoding="utf-8")
    return path


def test_pieces_words_and_bytes(tmp_path: Path) -> None:
    pieces = [["<unk>", 0.0], ["▁the", -1.0], ["<0x0A>", -2.0], ["s", -3.0]]
    words = read_vocabulary(written(tmp_path, {"type": "Unigram", "vocab": pieces}))
    assert [words[i] for i in range(4)] == [b"<unk>", b" the", b"\n", b"s"]
    parts = {"type": "WordPiece", "vocab": {"run": 0, "##ning": 1}}
    words = read_vocabulary(written(tmp_path, parts, added_tokens=[{"id": 5, "content": "[SEP]"}]))
    assert [words[i] for i in (0, 1, 4, 5)] == [b" run", b"ning", b"", b"[SEP]"]


@pytest.mark.parametrize(
    "model",
    [
        None,
        {},
        {"vocab": 3},
        {"vocab": {"a": "x"}},
        {"vocab": {"a": -1}},
        {"vocab": {"a": 1 << 40}},
    ],
)
def test_other_files_are_refused(model: object, tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError):
        read_vocabulary(written(tmp_path, model))
