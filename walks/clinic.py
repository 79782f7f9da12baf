"""A data set in one file, with the pipeline that turns it into evidence."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite import ext

SIGNS = ("fever", "rash", "cough")


def clinic(root: Path) -> ext.ConceptData:
    """Read ``patients.csv``: id, class, and a column for each sign."""
    table = root / "patients.csv"
    rows = list(ext.read_csv(table))
    if not rows:
        raise ext.EvidenceError("patients.csv", "no patient", "one row per patient")
    classes = sorted({row["class"] for row in rows})
    labels = np.array([classes.index(row["class"]) for row in rows])
    presence = np.array([[row[sign] == "1" for sign in SIGNS] for row in rows])
    shares = [presence[labels == label].mean(axis=0) for label in range(len(classes))]
    return ext.ConceptData(
        name="clinic",
        folder=root,
        images=tuple(row["id"] for row in rows),
        labels=labels,
        is_test=np.ones(len(rows), bool),
        presence=presence,
        class_truth=np.stack(shares, axis=1),
        classes=ext.Classes(tuple(classes)),
        concepts=ext.Concepts(SIGNS),
        part_of=np.full(len(SIGNS), -1),
        tables=(table,),
    )


@dataclass(frozen=True)
class Readings:
    """Readings of a device that is wrong about a share ``noise`` of all signs."""

    noise: float = 0.2

    def make(self, data: ext.ConceptData, context: ext.WorkContext) -> ext.Produced:
        """Make concept evidence for each seed."""
        bundles = []
        for seed in context.seeds:
            random = np.random.default_rng(seed)
            wrong = random.random(data.presence.shape) < self.noise
            values = np.where(data.presence ^ wrong, 0.8, 0.2)
            values += 0.1 * random.random(values.shape)
            evidence = ext.ConceptEvidence(
                values=values, truth=data.presence, labels=data.labels, concepts=data.concepts,
                classes=data.classes, samples=ext.Samples(ids=np.array(data.images)),
            )  # fmt: skip
            bundles.append([evidence])
        return ext.Produced(bundles, inputs=data.digests(), facts=[("patients", len(data))])
