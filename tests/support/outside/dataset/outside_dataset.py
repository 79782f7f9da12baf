"""A data set of another package with a pipeline for it, in one file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite.ext import (
    Classes,
    ConceptData,
    ConceptEvidence,
    Concepts,
    EvidenceError,
    Produced,
    Samples,
    WorkContext,
    read_csv,
)

SIGNS = ("fever", "rash", "cough")


def clinic(root: Path) -> ConceptData:
    """``patients.csv``: id, class, and a column for each sign."""
    table = root / "patients.csv"
    rows = list(read_csv(table))
    if not rows:
        raise EvidenceError("patients.csv", "no patient", "some")
    classes = sorted({row["class"] for row in rows})
    labels = np.array([classes.index(row["class"]) for row in rows])
    presence = np.array([[row[sign] == "1" for sign in SIGNS] for row in rows])
    shares = [presence[labels == label].mean(axis=0) for label in range(len(classes))]
    return ConceptData(
        name="clinic",
        folder=root,
        images=tuple(row["id"] for row in rows),
        labels=labels,
        is_test=np.ones(len(rows), bool),
        presence=presence,
        class_truth=np.stack(shares, axis=1),
        classes=Classes(tuple(classes)),
        concepts=Concepts(SIGNS),
        part_of=np.full(len(SIGNS), -1),
        tables=(table,),
    )


@dataclass(frozen=True)
class Readings:
    """Evidence of a thermometer that is sometimes wrong."""

    noise: float = 0.2

    def make(self, data: ConceptData, context: WorkContext) -> Produced:
        """One bundle for each seed."""
        bundles = []
        for seed in context.seeds:
            random = np.random.default_rng(seed)
            wrong = random.random(data.presence.shape) < self.noise
            values = np.where(data.presence ^ wrong, 0.8, 0.2)
            values += 0.1 * random.random(values.shape)
            evidence = ConceptEvidence(
                values=values, truth=data.presence, labels=data.labels, concepts=data.concepts,
                classes=data.classes, samples=Samples(ids=np.array(data.images)),
            )  # fmt: skip
            bundles.append([evidence])
        return Produced(bundles, inputs=data.digests(), facts=[("patients", len(data))])
