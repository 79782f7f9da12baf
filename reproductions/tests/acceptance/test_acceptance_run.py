"""From votes to a learned score, its evidence, its file and its use; and settings sought by it."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import spearmanr

from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Samples, Techniques
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.pipeline_output import WorkContext
from theodolite_reproductions.acceptance import embedding
from theodolite_reproductions.acceptance.embedding import Embedder
from theodolite_reproductions.acceptance.features import (
    ExplanationFeatures,
    Explanations,
    common_labels,
)
from theodolite_reproductions.acceptance.handcrafted import FEATURES, handcrafted, variance
from theodolite_reproductions.acceptance.models import (
    AcceptanceModel,
    RatedExplanations,
    SplitSettings,
)
from theodolite_reproductions.acceptance.pipeline import AcceptancePipeline
from theodolite_reproductions.acceptance.rendering import Rendering, draw_map, vectors_of
from theodolite_reproductions.acceptance.score_file import (
    LearnedScore,
    ScoreCard,
    card_text,
    load_scorer,
    save_scorer,
)
from theodolite_reproductions.acceptance.scoring import (
    load_learned,
    rate_explanations,
    read_explanations,
)
from theodolite_reproductions.acceptance.tuning import Range, space_from, tune
from theodolite_reproductions.datasets.votes.text import text_acceptability


@dataclass
class Toy:
    """A sentence is its length and its vowels; an image is its mean color."""

    name: str = "toy"
    dimensions: int = 3
    normalized: bool = False
    says: str = "A toy."
    asked: int = 0

    def texts(self, sentences: Any) -> np.ndarray:
        self.asked += len(sentences)
        return np.array(
            [[len(s) / 50, s.count("a") / 5, s.count("e") / 5] for s in sentences], np.float32
        ).reshape(-1, 3)

    def images(self, images: Any) -> np.ndarray:
        self.asked += len(images)
        return np.stack([np.asarray(p).mean(axis=(0, 1)) / 255 for p in images]).astype(np.float32)


def voted(n: int = 60, *, chance: bool = False, each: int = 4) -> VotedExplanations:
    """People like explanations with many an a; three votes each."""
    random = np.random.default_rng(2)
    shown, votes = [], []
    for question in range(n):
        for _ in range(each):
            letters = random.choice(list("aebcd "), 40, p=[0.2, 0.16, 0.16, 0.16, 0.16, 0.16])
            text = "".join(letters)
            likes = 0.5 if chance else np.clip((text.count("a") - 4) / 8, 0.02, 0.98)
            shown.append(
                ShownExplanation(f"question {question}", text, label=("yes", "no")[question % 2])
            )
            votes.append(random.random(3) < likes)
    many = len(shown)
    evidence = RatingEvidence(
        ratings=np.array(votes, float),
        scale=np.array([0.0, 1.0]),
        technique=np.arange(many) % each,
        techniques=Techniques(tuple(f"way {i}" for i in range(each))),
        samples=Samples(
            ids=np.array([f"e{i}" for i in range(many)]), clusters=np.repeat(np.arange(n), each)
        ),
    )
    return VotedExplanations("toy votes", {"good": evidence}, shown, {"k": np.arange(many) * 1.0})


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    made = Toy()
    monkeypatch.setattr(embedding, "load_embedding", lambda *_, **__: made)
    return made


MODELS = {
    "kernel": AcceptanceModel(features=("words", "likeness", "label"), straight=("embedding",),
                              landmarks=50),
    "ridge": AcceptanceModel(scorer="ridge", features=("embedding",)),
    "length-only": AcceptanceModel(scorer="ridge", features=("length",)),
    "number": AcceptanceModel(scorer="ridge", features=("k",)),
}  # fmt: skip


def pipeline(**changes: Any) -> AcceptancePipeline:
    return AcceptancePipeline(**{"embedding": "toy", "models": MODELS, **changes})


def mean_votes(data: VotedExplanations) -> np.ndarray:
    return np.asarray(data.questions["good"].ratings).mean(axis=1)


def test_votes_are_foretold_and_only_by_what_they_lean_on(toy: Toy, tmp_path: Path) -> None:
    data = voted()
    made = pipeline().make(data, WorkContext((0, 1), tmp_path))
    assert len(made.evidence) == 2 and [c.name for c in made.compared] == list(MODELS)[1:]
    by = {c.name: c.evidence[0][0].predicted for c in made.compared}
    main = made.evidence[0][0]
    assert main.kind == "rating" and not np.isnan(main.predicted).any()
    assert main.predicted.min() >= 0 and main.predicted.max() <= 1
    truth = mean_votes(data)
    # what one would reach who knew how people vote
    known = np.array([one.text.count("a") for one in data.explanations])
    ceiling = spearmanr(known, truth)[0]
    assert ceiling > 0.6
    for predicted in (main.predicted, made.evidence[1][0].predicted, by["ridge"]):
        assert spearmanr(predicted, truth)[0] > 0.85 * ceiling
    assert abs(spearmanr(by["number"], truth)[0]) < 0.2
    assert not np.array_equal(main.predicted, made.evidence[1][0].predicted), "seeds differ"
    again = pipeline().make(data, WorkContext((0, 1), tmp_path))
    assert np.array_equal(again.evidence[0][0].predicted, main.predicted)
    assert dict(made.facts)["explanations in the test"] == len(data)
    assert made.tables["predictions"]["rating"][:3] == list(truth[:3])


def test_a_score_of_other_labels_and_another_test(toy: Toy, tmp_path: Path) -> None:
    data = voted()
    own = {"scorer": "ridge", "features": ("embedding",)}
    models = {
        "plain": AcceptanceModel(**own),
        "mode": AcceptanceModel(**own, aggregate="mode"),
        "free": AcceptanceModel(**own, apart="none"),
    }
    made = pipeline(models=models, folds=0).make(data, WorkContext((0,), tmp_path))
    plain = made.evidence[0][0].predicted
    other = {c.name: c.evidence[0][0].predicted for c in made.compared}
    groups = data.questions["good"].samples.clusters
    tested = {name: ~np.isnan(predicted) for name, predicted in other.items()}
    assert np.array_equal(tested["mode"], ~np.isnan(plain)), "the same test"
    assert not np.array_equal(other["mode"][tested["mode"]], plain[tested["mode"]])
    assert not set(groups[tested["mode"]]) & set(groups[~tested["mode"]]), "new questions"
    assert set(groups[tested["free"]]) & set(groups[~tested["free"]]), "questions it has seen"
    assert dict(made.compared[1].about)["apart"] == "none"


def test_nothing_is_foretold_of_chance(toy: Toy, tmp_path: Path) -> None:
    data = voted(chance=True)
    made = pipeline().make(data, WorkContext((0,), tmp_path))
    assert abs(spearmanr(made.evidence[0][0].predicted, mean_votes(data))[0]) < 0.15


def test_vectors_are_computed_once(toy: Toy, tmp_path: Path) -> None:
    data = voted(12)
    pipeline().make(data, WorkContext((0,), tmp_path))
    asked = toy.asked
    assert asked == 48 + 12 + 2, "explanations, questions, labels; equal ones once"
    pipeline().make(data, WorkContext((0,), tmp_path))
    assert toy.asked == asked
    kept = next((tmp_path / "embeddings").glob("*.npy"))
    kept.write_bytes(kept.read_bytes()[:-5])
    pipeline().make(data, WorkContext((0,), tmp_path))
    assert toy.asked > asked, "a file that was cut off is made again"


def test_no_group_is_learned_from_and_tested_on() -> None:
    data = voted(20)
    known = RatedExplanations.of(data.questions["good"], "mean", "lowest")
    for apart, groups in (("image", known.images), ("technique", known.techniques)):
        tested = np.zeros(len(data), int)
        for part in SplitSettings(apart, 4).splits(known, 3):  # type: ignore[arg-type]
            tested += part.test
            sets = [set(groups[p]) for p in (part.train, part.validation, part.test)]
            assert not (sets[0] & sets[1] or sets[0] & sets[2] or sets[1] & sets[2])
        assert (tested == 1).all()
    whole = SplitSettings("image", 4).whole(known, 3)
    assert not whole.test.any() and (whole.train ^ whole.validation).all()


def test_what_is_not_tested_is_not_predicted(toy: Toy, tmp_path: Path) -> None:
    data = voted()
    made = pipeline(apart="both").make(data, WorkContext((0,), tmp_path))
    there = ~np.isnan(made.evidence[0][0].predicted)
    assert 0 < there.sum() < 0.1 * len(data)
    made = pipeline(folds=0).make(data, WorkContext((0,), tmp_path))
    there = ~np.isnan(made.evidence[0][0].predicted)
    assert there.sum() == 9 * 4


def test_who_got_no_vote_is_predicted_but_not_learned_from(toy: Toy, tmp_path: Path) -> None:
    data = voted(20)
    asked = data.questions["good"]
    ratings = np.array(asked.ratings)
    ratings[:7] = np.nan
    bare = replace(data, questions={"good": replace(asked, ratings=ratings)})
    made = pipeline().make(bare, WorkContext((0,), tmp_path))
    assert not np.isnan(made.evidence[0][0].predicted).any()


def test_gradient_scores_run(toy: Toy, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    models = {
        "paper": AcceptanceModel(scorer="linear", epochs=10, learning_rate=0.01),
        "reference": AcceptanceModel(scorer="mlp", variant="reference", epochs=2,
                                     features=("label", "embedding")),
    }  # fmt: skip
    data = voted(40)
    made = pipeline(models=models, folds=2).make(data, WorkContext((0,), tmp_path))
    assert spearmanr(made.evidence[0][0].predicted, mean_votes(data))[0] > 0.3
    assert made.compared[0].about["variant"] == "reference"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"question": "none"}, "question"),
        ({"models": {}}, "models"),
        ({"models": {"my score": MODELS["ridge"]}}, "my score"),
        ({"folds": 1}, "folds"),
        ({"folds": 5, "apart": "both"}, "folds"),
        ({"repeats": 0}, "repeats"),
        ({"embedding": ""}, "embedding"),
        ({"models": {"m": AcceptanceModel(features=("wurds",))}}, "wurds"),
    ],
)
def test_refused(changes: dict[str, Any], match: str, toy: Toy, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=match):
        pipeline(**changes).make(voted(12), WorkContext((0,), tmp_path))


def test_siblings_are_told_apart() -> None:
    data = voted(6, each=2)
    given = Explanations(
        data.explanations, [""] * 12, np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6]), {}
    )
    described = ExplanationFeatures(given, Embedder(Toy(), ""), Rendering(), ())
    block = described.block("siblings")
    own = np.hstack([described.block("words"), described.block("likeness")])
    assert block[0, :-1] == pytest.approx((own[0] - own[1]) / 2)
    assert block[10] == pytest.approx(0) and block[11] == pytest.approx(0), "they have none"
    one, two = (v / np.linalg.norm(v) for v in described.block("embedding")[:2])
    assert block[0, -1] == pytest.approx(one @ two, abs=1e-6)


def test_images_concepts_and_words_become_vectors(tmp_path: Path) -> None:
    Image.new("RGB", (8, 6), (200, 100, 0)).save(tmp_path / "p.png")
    np.save(tmp_path / "m.npy", np.zeros((4, 4)))
    np.save(tmp_path / "b.npy", np.stack([np.ones((4, 4)), np.zeros((4, 4))], axis=2))
    image = tmp_path / "p.png"
    shown = [
        ShownExplanation(text="aaa"),
        ShownExplanation(concepts={"beak": 2.0, "wing": -3.0}),
        ShownExplanation(image=image, map=tmp_path / "m.npy"),
        ShownExplanation(image=image, map=tmp_path / "b.npy"),
        ShownExplanation(map=image),
    ]
    toy = Toy()
    result = vectors_of(shown, [""] * 5, Rendering(), Embedder(toy, "", tmp_path / "cache"))
    assert result[0] == pytest.approx([0.06, 0.6, 0]) and result[1, 0] == pytest.approx(0.2)
    assert np.array_equal(result[2], result[3]), "of several channels the last is the map"
    assert result[4] == pytest.approx(np.array([200, 100, 0]) / 255, abs=1e-6)
    asked = toy.asked
    vectors_of(shown, [""] * 5, Rendering(), Embedder(toy, "", tmp_path / "cache"))
    assert toy.asked == asked
    masked = vectors_of(shown, [""] * 5, Rendering(maps="masked image"), Embedder(toy, ""))
    assert masked[2] == pytest.approx(np.zeros(3))
    summed = vectors_of(shown, [""] * 5, Rendering(concepts="weighted"), Embedder(toy, ""))
    assert not np.allclose(summed[1], result[1])
    with pytest.raises(EvidenceError, match="nothing to show"):
        vectors_of([*shown, ShownExplanation()], [""] * 6, Rendering(), Embedder(toy, ""))
    bare = vectors_of(
        [ShownExplanation(text="a"), ShownExplanation()], [""] * 2, Rendering(), Embedder(toy, "")
    )
    assert bare[1] == pytest.approx(np.zeros(3)), "among words an empty one is one"


def test_signs_as_published() -> None:
    white = Image.new("RGB", (3, 1), (255, 255, 255))
    paper = Rendering(values="paper")
    lime = np.asarray(draw_map(white, np.array([[-1.0, 0, 1]]), paper))
    assert lime[0, 1].tolist() != lime[0, 0].tolist()
    shap = np.asarray(draw_map(white, np.array([[-0.5, 0, 1]]), paper))
    assert shap[0, 1].tolist() == shap[0, 0].tolist()
    cam = np.asarray(draw_map(white, np.array([[0, 0.5, 1.0]]), paper))
    assert cam[0, 0].tolist() == [127, 127, 255] and cam[0, 1].min() >= 254


def test_signs_by_technique(tmp_path: Path) -> None:
    """A map of LIME without a negative cell is LIME's all the same."""
    Image.new("RGB", (3, 1), (255, 255, 255)).save(tmp_path / "p.png")
    np.save(tmp_path / "m.npy", np.array([[0.0, 0, 1]]))
    shown = [ShownExplanation(image=tmp_path / "p.png", map=tmp_path / "m.npy")] * 3
    how = Rendering(values="paper", values_of={"LIME": "paper lime", "SHAP": "paper shap"})
    embedder = Embedder(Toy(), "", tmp_path / "cache")
    guessed, lime, shap = vectors_of(shown, ["GradCAM", "LIME", "SHAP"], how, embedder)
    white, map_of_it = Image.open(tmp_path / "p.png"), np.array([[0.0, 0, 1]])
    for result, values in ((guessed, "as they are"), (lime, "paper lime"), (shap, "paper shap")):
        alone = draw_map(white, map_of_it, Rendering(values=values))
        assert result == pytest.approx(Toy().images([alone])[0])
    assert not np.allclose(guessed, lime)


