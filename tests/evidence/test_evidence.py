"""Evidence is checked once, at the door, with a message that helps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.evidence.axes import Classes, Concepts, Parts, Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence

V = np.zeros((4, 3))


def location(**changes: Any) -> LocationEvidence:
    given = {
        "explained": ConceptEvidence(values=np.zeros((2, 3))),
        "maps": np.zeros((2, 3, 2, 2)),
        "sizes": [[10, 20], [30, 40]],
        "part_of": [0, 1, -1],
        "points": np.full((2, 2, 1, 2), 2.0),
    }
    return LocationEvidence(**(given | changes))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ConceptEvidence(values=V, truth=np.zeros((4, 2))), "needed concepts = 3, as in `values`"),
        (lambda: ConceptEvidence(values=V, truth=np.zeros((3, 5))), "Check the order of rows and columns"),
        (lambda: ConceptEvidence(values=V, truth=np.zeros((3, 4))), r"Transpose it: truth\.T"),
        (lambda: ConceptEvidence(values=V[0]), r"shape \(3,\); needed 2 axes \(samples, concepts\)"),
        (lambda: ConceptEvidence(values=V[:0]), "no samples; needed at least one"),
        (lambda: ConceptEvidence(values=[[1, 2], [3]]), "rows of unequal length"),
        (lambda: ConceptEvidence(values=V.astype(object)), "Python objects; needed numbers"),
        (lambda: ConceptEvidence(values=V.astype(str)), "<U32 values; needed numbers"),
        (lambda: ConceptEvidence(values=V.astype(complex)), "complex128 values"),
        (lambda: ConceptEvidence(values=np.where(np.eye(4, 3), np.nan, 0)), r"NaN or infinite values \(3, the first at \(0, 0\)\)"),
        (lambda: ConceptEvidence(values=V + np.inf), r"NaN or infinite values \(12"),
        (lambda: ConceptEvidence(values=V, truth=V + 0.3), "the value 0.3; needed 0 and 1 only"),
        (lambda: ConceptEvidence(values=V, labels=[0, 1, 2, 3.5]), "float64 values; needed whole numbers"),
        (lambda: ConceptEvidence(values=V, labels=[0, 1, 2, 3], weights=np.ones((3, 3))), "0 to 2, positions in classes"),
        (lambda: ConceptEvidence(values=V, labels=[0, 1, 2, -1]), "from -1 to 2"),
        (lambda: ConceptEvidence(values=V, concepts=Concepts(("a", "b"))), "concepts = 2, as in `concepts`"),
        (lambda: ConceptEvidence(values=V, class_truth=np.full((3, 2), 40.0)), "Divide percentages by 100"),
        (lambda: ConceptEvidence(values=V, samples=Samples(ids=np.array(["a", "b"]))), "samples = 2"),
        (lambda: Concepts(("a", "a")), "'a' twice"),
        (lambda: Concepts(("",)), "a name of 1 to 300"),
        (lambda: Concepts((3,)), "a name of 1 to 300"),
        (lambda: Concepts(("a\x1b[31m",)), "control characters"),
        (lambda: Concepts(("a",), kinds=("binary", "binary")), "concepts.kinds: got 2; needed 1"),
        (lambda: Concepts(("a",), kinds=("categorical",)), "kind 'categorical' with 0 values"),
        (lambda: Samples(ids=np.array(["a", "a"])), "an id twice"),
        (lambda: Samples(clusters=np.array([0.5])), "one whole number each"),
        (lambda: Samples(index=np.arange(3), ids=np.array(["a"])), "samples.ids: got 1; needed 3"),
        (lambda: location(points=None), "needed `points`, `boxes` or `masks`"),
        (lambda: location(points=np.full((2, 2, 1, 2), 25.0)), "outside the image in sample 0"),
        (lambda: location(points=np.where(np.arange(2), -1.0, 9.0) * np.ones((2, 2, 1, 2))), "row first"),
        (lambda: location(sizes=[[0, 1], [2, 2]]), "images, 1 to 50000"),
        (lambda: location(sizes=[[10**9, 9], [9, 9]]), "got 1000000000"),
        (lambda: location(sizes=[[1, 1, 1], [2, 2, 2]]), "2 = 2, as in a fixed length"),
        (lambda: location(part_of=[0, 2, -1]), "positions in parts"),
        (lambda: location(part_of=[0, 1, -2]), "-1 to 1"),
        (lambda: location(points=np.full((2, 2, 1, 2), 0.5)), "Multiply by `sizes`"),
        (lambda: location(boxes=np.full((2, 2, 1, 4), 3.0) - np.arange(4)), "ends before it begins"),
        (lambda: location(explained={}), "explained: got dict; needed a ConceptEvidence"),
        (lambda: location(concepts=["a", "b", "c"]), "other names than in `explained`"),
        (lambda: location(samples=[1, 2]), "samples: got list"),
        (lambda: ConceptEvidence(values=V, truth=np.where(V == 0, np.nan, 1.0)), "pass `known`"),
        (lambda: ConceptEvidence(values=V, labels=np.array([b"a"] * 4)), "numpy.unique"),
        (lambda: ConceptEvidence(values=V, labels=np.eye(4) / 2), "argmax"),
        (lambda: location(maps=np.zeros((2, 4, 2, 2))), "concepts = 3, as in `concepts`"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(EvidenceError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_what_can_be_converted_is() -> None:
    made = ConceptEvidence(values=[[1, 2]], truth=[[0, 1]], labels=np.array([1], np.uint8))
    assert made.values.dtype == float
    assert made.truth is not None and made.truth.dtype == bool
    assert made.labels is not None and made.labels.dtype == np.int64
    assert made.concepts.names == ("concept 0", "concept 1")
    assert made.classes.names == ("class 0", "class 1")


def test_small_floats_stay_small() -> None:
    assert location(maps=np.zeros((2, 3, 2, 2), np.float16)).maps.dtype == np.float16


def test_nothing_can_be_written_into_evidence() -> None:
    made = planted_concepts(3)
    with pytest.raises(ValueError, match="read-only"):
        made.values[0] = 1.0
    with pytest.raises(AttributeError):
        made.values = made.values


def test_making_evidence_leaves_the_callers_array_alone() -> None:
    own = np.zeros((2, 2))
    ConceptEvidence(values=own)
    own[0, 0] = 1.0  # still writeable, still theirs
    assert own.flags.writeable


def test_cutting_cuts_everything_that_lies_on_samples() -> None:
    whole = planted_locations(6, 5)
    part = whole[np.array([4, 1])]
    assert len(part) == len(part.explained) == 2
    assert part.samples.index is not None and part.samples.index.tolist() == [4, 1]
    assert np.array_equal(part.maps, whole.maps[[4, 1]])
    assert part.explained.weights is whole.explained.weights
    assert part.part_of is whole.part_of
    assert len(whole[2:2]) == 0


def test_names_can_be_given_as_lists() -> None:
    made = ConceptEvidence(values=V, concepts=["a", "b", "c"])
    assert made.concepts == Concepts(("a", "b", "c"))


def test_the_layout_in_memory_does_not_matter() -> None:
    """Sums over a transposed array differ in the last digit; stored and read again, they must not."""
    random = np.random.default_rng(0)
    made = ConceptEvidence(values=V, weights=random.normal(size=(5, 3)).T)
    assert made.weights is not None and made.weights.flags.c_contiguous


def test_evidence_is_shown_in_one_line() -> None:
    shown = repr(ConceptEvidence(values=V, labels=[0, 1, 0, 1]))
    assert shown == "<ConceptEvidence: 4 samples, 3 concepts, 2 classes; values, labels>"


def test_has_looks_into_inner_bundles() -> None:
    made = location()
    assert made.has("points") and not made.has("boxes")
    assert made.has("explained.values") and not made.has("explained.truth")


def test_samples_are_called_by_id_or_number() -> None:
    assert Samples(ids=np.array(["x", "y"])).name(1) == "y"
    assert Samples.numbered(5)[3:].name(0) == "3"
    assert Parts.numbered(1).names == ("part 0",)
    assert Classes.numbered(1).names == ("class 0",)


@given(
    given=st.one_of(
        hnp.arrays(
            dtype=st.one_of(
                hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(),
                hnp.complex_number_dtypes(), hnp.unicode_string_dtypes(), hnp.datetime64_dtypes(),
            ),
            shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        ),
        st.none(), st.text(max_size=3), st.lists(st.integers()), st.dictionaries(st.text(), st.none()),
    ),
    field=st.sampled_from(["truth", "known", "labels", "predicted", "weights", "class_truth", "values"]),
)  # fmt: skip
def test_any_array_is_taken_or_refused_in_one_line(given: Any, field: str) -> None:
    arrays = {"values": np.zeros((2, 2))} | {field: given}
    try:
        made = ConceptEvidence(**arrays)
    except EvidenceError as error:
        assert "\n" not in str(error)
    else:
        assert getattr(made, field) is None or np.isfinite(getattr(made, field)).all()


def test_errors_are_harmless_to_print() -> None:
    error = UnsafeInputError("name\x1b[2J\nnext", "a" * 5000)
    assert "\x1b" not in str(error) and "\n" not in str(error) and len(str(error)) <= 1000
    assert printable("x" * 300).endswith("…")
