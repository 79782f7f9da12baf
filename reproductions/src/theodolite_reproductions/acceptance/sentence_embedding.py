"""Sentences as vectors, by a small language model that runs without torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from PIL import Image

from theodolite._storage.optional import require
from theodolite._storage.text import read_text
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.language.models.onnx_encoder import onnx_session

MAX_TOKENS = 256
BATCH = 32


@dataclass(frozen=True, eq=False)
class MiniLM:
    """all-MiniLM-L6-v2 or a network of the same form: means of the tokens' vectors, of length 1."""

    session: Any
    tokens: Any
    dimensions: int
    name: str = "minilm"
    normalized: bool = True
    says: str = (
        "A sentence embedding (all-MiniLM-L6-v2 in 8-bit numbers); it knows words, not images."
    )

    def texts(self, sentences: Sequence[str]) -> Float[np.ndarray, "sentences dimensions"]:
        """One vector for each sentence; what comes after 256 tokens is not read.

        Sentences of like length go together, and a sentence's vector does not depend on those
        that go with it.
        """
        encoded = [encoding.ids for encoding in self.tokens.encode_batch(list(sentences))]
        vectors = np.zeros((len(encoded), self.dimensions), np.float32)
        order = sorted(range(len(encoded)), key=lambda row: len(encoded[row]))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            vectors[rows] = self._of_batch([encoded[row] for row in rows])
        return vectors

    def images(self, images: Sequence[Image.Image]) -> Float[np.ndarray, "images dimensions"]:
        """Not possible: the network has never seen an image."""
        raise EvidenceError(
            "images", f"{len(images)} of them", "sentences: this embedding is of text only",
            "Take 'stand_in', 'open_clip:...' or 'transformers_clip:...'.",
        )  # fmt: skip

    def _of_batch(self, encoded: list[list[int]]) -> Float[np.ndarray, "sentences dimensions"]:
        longest = max(len(ids) for ids in encoded)
        ids = np.zeros((len(encoded), longest), np.int64)
        for row, token_ids in enumerate(encoded):
            ids[row, : len(token_ids)] = token_ids
        mask = (np.arange(longest) < [[len(token_ids)] for token_ids in encoded]).astype(np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        names = [argument.name for argument in self.session.get_inputs()]
        vectors = self.session.run(None, {name: inputs[name] for name in names})[0]
        summed = (vectors * mask[:, :, None]).sum(axis=1)
        return np.asarray(summed / np.linalg.norm(summed, axis=1, keepdims=True))


def load_minilm(folder: Path) -> MiniLM:
    """The network of a folder with one .onnx file and ``tokenizer.json``.

    An .onnx file lists the steps of a network and its numbers. One that points to numbers in other
    files is refused, and no steps but onnxruntime's own are known.
    """
    Tokenizer = require("tokenizers", "minilm", "embed").Tokenizer  # noqa: N806
    files = sorted(folder.glob("*.onnx")) if folder.is_dir() else []
    if len(files) != 1:
        raise UnsafeInputError(
            f"folder {folder.name!r}", f"{len(files)} .onnx files", "one, and tokenizer.json",
            "Put the files of all-MiniLM-L6-v2 (ONNX) there, and name the folder.",
        )  # fmt: skip
    listing = read_text(folder / "tokenizer.json", "tokenizer")
    session = onnx_session(files[0])
    try:
        tokens = Tokenizer.from_str(listing)
    except Exception as error:  # the library raises nothing more exact
        raise UnsafeInputError(
            "tokenizer 'tokenizer.json'", "a broken one", "a tokenizer"
        ) from error
    tokens.no_padding()
    tokens.enable_truncation(MAX_TOKENS)
    return MiniLM(session, tokens, int(session.get_outputs()[0].shape[-1]))