def test_the_mean_over_seeds_that_tested_an_explanation(toy: Toy, tmp_path: Path) -> None:
    """Seeds test other parts: an explanation that one of them tested is known."""
    for changes in ({"folds": 0}, {"apart": "both"}):
        learned = pipeline(**changes).learn(voted(), WorkContext((0, 1, 2), tmp_path))
        each = np.stack([one[0].predicted for one in learned.produced.evidence])
        known = ~np.isnan(each).all(axis=0)
        result = np.asarray(learned.evidence.predicted)
        assert 0 < known.sum() < len(result) and np.array_equal(~np.isnan(result), known)
        assert result[known] == pytest.approx(np.nanmean(each[:, known], axis=0))


def test_what_is_said_of_the_test_is_true(toy: Toy, tmp_path: Path) -> None:
    data = voted(20)
    asked = data.questions["good"]
    alone = replace(data, questions={"good": replace(asked, samples=Samples())})
    made = pipeline(folds=2).make(data, WorkContext((0,), tmp_path))
    facts = dict(made.facts)
    assert facts["images or questions"] == 20 and "score of the verdicts" not in facts
    assert facts["learned score that is kept"] == "kernel"
    assert any("images or questions that they have not seen" in note for note in made.notes)
    made = pipeline(folds=2).make(alone, WorkContext((0,), tmp_path))
    assert dict(made.facts)["images or questions"] == "not known"
    assert any("may have seen others of the same" in note for note in made.notes)
    assert not any("questions that they have not seen" in note for note in made.notes)


