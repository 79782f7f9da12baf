"""A network in an ONNX file, run by onnxruntime. Importing this imports torch."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from theodolite._storage.optional import require
from theodolite._storage.paths import size_within
from theodolite.errors import EvidenceError, UnsafeInputError

MAX_BYTES = 1 << 31
"""A larger file cannot be one protobuf message."""


class OnnxNetwork(nn.Module):
    """A module without weights: outputs are those of the file, and nothing can be differentiated.

    The output with two axes is returned. Each further output is a layer of its name, through which
    its values pass, so that hooks see them.
    """

    gradients = False

    def __init__(self, path: Path) -> None:
        super().__init__()
        onnxruntime = require("onnxruntime", "onnx:", "embed")
        size_within(path, MAX_BYTES, "model")
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = torch.get_num_threads()
        settings.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), settings, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its kinds are not public
            reason = " ".join(str(error).split())[:150]
            raise UnsafeInputError(f"model {path.name!r}", reason, "an ONNX file") from error
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            raise EvidenceError(f"model {path.name!r}", f"{len(inputs)} inputs",
                                "one, a batch of images")  # fmt: skip
        self._input = inputs[0].name
        first, *_, last = inputs[0].shape
        self._batch = first if isinstance(first, int) else None
        self._channels_last = last == 3
        outputs = self._session.get_outputs()
        flat = [output for output in outputs if len(output.shape) == 2]
        if len(flat) != 1:
            raise EvidenceError(f"model {path.name!r}", f"{len(flat)} outputs with two axes",
                                "one, (images, classes)")  # fmt: skip
        self._logits = flat[0].name
        n_classes = flat[0].shape[1]
        self.num_classes = n_classes if isinstance(n_classes, int) else None
        self._map_outputs = [output.name for output in outputs if len(output.shape) in (3, 4)]
        self.map_layers = [name.replace(".", "_") for name in self._map_outputs]
        for layer in self.map_layers:
            self.add_module(layer, nn.Identity())

    def __deepcopy__(self, memo: Any) -> "OnnxNetwork":
        return self  # nothing in it changes

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of any number of images."""
        batch = images.detach().cpu().numpy().astype(np.float32)
        if self._channels_last:
            batch = batch.transpose(0, 2, 3, 1)
        names = [self._logits, *self._map_outputs]
        step = self._batch or len(batch)
        parts = [self._run(names, batch[at : at + step], step) for at in range(0, len(batch), step)]
        logits, *maps = (np.concatenate(output) for output in zip(*parts, strict=True))
        for layer, values in zip(self.map_layers, maps, strict=True):
            self.get_submodule(layer)(torch.from_numpy(values))
        return torch.from_numpy(logits)

    def _run(self, names: list[str], batch: np.ndarray, step: int) -> list[np.ndarray]:
        n = len(batch)
        padding = np.zeros((step - n, *batch.shape[1:]), batch.dtype)  # where a batch is fixed
        feed = {self._input: np.ascontiguousarray(np.concatenate([batch, padding]))}
        return [np.asarray(output)[:n] for output in self._session.run(names, feed)]
