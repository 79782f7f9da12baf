"""Compare a post-hoc bottleneck with the network it explains, as surrogate evidence.

Features are centered on the mean training image. So the bias is the network's output there, and a
concept's value is the image's difference from that mean."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from theodolite.datasets.concept_data import ConceptData
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.subject import Claim, Outputs, Subject
from theodolite.models.class_match import ClassMatch, match_classes
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.own_output_surrogate import compute_own_output_surrogate
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.posthoc.fitted import fit_or_load_linear

OWN = "the network's own outputs"
FITTED = "a linear layer that theodolite trained on its pooled features and the same labels"


@dataclass(frozen=True, eq=False)
class NetworkOutputs:
    """Outputs of the network, or of a layer fitted in its place."""

    by: str
    """Source of the outputs."""
    outputs: Float[np.ndarray, "images classes"]
    """Outputs of all rows; rows that were not computed are 0."""
    head: Float[np.ndarray, "classes channels"] | None = None
    warnings: tuple[str, ...] = ()
    match: ClassMatch | None = None
    """Classes of the data that the columns are of; None: all, in order."""

    @property
    def classes(self) -> Int[np.ndarray, " matched"]:
        """Class of each column."""
        return np.arange(self.outputs.shape[1]) if self.match is None else self.match.classes

    def select(
        self, labels: Int[np.ndarray, " images"], rows: Int[np.ndarray, " rows"]
    ) -> Int[np.ndarray, " selected"]:
        """Return the rows whose class has an output."""
        return rows[np.isin(labels[rows], self.classes)]

    def compute_accuracy(
        self, labels: Int[np.ndarray, " images"], rows: Int[np.ndarray, " rows"]
    ) -> float:
        """Return the accuracy on the rows whose class has an output."""
        rows = self.select(labels, rows)
        return float(np.mean(self.classes[self.outputs[rows].argmax(axis=1)] == labels[rows]))

    def notes(self) -> list[str]:
        """Return notes on what was compared."""
        fitted = self.by == FITTED
        stands = "" if fitted else " This tests whether it reproduces the answers of the model."
        return [
            *self.warnings,
            *(
                [
                    f"The model has an output for {len(self.classes)} of {self.match.of} classes. "
                    "Faithfulness is evaluated on these classes and their test images."
                ]
                if self.match is not None and self.match.kind == "part"
                else []
            ),
            f"Faithful{' to the linear probe' * fitted}: the bottleneck's concepts and weights are "
            f"compared with {self.by}. Both are centered on their mean over the "
            f"training images. A bottleneck is always faithful to its own answers.{stands}",
        ]


def make_subject(answers: NetworkOutputs | None, data: ConceptData, network: str) -> Subject:
    """Return the bottleneck as an explanation of the network, and its reference."""
    outputs: Outputs = "none"
    if answers is not None:
        outputs = "probe_only" if answers.by == FITTED else "model"
    return Subject(
        f"post-hoc concept bottleneck ({len(data.concepts)} concepts)",
        network,
        outputs,
        FITTED if outputs == "probe_only" else "",
        data.name,
    )


def make_claim(data: ConceptData) -> Claim:
    """Return the claim of the bottleneck in the terms of the data set."""
    label, several, concepts = data.nouns
    return Claim(f"This {label}, because of these {concepts}", concepts, several, "test images")


def compute_fitted_outputs(
    features: Float[np.ndarray, "images channels"],
    data: ConceptData,
    train: Int[np.ndarray, " train"],
    cache: Path,
) -> NetworkOutputs | None:
    """Return outputs of a fitted linear layer; None if a class has no training image."""
    weights, bias = fit_or_load_linear(
        features[train], data.labels[train], len(data.classes), cache
    )
    if not np.isfinite(bias).all():
        return None
    return NetworkOutputs(FITTED, features @ weights.astype(np.float32) + bias, weights.T)


def take_network_outputs(
    model: LoadedModel,
    outputs: Float[np.ndarray, "images outputs"] | None,
    data: ConceptData,
    rows: Int[np.ndarray, " rows"],
) -> NetworkOutputs | None:
    """Return the network's own outputs for classes of the data, or None if it has others.

    Args:
        model: The network.
        outputs: Its outputs for all images; rows that were not computed are 0.
        data: The data set.
        rows: Rows that were computed.
    """
    if outputs is None:
        return None
    n_outputs = outputs.shape[1]
    match = match_classes(
        model.classes if len(model.classes) == n_outputs else (),
        data.classes.names,
        n_outputs=n_outputs,
        test_labels=data.labels[rows[data.is_test[rows]]],
    )
    if match.kind == "other":
        return None
    own = outputs[:, match.columns]
    if not np.isfinite(own[rows]).all():
        return None
    in_order = match.kind == "same" and match.by_order
    warnings = warn_about_class_order(own[rows], data.labels[rows]) if in_order else ()
    return NetworkOutputs(OWN, own, warnings=warnings, match=match)


def warn_about_class_order(
    outputs: Float[np.ndarray, "rows classes"], labels: Int[np.ndarray, " rows"]
) -> tuple[str, ...]:
    """Return a warning if outputs seem to be in another class order."""
    n_classes = outputs.shape[1]
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (labels, outputs.argmax(axis=1)), 1)
    share = counts / len(labels)
    chance = share.sum(axis=1).max()  # most frequent concepts class
    right, best = np.trace(share), share[linear_sum_assignment(share, maximize=True)].sum()
    error = np.sqrt(chance * (1 - chance) / len(labels))
    # an order that is chosen to fit always does a little better: it has to be half way to all
    if right > chance + 2 * error or best < (1 + chance) / 2:
        return ()
    return (
        f"THE ORDER OF CLASSES SEEMS WRONG: in the order of the data set's classes, the model's "
        f"outputs are correct for {100 * right:.0f} % of the images. In another order they would "
        f"be correct for {100 * best:.0f} %. Do not rely on the answer to faithful until the "
        "outputs are in the order of the data set's classes.",
    )


def compare_own_outputs(
    outputs: Float[np.ndarray, "images outputs"] | None,
    values: Float[np.ndarray, "images concepts"],
    features: Float[np.ndarray, "images channels"],
    split: tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]],
) -> tuple[dict[str, list[object]], str] | None:
    """Return how well concept values predict outputs for other classes: a table and a sentence."""
    if outputs is None or outputs.shape[1] < 2 or not np.isfinite(outputs).all():
        return None
    own = compute_own_output_surrogate(outputs, values, features, split)
    random = own.random_directions
    table: dict[str, list[object]] = {
        "predicted_from": [
            "concept values", "the mean of the training outputs",
            *["random directions"] * len(random), "principal components",
        ],
        "distance": [own.value, own.mean_predictor, *random.tolist(), own.principal_components],
    }  # fmt: skip
    beats = "below" if own.value < random.min() else "not below all of"
    sentence = (
        f"The model has outputs for other classes. From the concept values, ridge regression "
        f"predicts its {len(own.outputs)} most probable outputs with a total variation distance of "
        f"{own.value:.3f} on {len(split[1]):,} test images: {beats} {len(random)} draws of the "
        f"same number of random directions ({random.min():.3f} to {random.max():.3f}). Their mean "
        f"alone reaches {own.mean_predictor:.3f}, the same number of principal components "
        f"{own.principal_components:.3f}."
    )
    return table, sentence


def surrogate_evidence(
    answers: NetworkOutputs,
    model: PosthocBottleneck,
    features: Float[np.ndarray, "images channels"],
    data: ConceptData,
    split: tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]],
) -> SurrogateEvidence:
    """Return the bottleneck as a surrogate of the network."""
    train, test = split[0], answers.select(data.labels, split[1])
    classes = answers.classes
    lengths = np.linalg.norm(model.bank.vectors, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    # directions of length 1, as the measures have it; the weights take what that changes
    scale = lengths if model.projection == "dot" else np.ones_like(lengths)
    values = model.concepts(features[test]) - model.concepts(features[train]).mean(axis=0)
    return SurrogateEvidence(
        importances=model.weights[:, classes] * scale[:, None],
        outputs=answers.outputs[test].astype(np.float32),
        bias=answers.outputs[train].mean(axis=0, dtype=float),
        head=answers.head,
        vectors=model.bank.vectors / lengths[:, None],
        projections=(values / scale).astype(np.float32),
        labels=np.searchsorted(classes, data.labels[test]),
        concepts=data.concepts,
        classes=Classes(tuple(data.classes.names[k] for k in classes)),
        samples=Samples(
            index=test,
            ids=np.array([data.images[row] for row in test]),
            clusters=None if data.groups is None else data.groups[test],
        ),
    )
