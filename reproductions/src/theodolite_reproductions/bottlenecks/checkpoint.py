"""A training's state in one .safetensors file, from which it goes on after a cut."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from theodolite._storage.arrays import read_safetensors, write_safetensors
from theodolite.errors import UnsafeInputError


@dataclass(eq=False)
class TrainingState:
    """How far a training is, and the best it has seen."""

    epochs: int = 0
    waited: int = 0
    """Epochs since the best one."""
    best_loss: float = float("inf")
    best: dict[str, Tensor] = field(default_factory=dict)
    """The weights with the least loss on the validation samples."""
    finished: bool = False


class Checkpoint:
    """Where the state is kept: read if it is of the same training, else begun anew.

    Args:
        path: The file.
        identity: What makes this training this one: settings, seed, data.
        every: Seconds between two writes at least.
    """

    def __init__(self, path: Path, identity: dict[str, Any], every: float) -> None:
        self.path, self.every = path, every
        self.identity = json.loads(json.dumps(identity))
        self.written = time.monotonic()

    def due(self) -> bool:
        """Return whether it is time to write again."""
        return time.monotonic() - self.written >= self.every

    def save(
        self, state: TrainingState, network: nn.Module, optimizer: torch.optim.Optimizer
    ) -> None:
        """Write all of it, or nothing. A training that has ended needs its best weights only."""
        header = {
            "identity": self.identity, "epochs": state.epochs, "waited": state.waited,
            "best_loss": state.best_loss.hex(), "finished": state.finished,
        }  # fmt: skip
        arrays = {"about": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        arrays |= {f"best/{name}": _array(t) for name, t in state.best.items()}
        if not state.finished:
            arrays |= {f"weights/{n}": _array(t) for n, t in network.state_dict().items()}
            for number, tensors in optimizer.state_dict()["state"].items():
                arrays |= {f"optimizer/{number}/{key}": _array(t) for key, t in tensors.items()}
        write_safetensors(self.path, arrays)
        self.written = time.monotonic()

    def load(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> TrainingState:
        """The state to go on from; network and optimizer are set to it."""
        if not self.path.exists():
            return TrainingState()
        arrays = read_safetensors(self.path)
        if "about" not in arrays:
            raise UnsafeInputError(
                f"checkpoint {self.path.name!r}", "a file of something else", "one of a training",
                "Name another file: this one would be overwritten.",
            )  # fmt: skip
        header = json.loads(arrays.pop("about").tobytes())
        if header["identity"] != self.identity:
            return TrainingState()
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        state = TrainingState(
            epochs=header["epochs"],
            waited=header["waited"],
            best_loss=float.fromhex(header["best_loss"]),
            best=_below("best", tensors),
            finished=header["finished"],
        )
        if not state.finished:
            network.load_state_dict(_below("weights", tensors))
            groups = optimizer.state_dict()["param_groups"]
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            optimizer_state: dict[int, dict[str, Tensor]] = {}
            for name, tensor in _below("optimizer", tensors).items():
                number, key = name.split("/")
                like = parameters[int(number)]
                if tensor.shape == like.shape:  # in memory as the parameter is, or steps go wrong
                    tensor = torch.empty_like(like, device="cpu").copy_(tensor).detach()
                optimizer_state.setdefault(int(number), {})[key] = tensor
            optimizer.load_state_dict({"state": optimizer_state, "param_groups": groups})
        return state


def _array(tensor: Tensor) -> np.ndarray:
    return np.asarray(tensor.detach().cpu().numpy())


def _below(folder: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = f"{folder}/"
    return {n.removeprefix(start): t for n, t in tensors.items() if n.startswith(start)}
