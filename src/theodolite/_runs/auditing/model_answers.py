"""Answers that a model gave somewhere else, as part of the attributions that they are about."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._storage.arrays import read_npz
from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.plan import attribution_plan
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.attribution import AttributionEvidence

SETTINGS = ("draws", "subsets", "seed")
"""Of the plan, where they are not the usual ones."""


def with_model_answers(source: EvidenceSource | None, path: Path) -> EvidenceSource:
    """The attributions of a source with the answers of a model to the rows of their plan.

    Args:
        source: What is audited; attributions among it. A network has none.
        path: A .npz file with ``answers``, and perhaps ``draws``,
            ``subsets`` and ``seed`` as they were passed to ``attribution_plan``.
    """
    arrays = read_npz(path)
    unknown = sorted(set(arrays) - {"answers", *SETTINGS})
    if unknown or "answers" not in arrays:
        got = f"{unknown[0]!r}" if unknown else f"only {sorted(arrays)}"
        raise EvidenceError(f"{path.name!r}", got, f"`answers`, perhaps {', '.join(SETTINGS)}")
    if source is None or not any(isinstance(b, AttributionEvidence) for b in source.first):
        where = "a network" if source is None else repr(source.name)
        raise EvidenceError(
            "--model-answers", f"no attributions in {where}", "attribution evidence",
            "`theodolite evidence attribution` says what it holds.",
        )  # fmt: skip
    seeds = [[_answered(bundle, arrays) for bundle in bundles] for bundles in source.evidence]
    return replace(
        source, evidence=seeds, local=(*source.local, path),
        inputs={**source.inputs, path.name: sha256_of(path)},
    )  # fmt: skip


def _answered(bundle: Evidence, arrays: Mapping[str, np.ndarray]) -> Evidence:
    if not isinstance(bundle, AttributionEvidence):
        return bundle
    settings: dict[str, Any] = {
        name: arrays[name].item() for name in SETTINGS if name in arrays and arrays[name].size == 1
    }
    return attribution_plan(bundle, arrays["answers"], **settings).evidence
