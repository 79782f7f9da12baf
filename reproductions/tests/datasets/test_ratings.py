"""Readers of votes: formats as other tools write them, and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from theodolite.errors import UnsafeInputError
from theodolite.metrics import rater_correlation
from theodolite_reproductions.datasets.votes.own_words import text_own_words
from theodolite_reproductions.datasets.votes.pasta import pasta_votes
from theodolite_reproductions.datasets.votes.saliency import saliency_ratings
from theodolite_reproductions.datasets.votes.text import text_acceptability, text_quality

NAN = float("nan")


def entry(image: int, technique: int, votes: Any, **more: Any) -> dict[str, Any]:
    """One entry of PASTA's file."""
    return {
        "img": f"/home/somebody/data/imgs/coco_{image}_home_or_hotel.png",
        "explication": f"/home/somebody/data/expl/coco_{image}_{technique}_home_or_hotel.png",
        "GTclass": "home_or_hotel",
        "predictedclass": "workplace",
        "Annotation": votes,
    } | more


def pasta(root: Path, entries: Any) -> Path:
    (root / "human_annotations.json").write_text(json.dumps(entries))
    return root


def test_pasta(tmp_path: Path) -> None:
    for folder in ("imgs", "expl", "activations"):
        (tmp_path / folder).mkdir()
    (tmp_path / "imgs" / "coco_75_home_or_hotel.png").write_bytes(b"")
    (tmp_path / "activations" / "coco_75_3_home_or_hotel.npy").write_bytes(b"")
    (tmp_path / "expl" / "coco_76_3_home_or_hotel.png").write_bytes(b"")
    concepts = {"sofa": 0.5, "cat": -2}
    (tmp_path / "activations" / "coco_75_39_home_or_hotel.json").write_text(json.dumps(concepts))
    full = {f"Q{i}": i % 5 + 1 for i in range(1, 7)}
    entries = [
        entry(75, 39, [full, full | {"Q1": 5}, {"Q1": 3, "Q0.1": "a room"}], ID=7),
        entry(75, 3, [{"Q2": 4, "Q1": None}]),
        entry(76, 3, [full] * 5, activations="…"),
        {key: value for key, value in entry(77, 3, []).items() if key != "Annotation"},
    ]
    result = pasta_votes(pasta(tmp_path, entries))
    assert len(result) == 3
    first = result.questions["Q1"]
    assert_array_equal(
        first.ratings, [[2, 5, 3, NAN, NAN], [NAN] * 5, [2, 2, 2, 2, 2]],
    )  # fmt: skip
    assert_array_equal(result.questions["Q2"].ratings[:, 0], [3, 4, 3])
    assert list(result.questions) == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
    assert first.samples.ids is not None
    assert first.samples.ids.tolist()[0] == "coco_75_39_home_or_hotel"
    assert first.samples.clusters is not None
    assert first.samples.clusters.tolist() == [0, 0, 1]
    assert first.techniques.names == ("3", "39 CLIP-QDA-sample")
    assert np.asarray(first.technique).tolist() == [1, 0, 0]
    assert first.raters.names == tuple(f"vote {i}" for i in range(1, 6))
    assert first.scale.tolist() == [1, 2, 3, 4, 5]
    by_concepts, by_map, rendered = result.explanations
    assert by_concepts.concepts == concepts
    assert by_concepts.map is None
    assert by_concepts.label == "workplace"
    assert by_map.image == tmp_path / "imgs" / "coco_75_home_or_hotel.png"
    assert by_map.map == tmp_path / "activations" / "coco_75_3_home_or_hotel.npy"
    assert rendered.map == tmp_path / "expl" / "coco_76_3_home_or_hotel.png"
    assert rendered.image is None
    assert not result.numbers, "numbers of images and techniques measure nothing"
    assert any("not identified" in note for note in result.notes)
    assert any("1 entries without votes" in note for note in result.notes)
    assert list(result.digests()) == ["human_annotations.json"]


def test_votes_on_one_explanation_in_two_batches_are_joined(tmp_path: Path) -> None:
    entries = [entry(1, 2, [{"Q1": 1}]), entry(1, 2, [{"Q1": 5}])]
    result = pasta_votes(pasta(tmp_path, entries))
    assert_array_equal(result.questions["Q1"].ratings, [[1, 5]])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"not": "a list"}, "a list of entries"),
        ([entry(1, 2, [{"Q1": 6}])], "Q1 = 6"),
        ([entry(1, 2, [{"Q1": True}])], "Q1 = True"),
        ([entry(1, 2, [{"Q1": "4"}])], "Q1 = '4'"),
        ([entry(1, 2, "five stars")], "one object per annotator"),
        ([entry(1, 2, [{"Q1": 4}], img="images/coco_1_cat.png")], "imgs/"),
        ([entry(1, 2, [{"Q1": 4}], img="imgs/coco_2_cat.png")], "same image"),
        ([entry(1, 2, [{"Q1": 4}], explication="expl/coco_1_cat.png")], "expl/"),
        ([entry(1, 2, [{"Q1": 4}], explication="expl/../../coco_1_2_cat.png")], "'..'"),
        ([entry(1, 2, [])], "no annotations"),
        (["x"], "an object"),
    ],
)
def test_what_pasta_refuses(tmp_path: Path, broken: Any, said: str) -> None:
    with pytest.raises(UnsafeInputError, match=said):
        pasta_votes(pasta(tmp_path, broken))


