"""Scripted annotators: what was planted comes back, and what was not does not."""

from typing import Any

import numpy as np
import pytest

from theodolite.datasets.votes.scripted import PlantedEffects, scripted_tables
from theodolite.evidence.technique_columns import EXPLANATIONS, SCRIPTED
from theodolite.findings.techniques.kinds import modality_contrast
from theodolite.findings.techniques.record import TechniquesVotesRecord
from theodolite.findings.techniques.study import techniques_votes
from theodolite.findings.techniques.voted_table import VotedTable

METHODS = ("lime", "shap", "grad_cam", "eigen_cam", "rise", "saliency", "occlusion", "full_grad")
NETWORKS = ("small", "large")
CONCEPTS = ("linear_head", "lime_cbm", "shap_cbm", "rise_cbm", "x_nesyl", "clip_qda")


def explained(pictures: int = 20, each: int = 11, seed: int = 0) -> dict[str, list[Any]]:
    """Techniques dealt out over pictures, each about as often as any other."""
    random = np.random.default_rng(seed)
    techniques = [(f"{m} / {n}", m, n, "saliency") for m in METHODS for n in NETWORKS]
    techniques += [(f"{m} / small", m, "small", "concept") for m in CONCEPTS]
    rows: list[dict[str, Any]] = []
    for picture in range(pictures):
        for at in random.permutation(len(techniques))[:each]:
            name, method, network, modality = techniques[at]
            rows.append(
                {
                    "explanation": f"{picture} / {name}", "picture": f"picture {picture}",
                    "data_set": f"set {picture % 4}", "technique": name, "method": method,
                    "network": network, "modality": modality, "label": "church door",
                    "predicted": "church",
                    "concepts": '{"door": 0.5, "rose window": 0.2, "sky": -0.3}'
                    if modality == "concept" else None,
                    "source": SCRIPTED,
                }
            )  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]}


def scripted(seed: int, **effects: Any) -> dict[str, dict[str, list[Any]]]:
    explanations = explained(seed=seed)
    planted = PlantedEffects(**effects)
    return {EXPLANATIONS: explanations, **scripted_tables(explanations, planted, seed)}


def contrast(seed: int, unit: str, **effects: Any) -> Any:
    table = VotedTable.of_tables(scripted(seed, **effects))
    rows = modality_contrast(table, 300, seed, unit)
    return next(row for row in rows if row.names["of"] == "fidelity")


def test_a_planted_difference_lies_in_its_interval() -> None:
    # the mode of five rounded votes moves less than one for one, hence the wide reach
    inside = 0
    for seed in range(10):
        row = contrast(seed, "techniques", modality={"saliency": 0.8})
        inside += row.low < 0.8 < row.high
        assert row.unit == "techniques" and row.units == 22
    assert inside >= 8


def test_a_planted_zero_is_seldom_confirmed_over_techniques_and_often_over_pictures() -> None:
    effects: dict[str, Any] = {"technique": 0.4}
    confirmed = {
        unit: sum(contrast(seed, unit, **effects).low > 0 for seed in range(40))
        for unit in ("techniques", "pictures")
    }
    assert confirmed["techniques"] <= 4
    assert confirmed["pictures"] > 4, "resampling pictures would pass the test for no reason"


@pytest.fixture(scope="module")
def record() -> TechniquesVotesRecord:
    tables = scripted(3, modality={"saliency": 0.8}, network={"large": -0.6})
    return techniques_votes("A rehearsal", tables, first=5, resamples=300)


def test_every_table_and_the_title_name_the_script(record: TechniquesVotesRecord) -> None:
    assert record.source == SCRIPTED and SCRIPTED in record.title
    assert all(SCRIPTED in table.title for table in record.tables)
    assert SCRIPTED in record.notes[0]
