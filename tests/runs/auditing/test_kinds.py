"""Typed audit functions, the function that `audit` calls for its arrays, and thumbnails."""

import inspect
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import theodolite
from theodolite._runs.auditing.dispatch import FUNCTIONS
from theodolite._runs.thumbnails import draw_rows, make_thumbnails
from theodolite.errors import EvidenceError

RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.random((60, 4)) < 0.5
VALUES = TRUTH + RANDOM.normal(scale=0.3, size=TRUTH.shape)
BOTH = {"values": VALUES, "truth": TRUTH}
IMAGES = RANDOM.random((60, 8, 8))
FEW = {"resamples": 20, "questions": ["exists"]}
COMMON = [
    "questions", "metrics", "names", "ids", "clusters", "claim", "seed", "resamples", "progress",
]  # fmt: skip


@pytest.mark.parametrize("public", ["audit_concepts", "audit_tokens", "audit_ratings"])
def test_typed_functions_spell_out_common_arguments(public: str) -> None:
    parameters = inspect.signature(getattr(theodolite, public)).parameters
    assert set(COMMON) <= set(parameters)
    defaults = {name: parameters[name].default for name in ("seed", "resamples", "progress")}
    assert defaults == {"seed": 0, "resamples": 1000, "progress": "auto"}
    assert public in {place.partition(":")[2] for place in FUNCTIONS.values()}


def test_audit_calls_the_function_of_its_arrays() -> None:
    typed = theodolite.audit_concepts(**BOTH, names=list("abcd"), **FEW)
    assert theodolite.audit(**BOTH, names=list("abcd"), **FEW).scores == typed.scores
    by_field = theodolite.audit(**BOTH, concepts=list("abcd"), predicted=np.arange(60) % 3, **FEW)
    assert by_field.source.first[0].concepts.names == tuple("abcd")


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        (BOTH | {"lables": TRUTH[:, 0]}, ["audit_concepts", "labels, outputs", "mean 'labels'"]),
        ({"ratings": VALUES, "scael": [1]}, ["audit_ratings", "ratings, scale", "mean 'scale'"]),
        (BOTH | {"outputs": TRUTH[:, 0]}, ["(samples, classes), two classes or more"]),
        (BOTH | {"images": IMAGES[:3]}, ["images: got 3; needed 60 images"]),
        (BOTH | {"images": IMAGES.reshape(60, 64)}, ["images.reshape(-1, 8, 8)"]),
        (BOTH | {"progress": 3}, ['"auto", None or a function']),
    ],
)
def test_wrong_arguments_name_the_function(arrays: dict[str, object], says: list[str]) -> None:
    with pytest.raises(EvidenceError) as refused:
        theodolite.audit(**arrays)
    assert all(words in str(refused.value) for words in says)


def test_outputs_and_weights_answer_faithful() -> None:
    head = RANDOM.normal(size=(4, 3))
    arguments = {**BOTH, "weights": head, "questions": ["faithful"], "resamples": 20}
    assert (
        theodolite.audit_concepts(**arguments, outputs=VALUES @ head).verdicts["faithful"].answer
        == "yes"
    )
    other = RANDOM.normal(size=(60, 3))
    assert theodolite.audit_concepts(**arguments, outputs=other).verdicts["faithful"].answer == "no"


def test_thumbnails_are_stored_with_the_run(tmp_path: Path) -> None:
    result = theodolite.audit(**BOTH, images=IMAGES, **FEW)
    result.save(tmp_path / "run")
    stored = sorted((tmp_path / "run" / "images").iterdir())
    assert [file.name for file in stored] == [f"{i:02d}.png" for i in range(12)]
    row = next(iter(result.source.thumbnails))
    pixels = np.asarray(Image.open(stored[0]).convert("L"))
    np.testing.assert_array_equal(pixels, (IMAGES[row] * 255).round())
    again = theodolite.audit(tmp_path / "run", **FEW).save(tmp_path / "again")
    assert len(list((again.parent / "images").iterdir())) == 12
    theodolite.audit(**BOTH, images=IMAGES, store_images=False, **FEW).save(tmp_path / "none")
    assert not (tmp_path / "none" / "images").exists()


def test_thumbnails_of_every_layout_are_equal_and_small(tmp_path: Path) -> None:
    colored = (RANDOM.random((2, 300, 200, 3)) * 255).astype(np.uint8)
    Image.fromarray(colored[1]).save(tmp_path / "image.png")
    ways = [
        colored, np.moveaxis(colored, 3, 1), list(colored), colored / 255,
        [colored[0], tmp_path / "image.png"], [colored[0], Image.fromarray(colored[1])],
    ]  # fmt: skip
    encoded = [make_thumbnails(images, [1], 2)[1] for images in ways]
    assert Image.open(io.BytesIO(encoded[0])).size == (171, 256)
    assert all(content == encoded[0] for content in encoded)


def test_rows_alternate_between_correct_and_incorrect() -> None:
    correct = np.arange(20) < 15
    rows = draw_rows(20, 0, correct)
    assert correct[rows[:10]].tolist() == [True, False] * 5
    assert sorted(rows.tolist()) == list(range(20))
    assert draw_rows(20, 0).tolist() != draw_rows(20, 1).tolist()