def test_classes_of_the_stand_in_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(
        embedding, "load_named_model", lambda *_, weights, classes: given.append(classes)
    )
    monkeypatch.setattr(embedding, "load_embedding", lambda *_, **__: Toy())
    names = tmp_path / "names.json"
    names.write_text('["cat", "dog"]')
    chosen = pipeline(classifier="resnet18", class_names=names, folds=2, embedding="stand_in")
    chosen.make(voted(12), WorkContext((0,), tmp_path))
    assert given == [("cat", "dog")] and list(chosen.digests()) == ["names.json"]
    for odd in ('{"a": 1}', "[1]", '[""]'):
        names.write_text(odd)
        with pytest.raises(UnsafeInputError, match="class names"):
            chosen.make(voted(12), WorkContext((0,), tmp_path))


def test_common_labels() -> None:
    shown = (
        [ShownExplanation(label=label) for label in "aaab"]
        + [ShownExplanation(label="z")] * 400
        + [ShownExplanation()] * 3
    )
    assert common_labels(shown) == ("z",)
    assert common_labels([ShownExplanation(label=label) for label in "aab"]) == ("a", "b")


@pytest.fixture
def saved(toy: Toy, tmp_path: Path) -> tuple[Path, LearnedScore, VotedExplanations]:
    data = voted(30)
    learned = pipeline().learn(data, WorkContext((0,), tmp_path))
    card = ScoreCard(
        name="toy", kind=learned.scorer.kind, trained_on=learned.trained_on, question="good",
        explanations=120, groups=30, scale=(0.0, 1.0), aggregate="mean", embedding="toy",
        features=learned.model.features, straight=learned.model.straight, labels=learned.labels,
        license="CC0 <b>|", held_out=({"metric": "m", "value": 0.5, "low": 0.4, "high": None},),
    )  # fmt: skip
    shares = np.percentile(np.asarray(learned.evidence.predicted), np.arange(101))
    learned = LearnedScore(learned.scorer, card, shares)
    save_scorer(tmp_path / "score", learned)
    return tmp_path / "score", learned, data


