"""Four rows of a table: attributions beside the measured effect of removing each feature."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite._runs.report_material import RunMaterial
from theodolite.evidence.attributions.subsets import rank_features, sum_groups
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.tables.attribution_fit import (
    SubsetAnswers,
    fit_best_attributions,
    has_signs,
)
from theodolite.report.chapters.map_images import choose_extremes
from theodolite.report.words import minus

ROWS, BARS = 4, 8
LEAST = 1e-4
"""Of the strongest in the row; less is shown as 0."""
MAX_MEASURED = 64
"""Of more features the measured effects are too uncertain to show."""


@dataclass(frozen=True)
class SignedBar:
    """A number, and its bar from the middle of 100."""

    text: str
    x: float
    width: float
    css: str


@dataclass(frozen=True)
class FeatureBars:
    """One feature of a row: what the attribution says, and what was measured."""

    name: str
    value: str
    bars: tuple[SignedBar, ...]


@dataclass(frozen=True)
class ExplainedRow:
    """One row of the table."""

    sample: str
    output: str
    fit: str
    features: tuple[FeatureBars, ...]
    signed: bool


def attribution_rows(material: RunMaterial, seed: int) -> list[ExplainedRow]:
    """Return two rows with the highest and two with the lowest fit; drawn at random without fits.

    None where the run is not about a table.
    """
    evidence = material.evidence("attribution", seed)
    if not isinstance(evidence, AttributionEvidence):
        return []
    tables, fits = [sum_groups(np.asarray(evidence.values), evidence.groups)], None
    signed = has_signs(evidence)
    chosen = np.random.default_rng(seed).permutation(len(evidence))[:ROWS].tolist()
    if evidence.change is not None:
        fits = SubsetAnswers(evidence).fit(tables[0], "mixed", "given" if signed else "ignored")
        chosen = choose_extremes(fits, ROWS)
        if tables[0].shape[1] <= MAX_MEASURED:
            measured = fit_best_attributions(evidence[np.array(chosen)])
            tables.append(np.zeros_like(tables[0]))
            tables[1][chosen] = measured if signed else np.abs(measured)
    rows = np.stack(tables, axis=2)
    return [_row(evidence, int(number), rows[number], fits) for number in chosen]


def _row(
    evidence: AttributionEvidence,
    number: int,
    values: Float[np.ndarray, "groups columns"],
    fits: Float[np.ndarray, " samples"] | None,
) -> ExplainedRow:
    strongest = np.abs(values).max(axis=0)
    shares = values / np.where(strongest > 0, strongest, 1.0)
    first = rank_features(np.abs(shares).max(axis=1)[None])[0, :BARS].tolist()
    features = tuple(
        FeatureBars(
            *_name_and_value(evidence, number, j),
            tuple(_bar(float(v), float(s)) for v, s in zip(values[j], shares[j], strict=True)),
        )
        for j in first
        if np.abs(shares[j]).max() >= LEAST or j == first[0]
    )
    output = "" if evidence.output is None else minus(f"{evidence.output[number]:.3g}")
    fit = "" if fits is None else minus(f"{round(fits[number], 2) + 0.0:.2f}")
    return ExplainedRow(
        evidence.samples.name(number), output, fit.replace("nan", "undefined"), features,
        signed=has_signs(evidence),
    )  # fmt: skip


def _bar(value: float, share: float) -> SignedBar:
    x, width = 50 + 50 * min(share, 0.0), 50 * abs(share)
    text = minus(f"{value:+#.3g}".rstrip(".")) if abs(share) >= LEAST else "0"
    return SignedBar(text, round(x, 1), round(width, 1), "against" if share < 0 else "for")


def _name_and_value(evidence: AttributionEvidence, number: int, group: int) -> tuple[str, str]:
    """Return the name of a feature or a group of them, and its value in the row."""
    columns = [group] if evidence.groups is None else np.flatnonzero(evidence.groups == group)
    names = evidence.features if evidence.groups is None else evidence.feature_groups
    if len(columns) > 1 or evidence.inputs is None:
        return names.names[group], f"{len(columns)} columns" if len(columns) > 1 else ""
    value, known = evidence.inputs[number, columns[0]], evidence.features.categories[columns[0]]
    return names.names[group], known[int(value)] if known else minus(f"{value:.4g}")
