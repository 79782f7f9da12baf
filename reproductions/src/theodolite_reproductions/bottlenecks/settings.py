"""How a concept bottleneck is built and trained, and what it is trained on."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int, Shaped

from theodolite.errors import EvidenceError

Kind = Literal["cbm", "cem", "head"]
Encoding = Literal["hard", "soft", "logit"]
Training = Literal["independent", "sequential", "joint"]
Activation = Literal["leaky_relu", "relu"]
Optimizer = Literal["adam", "sgd"]
HeadOptimizer = Literal["adam", "sgd", "lbfgs"]
PublishedData = Literal["tabular_toy", "dsprites", "shapes3d", "cub", "ham10k"]


@dataclass(frozen=True, kw_only=True)
class BottleneckSettings:
    """Every choice of a concept bottleneck model (CBM) or a concept embedding model (CEM)."""

    kind: Kind = "cbm"
    """``head``: no encoder, only the head of a CBM, on the true concepts."""
    encoding: Encoding = "soft"
    """What the head of a CBM is given: 0 or 1, the probability, or its logit."""
    training: Training = "joint"
    """Encoder and head together; or the encoder first, and then the head on the true concepts
    (independent) or on the predicted ones (sequential)."""
    concept_weight: float = 1.0
    """The weight of the concepts' loss beside the classes' loss. 0 trains end to end."""
    intervention_rate: float = 0.0
    """How often a CEM in training is told a concept's truth."""
    encoder: str = "mlp"
    encoder_weights: str = ""
    """A .safetensors file that a resnet18 starts from; without, it starts from scratch."""
    head: str = "linear"
    head_activation: Activation = "leaky_relu"
    embedding: int = 16
    shared_scoring: bool = True
    """Whether one layer scores the concepts of a CEM, or each has its own."""
    epochs: int = 200
    batch: int = 512
    learning_rate: float = 1e-3
    patience: int = 15
    """Epochs without a better loss on the validation samples before training stops."""
    dropout: float = 0.0
    weighted_concepts: bool = False
    """Whether a concept's positives weigh as much as its negatives in the loss."""
    head_epochs: int = 20
    head_optimizer: HeadOptimizer = "adam"
    """``lbfgs`` trains a head by itself to convergence, whatever the epochs."""
    head_learning_rate: float | None = None
    """For a head that is trained by itself; without, as for the rest."""

    def __post_init__(self) -> None:
        if self.kind == "cem" and self.training != "joint":
            raise EvidenceError("training", f"{self.training!r} for a CEM", "'joint'")
        if self.kind == "head" and self.training != "independent":
            raise EvidenceError("training", f"{self.training!r} for a head", "'independent'")
        if self.kind == "cbm" and self.encoding == "hard" and self.training == "joint":
            raise EvidenceError(
                "training", "'joint' with hard concepts", "'independent' or 'sequential'",
                "No gradient passes through a concept that is 0 or 1.",
            )  # fmt: skip
        for name, low, high in (
            ("intervention_rate", 0, 1), ("dropout", 0, 0.99), ("concept_weight", 0, np.inf),
            ("epochs", 1, np.inf), ("head_epochs", 1, np.inf), ("batch", 1, np.inf),
            ("embedding", 1, np.inf), ("patience", 1, np.inf),
        ):  # fmt: skip
            value = getattr(self, name)
            if not low <= value <= high:
                raise EvidenceError(name, str(value), f"a number from {low} to {high}")


def published_settings(data: PublishedData) -> dict[str, str | int | float]:
    """Settings of the leakage paper's trainings on one of its data sets (its appendix A.2).

    >>> settings = BottleneckSettings(**published_settings("cub"))
    >>> settings.encoder, settings.epochs, settings.batch, settings.learning_rate
    ('resnet18', 200, 64, 0.01)
    """
    encoder, batch, rate = {
        "tabular_toy": ("mlp", 512, 1e-3),
        "dsprites": ("resnet18", 32, 1e-3),
        "shapes3d": ("resnet18", 32, 1e-3),
        "cub": ("resnet18", 64, 1e-2),
        "ham10k": ("vit_b_16", 32, 1e-4),
    }[data]
    head = "linear" if data == "tabular_toy" else "mlp"
    return {
        "encoder": encoder, "head": head, "head_activation": "relu", "embedding": 16,
        "epochs": 200, "head_epochs": 20, "batch": batch, "learning_rate": rate,
        "head_optimizer": "adam",
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class LabeledFeatures:
    """Samples with their concepts and classes."""

    inputs: Shaped[np.ndarray, "samples *shape"]
    """Vectors of numbers, or images (rows, columns) or (rows, columns, 3) of bytes."""
    truth: Bool[np.ndarray, "samples concepts"]
    labels: Int[np.ndarray, " samples"]

    def __post_init__(self) -> None:
        if not len(self.inputs) == len(self.truth) == len(self.labels) > 0:
            raise EvidenceError(
                "samples", f"{len(self.inputs)} inputs, {len(self.truth)} rows of concepts and "
                f"{len(self.labels)} labels", "as many of each, and at least one",
            )  # fmt: skip

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return self.inputs.shape[1:]
