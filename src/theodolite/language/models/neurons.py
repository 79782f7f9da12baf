"""Neurons of a block: what its last matrix reads."""

from typing import Any

READERS = (
    "mlp.down_proj", "mlp.c_proj", "mlp.dense_4h_to_h", "mlp.fc_out", "mlp.fc2", "fc2",
    "output.dense", "ffn.lin2", "mlp.Wo",
)  # fmt: skip
"""The matrix that reads the neurons, as blocks of transformers call it."""


def reader_of_neurons(model: Any, module: str) -> str | None:
    """The matrix of a block that reads its neurons; nothing where it has another name.

    With gates, a neuron is the product of a gate and what it lets through: what the matrix reads.
    """
    names = {name for name, _ in model.named_modules()}
    for reader in READERS:
        for name in (f"{module}.{reader}", f"{module}.{reader.rsplit('.', 1)[-1]}"):
            if name in names:
                return name
    return None
