"""Scripted annotators: what was planted comes back, and what was not does not."""

from typing import Any

import numpy as np
import pytest

from theodolite.evidence.technique_columns import EXPLANATIONS, SCRIPTED
from theodolite_reproductions.datasets.votes.scripted import PlantedEffects, scripted_tables
from theodolite_reproductions.findings.techniques.components import variance_components
from theodolite_reproductions.findings.techniques.kinds import modality_contrast
from theodolite_reproductions.findings.techniques.record import TechniquesVotesRecord
from theodolite_reproductions.findings.techniques.study import techniques_votes
from theodolite_reproductions.findings.techniques.voted_table import VotedTable

METHODS = ("lime", "shap", "grad_cam", "eigen_cam", "rise", "saliency", "occlusion", "full_grad")
NETWORKS = ("small", "large")
CONCEPTS = ("linear_head", "lime_cbm", "shap_cbm", "rise_cbm", "x_nesyl", "clip_qda")


def explained(images: int = 20, each: int = 11, seed: int = 0) -> dict[str, list[Any]]:
    """Techniques dealt out over images, each about as often as any other."""
    random = np.random.default_rng(seed)
    techniques = [(f"{m} / {n}", m, n, "saliency") for m in METHODS for n in NETWORKS]
    techniques += [(f"{m} / small", m, "small", "concept") for m in CONCEPTS]
    rows: list[dict[str, Any]] = []
    for image in range(images):
        for at in random.permutation(len(techniques))[:each]:
            name, method, network, modality = techniques[at]
            rows.append(
                {
                    "explanation": f"{image} / {name}", "image": f"image {image}",
                    "data_set": f"set {image % 4}", "technique": name, "method": method,
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
    rows = modality_contrast(table, 200, seed, unit)
    return next(row for row in rows if row.names["of"] == "fidelity")


def test_a_planted_difference_lies_in_its_interval() -> None:
    # the mode of five rounded votes moves less than one for one, hence the wide reach
    inside = 0
    for seed in range(10):
        row = contrast(seed, "techniques", modality={"saliency": 0.8})
        inside += row.low < 0.8 < row.high
        assert row.unit == "techniques" and row.units == 22
    assert inside >= 8


def test_a_planted_zero_is_seldom_confirmed_over_techniques_and_often_over_images() -> None:
    effects: dict[str, Any] = {"technique": 0.4}
    confirmed = {
        unit: sum(contrast(seed, unit, **effects).low > 0 for seed in range(40))
        for unit in ("techniques", "images")
    }
    assert confirmed["techniques"] <= 4
    assert confirmed["images"] > 4, "resampling images would pass the test for no reason"


@pytest.fixture(scope="module")
def record() -> TechniquesVotesRecord:
    tables = scripted(3, modality={"saliency": 0.8}, network={"large": -0.6})
    return techniques_votes("A rehearsal", tables, first=5, resamples=100)


def test_every_table_and_the_title_name_the_script(record: TechniquesVotesRecord) -> None:
    assert record.source == SCRIPTED and SCRIPTED in record.title
    assert all(SCRIPTED in table.title for table in record.tables)
    assert SCRIPTED in record.notes[0]


def test_planted_effects_of_network_and_groups_of_questions_come_back(
    record: TechniquesVotesRecord,
) -> None:
    (row,) = record.rows("network_contrast", of="fidelity")
    assert row.names["contrast"] == "large minus small" and row.unit == "methods"
    assert row.low is not None and row.high is not None and row.low < -0.6 < row.high < 0
    (together,) = record.rows("questions_together", over="all")
    assert together.low is not None and together.low > 0


def test_components_come_back() -> None:
    random = np.random.default_rng(0)
    n = 6000
    codes = [random.integers(0, k, n) for k in (40, 90, 60)]
    spreads = (0.6, 0.3, 0.4)
    votes = random.normal(3, 0.7, n)
    for own, spread in zip(codes, spreads, strict=True):
        votes += random.normal(0, spread, own.max() + 1)[own]
    components = variance_components(votes, codes)
    np.testing.assert_allclose(components, [0.36, 0.09, 0.16, 0.49], rtol=0.35)
    same = variance_components(votes, [codes[0], codes[0]])
    assert np.isnan(same).all(), "two factors that are one cannot be told apart"


def test_a_person_with_one_vote_has_no_list_and_harms_nothing() -> None:
    tables = scripted(5)
    votes = tables["votes"]
    for name, value in (("explanation", votes["explanation"][0]), ("person", "late"),
                        *((f"Q{i}", 5) for i in range(1, 7)), ("source", SCRIPTED)):  # fmt: skip
        votes[name].append(value)
    record = techniques_votes("x", tables, first=5, resamples=50)
    assert record.people == 16
    assert any(note.startswith("1 of 16 people gave a single vote") for note in record.notes)
    assert {row.units for row in record.rows("favorites")} == {15}


def test_an_explanation_without_prediction_or_without_votes() -> None:
    tables = scripted(6)
    explanations = tables[EXPLANATIONS]
    explanations["predicted"][0] = None
    before = techniques_votes("x", tables, first=5, resamples=50)
    assert any("1 explanations say no predicted class" in note for note in before.notes)
    for name in explanations:
        explanations[name].append("nobody saw it" if name == "explanation" else
                                  explanations[name][0])  # fmt: skip
    after = techniques_votes("x", tables, first=5, resamples=50)
    assert after.explanations == before.explanations
    assert any("1 explanations without a vote are left out" in note for note in after.notes)
    counted = {"sizes", "accuracies"}  # of explanations, whether somebody voted or not
    after_votes, before_votes = (
        [t for t in r.tables if t.name not in counted] for r in (after, before)
    )
    assert after_votes == before_votes


def test_unnamed_people_have_no_lists() -> None:
    tables = scripted(7)
    for table in tables.values():
        table["source"] = ["unnamed people"] * len(table["source"])
    record = techniques_votes("x", tables, first=5, resamples=50)
    assert record.people is None and "scripted" not in record.title
    assert not record.rows("favorites") and not record.rows("agreement")
    assert {row.names["component"] for row in record.rows("components")}.isdisjoint({"person"})


def test_numbers_against_votes_within_and_between_techniques() -> None:
    explanations = explained(seed=8)
    random = np.random.default_rng(0)
    score = random.normal(size=len(explanations["explanation"])).tolist()
    planted = PlantedEffects(technique=0.0, by_score={"score": 0.7})
    tables = {EXPLANATIONS: explanations,
              **scripted_tables(explanations, planted, 8, {"score": score}),
              "numbers": {"explanation": explanations["explanation"], "score": score,
                          "of the technique": [len(t) for t in explanations["technique"]]}}  # fmt: skip
    record = techniques_votes("x", tables, first=5, resamples=100)
    rows = {
        (row.names["over"], row.names["method"]): row
        for row in record.rows("numbers", number="score", question="Q1")
    }
    ratings = VotedTable.of_tables(tables).rating("Q1")
    assert rows["all", "pearson"].value == pytest.approx(np.corrcoef(score, ratings)[0, 1])
    assert all(row.low is not None and row.low > 0.3 for key, row in rows.items()
               if key[0] != "between techniques")  # fmt: skip
    assert rows["between techniques", "pearson"].units == 22
    of_technique = record.rows("numbers", number="of the technique", question="Q1")
    undefined = {row.names["over"] for row in of_technique if row.value is None}
    assert undefined == {"within techniques"}, "it does not differ within any"
    assert record.rows("scores", of="score")[0].n > 0
