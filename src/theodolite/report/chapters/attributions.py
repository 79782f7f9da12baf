"""Some rows of a table: what was explained, and the features that its attribution names first."""

from dataclasses import dataclass

import numpy as np

from theodolite._runs.report_material import RunMaterial
from theodolite.evidence.attributions.subsets import rank_features
from theodolite.evidence.kinds.attribution import AttributionEvidence

ROWS, NAMED = 4, 5


@dataclass(frozen=True)
class NamedFeature:
    """One feature of a row."""

    name: str
    value: str
    attribution: str
    share: float
    """Of the strongest attribution of the rows that are shown, 0 to 100."""
    against: bool
    """Whether it lowers the output."""


@dataclass(frozen=True)
class ExplainedRow:
    """One row of the table."""

    sample: str
    output: str
    features: tuple[NamedFeature, ...]


def attribution_rows(material: RunMaterial, seed: int) -> list[ExplainedRow]:
    """Rows drawn at random by the seed of the run; none where it is not about a table."""
    evidence = material.evidence("attribution", seed)
    if not isinstance(evidence, AttributionEvidence):
        return []
    chosen = np.random.default_rng(seed).permutation(len(evidence))[:ROWS]
    strongest = float(np.abs(np.asarray(evidence.values)[chosen]).max()) or 1.0
    return [_row(evidence, int(number), strongest) for number in chosen]


def _row(evidence: AttributionEvidence, number: int, strongest: float) -> ExplainedRow:
    values = np.asarray(evidence.values, float)[number]
    first = rank_features(np.abs(values)[None])[0, :NAMED].tolist()
    features = tuple(
        NamedFeature(
            evidence.features.names[j], _value(evidence, number, j), f"{values[j]:+.3g}",
            round(100 * abs(values[j]) / strongest, 1), bool(values[j] < 0),
        )
        for j in first
        if values[j] or j == first[0]
    )  # fmt: skip
    output = "" if evidence.output is None else f"{evidence.output[number]:.3g}"
    return ExplainedRow(evidence.samples.name(number), output, features)


def _value(evidence: AttributionEvidence, number: int, feature: int) -> str:
    if evidence.inputs is None:
        return ""
    value, names = evidence.inputs[number, feature], evidence.features.categories[feature]
    return names[int(value)] if names else f"{value:.4g}"