def test_a_score_is_the_same_from_its_file(
    saved: tuple[Path, LearnedScore, VotedExplanations], toy: Toy
) -> None:
    folder, learned, data = saved
    again = load_scorer(folder)
    assert again.card == learned.card
    given = Explanations(data.explanations, [""] * 120, np.arange(120), {})
    one, two = (rate_explanations(score, given, Embedder(toy, "")) for score in (learned, again))
    assert np.array_equal(one, two)
    assert spearmanr(one, mean_votes(data))[0] > 0.5
    places = again.percentile(np.array([-1.0, np.median(learned.percentiles), 2]))
    assert places == pytest.approx([0, 50, 100])
    text = (folder / "CARD.md").read_text()
    assert "0.500 | 0.400 to undefined" in text and "CC0 (b>/" in text and "## Limits" in text
    assert card_text(again.card) == text
    with pytest.raises(EvidenceError, match="embedding"):
        rate_explanations(again, given, Embedder(Toy(name="other"), ""))


def test_broken_files_are_refused(
    saved: tuple[Path, LearnedScore, VotedExplanations],
) -> None:
    folder = saved[0]
    card = json.loads((folder / "card.json").read_text())
    for change in (
        {"format": "other"}, {"scale": [1]}, {"more": 1}, {"kind": "layers"}, {"kind": "no such"},
        {"scale": [2, 1]}, {"scale": [1, 1]}, {"scale": [1, float("inf")]},
        {"rendering": {"values": "odd"}}, {"rendering": {"n": -1}}, {"rendering": {"odd": 1}},
    ):  # fmt: skip
        (folder / "card.json").write_text(json.dumps(card | change))
        with pytest.raises(UnsafeInputError):
            load_learned(folder)
    (folder / "card.json").write_text(json.dumps(card))
    content = (folder / "score.safetensors").read_bytes()
    (folder / "score.safetensors").write_bytes(content[:-9])
    with pytest.raises(UnsafeInputError):
        load_scorer(folder)


