"""A text encoder in ONNX: what it puts out at every token, for dictionaries of that."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.language.models.hooked import Ids
from theodolite.models.image_text.text_embedding import onnx_session


@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """An .onnx file with a vector for each token. It has no place to look into but its output,
    and predicts no next token, so nothing can be put in: pass ``TokenSettings(splice=False)``."""

    session: Any
    start: int
    """The id of the token before every text, left out again."""
    end: int
    """The id of the token after it, left out again."""
    module: str = "output"

    @classmethod
    def load(cls, path: Path, start: int, end: int) -> "OnnxEncoder":
        """From one file that holds all; such as 101 and 102 for networks with BERT's tokens."""
        return cls(onnx_session(path), start, end)

    def activations(self, ids: Ids) -> Float[np.ndarray, "tokens dimensions"]:
        """At every token of all sequences, one after the other.

        Each goes alone: 8-bit networks scale all that goes through them together by its largest
        number, so that a sequence's values would depend on its neighbors.
        """
        if not any(len(own) for own in ids):
            raise EvidenceError("ids", "no token", "some")
        names = [argument.name for argument in self.session.get_inputs()]
        parts = []
        for own in ids:
            row = np.array([[self.start, *own, self.end]], np.int64)
            inputs = {"input_ids": row, "attention_mask": np.ones_like(row)}
            inputs["token_type_ids"] = np.zeros_like(row)
            (hidden,) = self.session.run(None, {name: inputs[name] for name in names})[:1]
            parts.append(np.asarray(hidden[0, 1:-1], np.float32))
        return np.concatenate(parts)
