"""Find the matrix of a transformer block that reads its MLP neurons. Used for the neuron
baseline."""

from typing import Any

READERS = (
    "mlp.down_proj", "mlp.c_proj", "mlp.dense_4h_to_h", "mlp.fc_out", "mlp.fc2", "fc2",
    "output.dense", "ffn.lin2", "mlp.Wo",
)  # fmt: skip
"""Names of that matrix in blocks of transformers."""


def find_neuron_reader(model: Any, module: str) -> str | None:
    """Return the name of the matrix that reads a block's neurons, or None.

    With gates, a neuron is the product of a gate and what it lets through: what the matrix reads.
    """
    names = {name for name, _ in model.named_modules()}
    for reader in READERS:
        for name in (f"{module}.{reader}", f"{module}.{reader.rsplit('.', 1)[-1]}"):
            if name in names:
                return name
    return None
