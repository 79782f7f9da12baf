"""``theodolite.audit``: give what you have, get every answer that it allows."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import theodolite
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.ratings import planted_ratings
from theodolite._runs.recomputation import recompute
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.answers import answer
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.files import save
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.questions import QUESTIONS

FEW = Resampling(resamples=20)
audit = inspect.unwrap(theodolite.audit)


def arrays_of(evidence: theodolite.ConceptEvidence) -> dict[str, np.ndarray]:
    return {name: getattr(evidence, name) for name, _ in evidence.layouts() if evidence.has(name)}


@pytest.fixture(scope="module")
def concepts() -> theodolite.ConceptEvidence:
    return planted_concepts(60, n_concepts=4, n_classes=3, alignment=0.7)


def test_arrays_files_and_evidence_are_the_same(
    concepts: theodolite.ConceptEvidence, tmp_path: Path
) -> None:
    arrays = arrays_of(concepts)
    np.savez(tmp_path / "said.npz", **arrays)
    save(concepts, tmp_path / "stored")
    with EvidenceWriter(tmp_path / "pieces", 50) as writer:
        writer.add(concepts)
    expected = answer([[concepts]], None, FEW)
    lists = {name: array.tolist() for name, array in arrays.items()}
    for result in (
        audit(concepts, FEW),
        audit(resampling=FEW, **lists),
        audit(tmp_path / "said.npz", FEW),
        audit([str(tmp_path / "stored")], FEW),
        audit(tmp_path / "pieces", FEW),
    ):
        assert [s.value for s in result.scores] == pytest.approx([s.value for s in expected.scores])
        assert [v.answer for v in result.verdicts] == [v.answer for v in expected.verdicts]
        assert result.not_computed == expected.not_computed


def test_verdicts_that_apply_and_what_the_others_need(concepts: theodolite.ConceptEvidence) -> None:
    result = audit(concepts, FEW)
    assert [v.question for v in result.verdicts] == [q for q in QUESTIONS if q != "detects"]
    silent = [v for v in result.verdicts if v.answer == "not_evaluated"]
    assert [one.question for one in result.missing] == [v.question for v in silent]
    for verdict, one in zip(silent, result.missing, strict=True):
        assert (
            verdict.summary == f"Needs {one.needs}."
            and f"`theodolite evidence {one.kind}`" in one.needs
        )
    assert "Not evaluated: located (pass maps=, masks=)" in str(result)


@pytest.mark.parametrize(
    ("question", "given", "says"),
    [
        ("exists", {"values": np.eye(4), "labels": [0, 1, 0, 1], "predicted": [0, 1, 0, 1]},
         "`truth` (whether each concept is there): ConceptEvidence"),
        ("leak_free", {"values": np.eye(4), "truth": np.eye(4)},
         "`labels` (the true class): ConceptEvidence"),
        ("located", {"maps": np.random.default_rng(0).random((4, 5, 5))},
         "`objects` (the pixels of the object): SaliencyEvidence"),
        ("faithful", {"maps": np.random.default_rng(0).random((4, 5, 5))},
         "what is answered without patches of the image"),
        ("faithful", {"values": np.eye(4), "truth": np.eye(4)}, "SurrogateEvidence"),
        ("detects", {name: np.ones((4, 2), int) for name in
                     ("unit_pixels", "formula_pixels", "shared_pixels")} | {"right": [1, 0, 1, 1]},
         "what units mark and where concepts are"),
        ("accepted", {"values": np.eye(4), "truth": np.eye(4)}, "an exported study"),
    ],
)  # fmt: skip
def test_the_nearest_way_to_ask(question: str, given: dict[str, object], says: str) -> None:
    (one,) = [m for m in audit(resampling=FEW, **given).missing if m.question == question]
    assert says in one.needs


def test_several_kinds_together_and_kept(tmp_path: Path) -> None:
    location, ratings = planted_locations(24, n_concepts=4), planted_ratings(30)
    np.savez(tmp_path / "votes.npz", ratings=ratings.ratings, scale=ratings.scale)
    result = audit([location, tmp_path / "votes.npz"], FEW)
    answered = {v.question for v in result.verdicts if v.answer != "not_evaluated"}
    assert answered == {"exists", "located", "leak_free", "accepted"}
    page = result.save(tmp_path / "run")
    assert page == tmp_path / "run" / "report.html" and page.is_file()
    assert recompute(tmp_path / "run", share=0.2) > 5, "sealed, and the same scores again"
    one = result.report(tmp_path / "new" / "mine.html")
    assert "Audit of location evidence, votes.npz" in one.read_text()
    assert [p.name for p in one.parent.iterdir()] == ["mine.html"]
    with pytest.raises(EvidenceError, match="overwrite=True"):
        result.save(tmp_path / "run")
    result.save(tmp_path / "run", overwrite=True)
    again = audit(tmp_path / "run", FEW)
    assert [s.value for s in again.scores] == [s.value for s in result.scores]


def test_evidence_in_pieces_is_saved_by_scoring_it_again(
    concepts: theodolite.ConceptEvidence, tmp_path: Path
) -> None:
    with EvidenceWriter(tmp_path / "pieces", 50) as writer:
        writer.add(concepts)
    result = audit(tmp_path / "pieces", FEW)
    result.save(tmp_path / "run")
    assert recompute(tmp_path / "run") > 3
    again = audit(tmp_path / "run", FEW)
    assert [s.value for s in again.scores] == [s.value for s in result.scores]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"value": np.eye(3), "truth": np.eye(3)}, "Did you mean 'values' for 'value'"),
        ({"values": np.eye(3), "thruth": np.eye(3)}, "Did you mean 'truth' for 'thruth'"),
        ({"values": np.eye(3), "importances": np.eye(3)},
         "'values' and 'importances', which are of two kinds"),
        ({"values": np.eye(3), "truth": np.ones((2, 3))}, "truth: got shape"),
        ({"evidence": 3}, "got int"),
        ({"evidence": []}, "evidence: got none"),
        ({}, "evidence: got none"),
        ({"evidence": [planted_concepts(20), planted_concepts(30)]}, "concept evidence twice"),
        ({"layer": "layer4"}, "`model` and `data` too"),
        ({"model": object(), "data": "."}, "samples.csv"),
        ({"model": object()}, "Give both `model` and `data`"),
        ({"model": object(), "data": "nowhere"}, "nothing there"),
        ({"model": object(), "data": ".", "dataset": "fodler"}, "one of"),
        ({"evidence": "nowhere.npz"}, "nowhere.npz"),
    ],
)  # fmt: skip
def test_mistakes_are_one_clear_message(given: dict[str, object], says: str) -> None:
    with pytest.raises(EvidenceError) as refused:
        audit(**given)
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_bundles_that_do_not_belong_together_are_doubted() -> None:
    def named(evidence: theodolite.ConceptEvidence, word: str) -> theodolite.ConceptEvidence:
        ids = np.array([f"{word} {i}" for i in range(len(evidence))])
        return theodolite.ConceptEvidence(**arrays_of(evidence), samples=Samples(ids=ids))

    said = planted_concepts(60)
    right = np.ones((40, 1, 3), bool)
    some = theodolite.InterventionEvidence(right_after=right)
    assert any("60 and 40 samples" in note for note in audit([said, some], FEW).notes)
    ids = Samples(ids=np.array([f"dog {i}" for i in range(40)]))
    other = theodolite.InterventionEvidence(right_after=right, samples=ids)
    result = audit([named(said, "cat"), other], FEW)
    assert any("no sample in common" in note for note in result.notes)
    result = audit([named(said, "dog"), other], FEW)
    assert not any("in common" in note for note in result.notes)


def test_inputs_are_left_as_they_were(concepts: theodolite.ConceptEvidence) -> None:
    arrays = {name: array.copy() for name, array in arrays_of(concepts).items()}
    audit(resampling=FEW, **arrays)
    for name, array in arrays_of(concepts).items():
        assert np.array_equal(array, arrays[name])