def test_tables_of_explanations(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,text,context,label,nll\na,because,why,yes,1.5\nb,so,why,no,2\n")
    result = read_explanations(table)
    assert result.ids == ("a", "b") and result.explanations.numbers["nll"].tolist() == [1.5, 2]
    assert (
        result.explanations.clusters.tolist() == [0, 0]
        and result.explanations.items[1].label == "no"
    )
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"text": "x"}\n\n{"text": "y"}\n')
    again = read_explanations(lines)
    assert again.ids == ("0", "1") and len(set(again.explanations.clusters)) == 2
    for name, content in (
        ("a.csv", "id\n1\n"), ("b.csv", "text,n\nx,y\n"), ("c.txt", "x"),
        ("d.jsonl", '{"text": null}\n'), ("e.jsonl", '{"text": "x", "n": null}\n'),
    ):  # fmt: skip
        (tmp_path / name).write_text(content)
        with pytest.raises(EvidenceError):
            read_explanations(tmp_path / name, ["n"])
    (tmp_path / "f.jsonl").write_text('{"text": "x", "label": null, "id": null, "n": "many"}\n')
    bare = read_explanations(tmp_path / "f.jsonl", [])
    assert (
        bare.ids == ("0",)
        and bare.explanations.items[0].label == ""
        and not bare.explanations.numbers
    )