def test_explanations_in_words(shared_data: Path) -> None:
    result = text_acceptability(shared_data / "votes_text_explanations")
    votes = result.questions["acceptable"]
    assert votes.ratings.shape == (12_455, 3)
    assert not np.isnan(votes.ratings).any()
    clusters = votes.samples.clusters
    assert clusters is not None
    assert set(np.bincount(clusters).tolist()) == {5}
    assert len(np.unique(clusters)) == 2491
    assert (result.numbers["greedy"] == 1).sum() == 2491
    test = result.numbers["test"] == 1
    assert not set(clusters[test]) & set(clusters[~test])
    first = votes.samples.ids.tolist().index(  # type: ignore[union-attr]
        "acceptability_commonsenseqa_test/5b8a3081c3235d62bc77e2d15f3ad454/1"
    )
    assert votes.ratings[first : first + 5, 0].tolist() == [0, 1, 0, 1, 1]  # "2|4|5"
    assert result.explanations[first + 4].text == "A valley is a low area between two mountains."
    assert "Answer: valley" in result.explanations[first].context
    csqa_test = test & (result.numbers["snli"] == 0)
    each = [
        stats.spearmanr(said[:, j], np.delete(said, j, 1).mean(1)).statistic
        for said in [votes.ratings[csqa_test]]
        for j in range(3)
    ]
    ceiling = float(rater_correlation(votes.ratings[csqa_test], votes.scale))
    assert ceiling == pytest.approx(np.mean(each), abs=1e-12)
    assert ceiling == pytest.approx(0.476, abs=5e-4)
    assert float(rater_correlation(votes.ratings, votes.scale)) == pytest.approx(0.530, abs=5e-4)


def test_quality_of_explanations_in_words(shared_data: Path) -> None:
    result = text_quality(shared_data / "votes_text_explanations")
    assert len(result) == 1250
    said = result.questions["generality_factuality"].ratings
    assert int(np.isnan(said).sum()) == 433 + 83 + 47 + 135 + 94  # -9
    assert int(np.nansum(result.questions["acceptable"].ratings == 1)) == 53 + 430 + 650
    assert result.questions["grammar"].techniques.names == ("cose", "ecqa", "gpt3 greedy", "esnli")


def test_explanations_beside_peoples_own_words(shared_data: Path) -> None:
    result = text_own_words(shared_data / "votes_text_explanations")
    assert len(result) == 2500 == 5 * 500 and set(result.numbers) == {"rouge_1", "rouge_l", "bleu"}
    votes = result.questions["acceptable"]
    assert len(np.unique(votes.samples.clusters)) == 500
    for numbers in result.numbers.values():
        assert numbers.min() >= 0 and numbers.max() <= 1 and numbers.std() > 0.05


def test_saliency_of_words(shared_data: Path) -> None:
    total = 0
    for part, items, raters in (("en", 799, 50), ("de", 1610, 25), ("correction", 2346, 60)):
        result = saliency_ratings(shared_data / "votes_saliency_text", part)  # type: ignore[arg-type]
        votes = result.questions["importance"]
        assert votes.ratings.shape == (items, raters)
        assert votes.has("technique") == (part == "correction")
        assert any("differ between raters" in n for n in result.notes) == (part != "correction")
        assert result.numbers["word_length"].min() >= 1
        total += int((~np.isnan(votes.ratings)).sum())
    assert total == 20_250


def test_broken_copies_of_these_data_sets(tmp_path: Path) -> None:
    (tmp_path / "responses_en.csv.gz").write_bytes(gzip.compress(b"sentence_id\n1\n"))
    with pytest.raises(UnsafeInputError, match="word_position"):
        saliency_ratings(tmp_path)
    (tmp_path / "acceptability_commonsenseqa_train.csv").write_text("Input.id\n1\n")
    with pytest.raises(UnsafeInputError, match="gold_label"):
        text_acceptability(tmp_path)
    header = "Input.id,Input.gold_label,Answer.acceptable\n"
    path = tmp_path / "acceptability_commonsenseqa_train.csv"
    path.write_text(header + "1,x,2\n")
    with pytest.raises(UnsafeInputError, match="1 rows of '1'"):
        text_acceptability(tmp_path)
    path.write_text(header + "1,x,2|7\n" * 3)
    with pytest.raises(UnsafeInputError, match=r"'2\|7'"):
        text_acceptability(tmp_path)
