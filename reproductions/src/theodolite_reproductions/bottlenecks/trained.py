"""A trained bottleneck: what it says of inputs, and what it answers when concepts are corrected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from theodolite.errors import UnsafeInputError
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings

if TYPE_CHECKING:
    import torch

    from theodolite_reproductions.bottlenecks.model import Network

Concepts = Float[np.ndarray, "samples concepts"]
Vectors = Float[np.ndarray, "samples concepts size"]
Scores = Float[np.ndarray, "samples classes"]
HEAD_ROWS = 16_384


@dataclass(frozen=True, eq=False, kw_only=True)
class ConceptValues:
    """What a bottleneck says of samples."""

    values: Concepts
    """What the head of a CBM sees; for a CEM, the probabilities."""
    probabilities: Concepts
    logits: Concepts
    scores: Scores
    """Of the classes, before the softmax."""
    weighted: Vectors | None = None
    """What the head of a CEM sees."""
    positive: Vectors | None = None
    negative: Vectors | None = None

    @property
    def predicted(self) -> Int[np.ndarray, " samples"]:
        """The class with the highest score."""
        return np.asarray(self.scores.argmax(axis=1))

    def rows(self, which: Shaped[np.ndarray, " _"]) -> "ConceptValues":
        """What it says of some of the samples."""
        arrays: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{n: a[which] for n, a in arrays.items() if a is not None})


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedBottleneck:
    """A bottleneck with its settings and its weights."""

    settings: BottleneckSettings
    network: "Network"
    absent: Float[np.ndarray, " concepts"]
    """What an intervention sets a concept to that is not there: 0, or for logits their 5th
    percentile on the training samples."""
    present: Float[np.ndarray, " concepts"]
    """What an intervention sets a concept to that is there: 1, or the 95th percentile."""

    def arrays(self) -> dict[str, np.ndarray]:
        """All that is needed to have it back, by name; for a .safetensors file."""
        state = self.network.state_dict()
        weights = {f"network.{n}": np.asarray(t.cpu().numpy()) for n, t in state.items()}
        return {**weights, "absent": self.absent, "present": self.present}

    @staticmethod
    def of(
        settings: BottleneckSettings,
        arrays: Mapping[str, np.ndarray],
        input_shape: tuple[int, ...],
        n_concepts: int,
        n_classes: int,
    ) -> "TrainedBottleneck":
        """The bottleneck that :meth:`arrays` was taken from."""
        import torch  # noqa: PLC0415

        from theodolite_reproductions.bottlenecks.model import build  # noqa: PLC0415

        scratch = replace(settings, encoder_weights="")
        network = build(scratch, input_shape, n_concepts, n_classes, seed=0).eval()
        weights = {n.removeprefix("network."): a for n, a in arrays.items() if "." in n}
        state = network.state_dict()
        wrong = sorted(
            n for n in state.keys() | weights.keys()
            if n not in state or n not in weights or state[n].shape != weights[n].shape
        )  # fmt: skip
        if wrong:
            raise UnsafeInputError(
                "bottleneck", f"{len(wrong)} arrays that do not fit ({wrong[0]} first)",
                f"the {len(state)} arrays of a bottleneck with these settings",
            )  # fmt: skip
        network.load_state_dict({n: torch.from_numpy(a.copy()) for n, a in weights.items()})
        absent, present = intervention_values(settings, n_concepts)
        return TrainedBottleneck(
            settings=settings,
            network=network,
            absent=arrays.get("absent", absent),
            present=arrays.get("present", present),
        )

    def say(self, inputs: Shaped[np.ndarray, "samples *shape"], batch: int = 1024) -> ConceptValues:
        """Concepts and classes of these inputs."""
        import torch  # noqa: PLC0415

        device = _device(self.network)
        outputs = []
        self.network.eval()
        with torch.inference_mode():
            for rows in _slices(len(inputs), batch):
                tensor = torch.from_numpy(np.array(as_inputs(inputs[rows])))
                outputs.append(self.network(tensor.to(device))._asdict())
        arrays = {
            name: np.concatenate([output[name].cpu().numpy() for output in outputs])
            for name, first in outputs[0].items()
            if first is not None
        }
        return ConceptValues(probabilities=_sigmoid(arrays["logits"]), **arrays)

    def answer(self, bottleneck: Concepts | Vectors) -> Scores:
        """The class scores that the head alone gives for concept values, or vectors of a CEM."""
        return answers(self.network.head, bottleneck)

    def intervene(
        self,
        predictions: ConceptValues,
        mask: Bool[np.ndarray, "samples concepts"],
        truth: Bool[np.ndarray, "samples concepts"],
    ) -> Scores:
        """The class scores after the concepts under the mask are set to their truth."""
        if (
            predictions.positive is None
            or predictions.negative is None
            or predictions.weighted is None
        ):
            corrections = np.where(truth, self.present, self.absent).astype(
                predictions.values.dtype
            )
            return self.answer(np.where(mask, corrections, predictions.values))
        chosen = np.where(truth[..., None], predictions.positive, predictions.negative)
        return self.answer(np.where(mask[..., None], chosen, predictions.weighted))


def as_inputs(inputs: np.ndarray) -> np.ndarray:
    """Bytes as they are, and anything else in single precision."""
    return inputs if inputs.dtype == np.uint8 else inputs.astype(np.float32, copy=False)


def answers(head: "torch.nn.Module", rows: Shaped[np.ndarray, "samples *shape"]) -> Scores:
    """What a head gives for rows of concepts, some thousand at a time."""
    import torch  # noqa: PLC0415

    device, parts = _device(head), []
    head.eval()
    with torch.inference_mode():
        for part in _slices(len(rows), HEAD_ROWS):
            flat = np.asarray(rows[part], np.float32).reshape(len(rows[part]), -1)
            parts.append(head(torch.from_numpy(flat).to(device)).cpu().numpy())
    return np.concatenate(parts)


def intervention_values(
    settings: BottleneckSettings, n_concepts: int, logits: Concepts | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What an absent and a present concept are set to; -5 and 5 for logits never seen."""
    if settings.kind == "cem" or settings.encoding != "logit":
        low, high = 0.0, 1.0
    elif logits is None:
        low, high = -5.0, 5.0
    else:
        at_5, at_95 = np.percentile(logits, [5, 95], axis=0).astype(np.float32)
        return at_5, at_95
    return np.full(n_concepts, low, np.float32), np.full(n_concepts, high, np.float32)


def _device(network: "torch.nn.Module") -> Any:
    return next(network.parameters()).device


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, max(n, 1), size))


def _sigmoid(logits: Concepts) -> Concepts:
    from scipy.special import expit  # noqa: PLC0415

    return np.asarray(expit(logits))