def test_folders_of_explanations(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="maps"):
        read_explanations(tmp_path)
    for name in ("maps", "images", "concepts"):
        (tmp_path / name).mkdir()
    np.save(tmp_path / "maps" / "x.npy", np.zeros((4, 4)))
    with pytest.raises(UnsafeInputError, match="image"):
        read_explanations(tmp_path)
    Image.new("RGB", (4, 4)).save(tmp_path / "images" / "x.png")
    (tmp_path / "concepts" / "y.json").write_text('{"beak": 1}')
    result = read_explanations(tmp_path)
    assert result.ids == ("x", "y") and result.explanations.items[1].concepts == {"beak": 1.0}
    (tmp_path / "concepts" / "y.json").write_text('{"beak": "much"}')
    with pytest.raises(UnsafeInputError, match="concepts"):
        read_explanations(tmp_path)


def test_handcrafted() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    values = random.normal(size=(60, 6, 6)) + 4 * np.eye(36)[labels].reshape(60, 6, 6)
    still = np.stack([values] * 4)
    moved = still + random.normal(size=still.shape)
    before = values.copy()
    result = handcrafted(values, labels, [still, moved, still * 0])
    assert result.shape == (60, len(FEATURES)) == (60, 9)
    assert result[:, 0] == pytest.approx(0) and (result[:, 1] > 0.1).all()
    assert np.isnan(result[:, 2]).all(), "of nothing there is no share"
    assert (np.diff(result[0, 3:6]) > 0).all() and result[0, 5] < 1
    assert (result[0, 6:] > 0.9).all()
    chance = handcrafted(values, random.permutation(labels), [still] * 3)
    assert (chance[0, 6:] < 0.65).all()
    assert np.array_equal(values, before)
    again = handcrafted(values, labels, [still, moved, still * 0])
    assert np.array_equal(result, again, equal_nan=True)


def test_variance_by_hand() -> None:
    two = np.array([[[1.0, 3.0]], [[5.0, 3.0]]])  # two augmentations of one sample
    assert variance(two) == pytest.approx([(4 + 0) / 2 / ((1 + 25 + 9 + 9) / 4)])


def test_handcrafted_undefined_and_refused() -> None:
    values = np.ones((4, 3))
    result = handcrafted(values, np.zeros(4, int), [values[None]] * 3)
    assert np.isnan(result[:, 3:]).all()
    with pytest.raises(EvidenceError, match="augmented"):
        handcrafted(values, np.zeros(4, int), [values[None]] * 2)
    with pytest.raises((EvidenceError, TypeError), match="labels"):
        handcrafted(values, np.zeros(3, int), [values[None]] * 3)


def hill(settings: Any) -> float:
    return -((settings["x"] - 0.3) ** 2) - (0.0 if settings["kind"] == "good" else 1.0)


SPACE = {"x": Range(0.0, 1.0), "n": Range(1, 4, whole=True), "kind": ("bad", "good")}


