"""Read token vectors from a text encoder in ONNX format."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._storage.optional import require
from theodolite._storage.paths import size_within
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.language.models.hooked import Ids

MAX_BYTES = 1 << 30
ELSEWHERE = b"\x0a\x08location"
"""How a tensor of an .onnx file begins to say in which other file its numbers are."""


@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """An .onnx text encoder. Only its output can be read, so pass
    ``TokenSettings(splice=False)``.
    """

    session: Any
    start: int
    """Id of the token before every text; excluded from the output."""
    end: int
    """Id of the token after every text; excluded from the output."""
    module: str = "output"

    @classmethod
    def load(cls, path: Path, start: int, end: int) -> "OnnxEncoder":
        """Load one file; BERT models use 101 and 102 as ``start`` and ``end``."""
        return cls(onnx_session(path), start, end)

    def activations(self, ids: Ids) -> Float[np.ndarray, "tokens dimensions"]:
        """Return activations at every token of all sequences.

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


def onnx_session(file: Path) -> Any:
    """Open a text encoder that is one .onnx file: token ids in, a vector for each token out."""
    onnxruntime = require("onnxruntime", "a text encoder", "embed")
    size_within(file, MAX_BYTES, "network")
    content, what = file.read_bytes(), f"network {file.name!r}"
    if ELSEWHERE in content:
        raise UnsafeInputError(what, "numbers in other files", "one file that holds all")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common class
        reason = " ".join(str(error).split())[:150]
        raise UnsafeInputError(
            what, f"a file that does not load ({reason})", "an ONNX file"
        ) from error
    inputs = {argument.name for argument in session.get_inputs()}
    shape = session.get_outputs()[0].shape
    if not inputs <= {"input_ids", "attention_mask", "token_type_ids"} or len(shape) != 3:
        raise UnsafeInputError(
            what, f"inputs {sorted(inputs)}, output of shape {shape}",
            "input_ids and attention_mask, and a vector for each token",
        )  # fmt: skip
    return session
