"""A bottleneck on texts: on texts whose words say all, and on real reviews with real edits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Score
from theodolite_reproductions.datasets.cebab import cebab
from theodolite_reproductions.edits.pipeline import TextBottleneckPipeline
from theodolite_reproductions.edits.texts import EditedTexts

WORDS = {"food": ("tasty", "bland"), "noise": ("calm", "loud")}
N = 200


def plain_texts(seed: int = 0) -> EditedTexts:
    """Texts of one word an aspect, with three classes that follow the words; the last forty are
    tested, each second one an edit of the food of the one before."""
    random = np.random.default_rng(seed)
    states = random.integers(-1, 2, (N, 2))
    test = np.arange(N - 40, N)
    for row in test[1::2]:
        before = int(states[row - 1, 0])
        states[row] = states[row - 1]
        states[row, 0] = -1 if before == 1 else before + 1
    said = {1: 0, -1: 1}
    texts = tuple(
        " ".join(
            ["we came"]
            + [words[said[int(s)]] for s, words in zip(row, WORDS.values(), strict=True) if s]
        )
        for row in states
    )
    total = states.sum(axis=1)
    return EditedTexts(
        name="planted", texts=texts, ids=tuple(f"t{i}" for i in range(N)),
        originals=np.where(np.arange(N) < N - 40, np.arange(N), np.arange(N) // 2 * 2),
        aspects=tuple(WORDS), states=states, known=np.ones((N, 2), bool),
        labels=np.digitize(total, [0, 1]), classes=("bad", "middling", "good"),
        train=np.arange(N - 40), test=test, edits=np.stack([test[0::2], test[1::2]], axis=1),
        edited=np.zeros(20, int),
        direction=np.sign(states[test[1::2], 0] - states[test[0::2], 0]),
    )  # fmt: skip


def bundles(data: EditedTexts, cache: Path, **options: Any) -> Any:
    pipeline = TextBottleneckPipeline(**{"features": ["tf-idf"], **options})
    return pipeline.make(data, WorkContext([0], cache))


def score(name: str, evidence: Any, **options: Any) -> Score:
    request = MetricRequest(find_metric(name), options)
    return evaluate(request, [evidence], Resampling(20))[0]


def test_words_that_say_all_are_followed(tmp_path: Path) -> None:
    produced = bundles(plain_texts(), tmp_path)
    concepts, edits = produced.evidence[0]
    assert score("concept_prediction", concepts, by=("auc",)).value == 1.0
    assert score("edit_direction", edits).value == 1.0
    assert score("edit_specificity", edits).value == 1.0
    assert np.unique(edits.samples.clusters).size == 20
    assert produced.subject.outputs == "model"


def test_test_texts_teach_nothing(tmp_path: Path) -> None:
    data = plain_texts()
    wrong = data.states.copy()
    wrong[data.test] *= -1
    other = replace(
        data, states=wrong, labels=np.where(np.isin(np.arange(N), data.test), 0, data.labels)
    )
    first, second = (bundles(own, tmp_path).evidence[0][0].values for own in (data, other))
    assert_allclose(first, second, rtol=0, atol=0)


@pytest.mark.parametrize(
    "options", [{"features": []}, {"features": ["tf-idf", "tf-idf"]}, {"penalty": 0.0}]
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(EvidenceError):
        bundles(plain_texts(), tmp_path, **options)


def test_what_cannot_be_learned_is_refused(tmp_path: Path) -> None:
    data = plain_texts()
    with pytest.raises(EvidenceError, match="food praised"):
        bundles(replace(data, states=np.minimum(data.states, 0)), tmp_path)
    with pytest.raises(EvidenceError, match="2 classes"):
        bundles(replace(data, labels=np.minimum(data.labels, 1)), tmp_path)


def test_real_reviews_give_the_known_numbers(shared_data: Path, tmp_path: Path) -> None:
    """Words alone: what a network of sentences must be held against."""
    concepts, edits = bundles(cebab(shared_data / "cebab"), tmp_path).evidence[0]
    expected = {
        ("concept_existence", "top", (1,)): 0.7004,
        ("concept_existence", "top", (3,)): 0.5407,
        ("concept_prediction", "by", ("auc",)): 0.8265,
        ("task_accuracy", "", ""): 0.4577,
        ("edit_direction", "", ""): 0.8038,
        ("edit_specificity", "", ""): 0.6154,
        ("edit_effect_error", "distance", "l2"): 0.3180,
    }
    for (name, option, choice), value in expected.items():
        evidence = edits if name.startswith("edit") else concepts
        options = {option: choice} if option else {}
        assert score(name, evidence, **options).value == pytest.approx(value, abs=0.01), name