def test_settings_are_found_where_they_were_planted() -> None:
    pytest.importorskip("optuna")
    result = tune(lambda settings: settings, SPACE, hill, trials=40, seed=1)
    assert abs(result.best["x"] - 0.3) < 0.1 and result.best["kind"] == "good"
    assert result.value == max(result.trials["value"]) and len(result.trials["x"]) == 40
    assert all(isinstance(n, int) and 1 <= n <= 4 for n in result.trials["n"])
    again = tune(lambda settings: settings, SPACE, hill, trials=40, seed=1)
    assert again.trials == result.trials
    other = tune(lambda settings: settings, SPACE, hill, trials=5, seed=2)
    assert other.trials["x"] != result.trials["x"][:5]


def test_undefined_scores_are_passed_over() -> None:
    pytest.importorskip("optuna")

    def half(settings: Any) -> float:
        return np.nan if settings["x"] < 0.5 else settings["x"]

    result = tune(lambda settings: settings, {"x": Range(0.0, 1.0)}, half, trials=12)
    assert result.best["x"] >= 0.5 and np.isnan(result.trials["value"]).any()
    with pytest.raises(EvidenceError, match="NaN"):
        tune(lambda settings: settings, {"x": Range(0.0, 1.0)}, lambda _: np.nan, trials=2)
    with pytest.raises(EvidenceError, match="space"):
        tune(lambda settings: settings, {}, hill)


def test_a_space_as_it_is_typed() -> None:
    result = space_from(["width=0.05:0.5", "n=10:1000:log", "kind=mean,zero", "m=1,2"])
    assert result == {
        "width": Range(0.05, 0.5),
        "n": Range(10, 1000, whole=True, log=True),
        "kind": ("mean", "zero"),
        "m": (1, 2),
    }
    for wrong in ("x", "x=", "x=1:b", "x=1:2:3", "x=2:1", "x=0:1:log"):
        with pytest.raises(EvidenceError):
            space_from([wrong])


def test_an_explainer_is_tuned() -> None:
    """Maps that lie on the side the network looks at score highest: finer cells get there."""
    pytest.importorskip("optuna")
    torch = pytest.importorskip("torch")
    methods = pytest.importorskip("theodolite.explainers.saliency.methods")

    class Left(torch.nn.Module):
        def forward(self, images: Any) -> Any:
            left = images[..., :4].mean(dim=(1, 2, 3))
            return torch.stack([left * 8, -left * 8], dim=1)

    images = np.ones((1, 3, 16, 16), np.float32)

    def explain(settings: Any) -> np.ndarray:
        run = methods.explainer("rise", Left(), seed=0, options={"masks": 200, **settings})
        return run(images, np.zeros(1, np.int64))

    def score(maps: np.ndarray) -> float:
        return float(maps[0, :, :4].mean() - maps[0, :, 4:].mean())

    result = tune(explain, {"cells": Range(2, 8, whole=True)}, score, trials=6, seed=0)
    values = dict(zip(result.trials["cells"], result.trials["value"], strict=True))
    assert result.best["cells"] == max(values, key=values.__getitem__)
    assert len(values) > 1 and result.value > min(values.values())


def test_real_votes_are_foretold_without_an_embedding(shared_data: Path, tmp_path: Path) -> None:
    data = text_acceptability(shared_data / "votes_text_explanations")
    assert len(data) == 12_455
    asked = data.questions["acceptable"]
    rows = np.flatnonzero(np.asarray(asked.samples.clusters) % 6 == 0)
    some = RatingEvidence(
        ratings=np.asarray(asked.ratings)[rows], scale=asked.scale, samples=asked.samples[rows]
    )
    data = VotedExplanations(
        "some",
        {"acceptable": some},
        [data.explanations[i] for i in rows],
        {"nll": data.numbers["nll"][rows]},
    )
    model = AcceptanceModel(features=("words", "label", "nll"), landmarks=100)
    made = AcceptancePipeline(models={"words": model}, folds=2).make(
        data, WorkContext((0,), tmp_path)
    )
    result = made.evidence[0][0]
    truth = np.asarray(result.ratings).mean(axis=1)
    assert not np.isnan(result.predicted).any()
    assert spearmanr(result.predicted, truth)[0] > 0.35
