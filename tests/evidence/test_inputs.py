"""What callers have (tensors, frames, words, one-hot rows) becomes the arrays that they mean."""

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.leakage import planted_embeddings, planted_interventions
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite._planted.surrogates import planted_surrogates
from theodolite._planted.units import planted_units
from theodolite._runs.auditing.result import AuditResult
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.scores_file import scores_file
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence

FEW = Resampling(resamples=20)
PLANTED: dict[str, Callable[[], Evidence]] = {
    "concept": lambda: planted_concepts(30, n_concepts=5),
    "location": lambda: planted_locations(6, 5),
    "unit": planted_units,
    "embedding": lambda: planted_embeddings(20),
    "intervention": lambda: planted_interventions(20),
    "surrogate": planted_surrogates,
    "rating": planted_ratings,
    "saliency": lambda: planted_saliency(6),
}
Names = dict[str, tuple[str, ...]]


class ByArray:
    """Something that only says how to become an array."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values


class ByDlpack:
    """Something that only speaks DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def as_list(values: np.ndarray, layout: Layout, names: Names) -> Any:
    return values.tolist() if values.dtype != np.float32 else None


def as_tensor(values: np.ndarray, layout: Layout, names: Names) -> Any:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(values)
    return tensor.requires_grad_() if values.dtype.kind == "f" else tensor


def as_brain_floats(values: np.ndarray, layout: Layout, names: Names) -> Any:
    torch = pytest.importorskip("torch")
    return torch.tensor(values).bfloat16() if values.dtype.kind == "f" else None


def as_pandas(values: np.ndarray, layout: Layout, names: Names) -> Any:
    pandas = pytest.importorskip("pandas")
    index = names.get(layout.axes[0])
    if values.ndim == 1:
        return pandas.Series(values, index=index)
    if values.ndim == 2 and (columns := names.get(layout.axes[1])):
        return pandas.DataFrame(values, index=index, columns=columns)
    return None


def as_nullable(values: np.ndarray, layout: Layout, names: Names) -> Any:
    frame = as_pandas(values, layout, names)
    return None if frame is None or values.dtype == np.float32 else frame.convert_dtypes()


def as_polars(values: np.ndarray, layout: Layout, names: Names) -> Any:
    polars = pytest.importorskip("polars")
    if values.ndim == 1:
        return polars.Series(values)
    columns = names.get(layout.axes[1]) if values.ndim == 2 else None
    return polars.DataFrame(dict(zip(columns, values.T, strict=True))) if columns else None


def as_arrow(values: np.ndarray, layout: Layout, names: Names) -> Any:
    arrow = pytest.importorskip("pyarrow")
    if values.ndim == 1:
        return arrow.array(values)
    columns = names.get(layout.axes[1]) if values.ndim == 2 else None
    return arrow.table(dict(zip(columns, values.T, strict=True))) if columns else None


def as_protocol(values: np.ndarray, layout: Layout, names: Names) -> Any:
    return ByArray(values)


def as_dlpack(values: np.ndarray, layout: Layout, names: Names) -> Any:
    return ByDlpack(values.copy())  # numpy lends no read-only arrays


def as_masked(values: np.ndarray, layout: Layout, names: Names) -> Any:
    return np.ma.array(values, mask=np.isnan(values) if values.dtype.kind == "f" else False)


def as_floats(values: np.ndarray, layout: Layout, names: Names) -> Any:
    return values.astype(float) if layout.content == "index" else None


def as_words(values: np.ndarray, layout: Layout, names: Names) -> Any:
    if layout.points_to is None:
        return None
    words = [*names[layout.points_to], None]  # -1 is none
    return [words[i] for i in values]


def as_categories(values: np.ndarray, layout: Layout, names: Names) -> Any:
    pandas = pytest.importorskip("pandas")
    words = as_words(values, layout, names)
    return None if words is None else pandas.Categorical(words)


def as_one_hot(values: np.ndarray, layout: Layout, names: Names) -> Any:
    if layout.points_to is None:
        return None
    return (values[:, None] == np.arange(len(names[layout.points_to]))).astype(np.float32)


def as_dummies(values: np.ndarray, layout: Layout, names: Names) -> Any:
    """One-hot rows whose columns are named, and not in the order of the axis."""
    pandas = pytest.importorskip("pandas")
    rows = as_one_hot(values, layout, names)
    if rows is None:
        return None
    return pandas.DataFrame(rows, columns=names[str(layout.points_to)]).iloc[:, ::-1] == 1


FORMS = [
    as_list, as_tensor, as_brain_floats, as_pandas, as_nullable, as_polars, as_arrow, as_protocol,
    as_dlpack, as_masked, as_floats, as_words, as_categories, as_one_hot, as_dummies,
]  # fmt: skip
LEARNS_FROM = {as_pandas: 0, as_nullable: 0, as_polars: 1, as_arrow: 1}
"""Forms that name axes, from the first or the second axis of an array on."""
SILENT = (as_list, as_protocol, as_masked)
"""Forms in which nothing can be read in two ways: a note says only what became of nulls."""


def named(axis: Any) -> Any:
    """The axis with words in the order of the alphabet, as numbers are not."""
    return tuple(f"{'abcdefghijklmnopqrstuvwxyz'[i // 26]}{i % 26:02}" for i in range(len(axis)))


@cache
def plain(kind: str) -> Evidence:
    """The planted example of a kind with names on all its axes."""
    return with_names(PLANTED[kind]())


def members(evidence: Evidence) -> dict[str, Any]:
    return {name: value for name, value in evidence._members() if value is not None}


def with_names(evidence: Evidence) -> Evidence:
    changes = {}
    for name, value in members(evidence).items():
        if isinstance(value, Evidence):
            changes[name] = with_names(value)
        elif isinstance(value, NamedAxis):
            changes[name] = named(value)
        elif isinstance(value, Samples):
            changes[name] = Samples(
                value.index, np.array([f"row {i}" for i in range(len(value))]), value.clusters
            )
        else:
            changes[name] = value
    return type(evidence)(**changes)


def rounded(evidence: Evidence) -> Evidence:
    """Floats of 16 bits, of which 8 are the exponent's, as float32."""
    torch = pytest.importorskip("torch")
    changes = members(evidence)
    for name, value in changes.items():
        if isinstance(value, Evidence):
            changes[name] = rounded(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            changes[name] = torch.tensor(value).bfloat16().float().numpy()
    return type(evidence)(**changes)


def in_form(evidence: Evidence, form: Callable[..., Any]) -> Evidence:
    """The same evidence made from other types."""
    changes = members(evidence)
    names = {n: axis.names for n, axis in changes.items() if isinstance(axis, NamedAxis)}
    names |= {"samples": evidence.samples.ids} if evidence.samples.ids is not None else {}
    layouts = dict(evidence.layouts())
    learned = {
        axis
        for name, layout in layouts.items()
        if evidence.has(name) and len(layout.axes) <= 2
        for axis in layout.axes[LEARNS_FROM.get(form, 2) :]
    }
    for name, value in changes.items():
        if isinstance(value, Evidence):
            changes[name] = in_form(value, form)
        elif name in learned and isinstance(value, NamedAxis):
            changes[name] = type(value)()  # the names that columns and rows have are enough
        elif name in layouts and (other := form(value, layouts[name], names)) is not None:
            changes[name] = other
    return type(evidence)(**changes)


def same(first: Evidence, second: Evidence) -> None:
    assert set(members(first)) == set(members(second))
    for name, value in members(first).items():
        other = getattr(second, name)
        if isinstance(value, Evidence):
            same(value, other)
        elif isinstance(value, np.ndarray):
            assert (other.dtype, other.shape) == (value.dtype, value.shape), name
            assert other.tobytes() == value.tobytes(), name
        elif isinstance(value, Samples):
            assert np.array_equal(value.ids, other.ids)
            assert np.array_equal(value.index, other.index)
        else:
            assert value == other, name


def written(result: AuditResult) -> str:
    return scores_file(result.scores, result.verdicts, result.not_computed).model_dump_json()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("kind", PLANTED)
def test_evidence_is_that_of_plain_arrays(kind: str, form: Callable[..., Any]) -> None:
    brain = form is as_brain_floats
    expected = rounded(plain(kind)) if brain else plain(kind)
    before = {n: v.tobytes() for n, v in members(expected).items() if isinstance(v, np.ndarray)}
    evidence = in_form(expected, form)
    same(expected, evidence)
    assert before == {
        n: v.tobytes() for n, v in members(expected).items() if isinstance(v, np.ndarray)
    }


@pytest.mark.parametrize("kind", ["unit", "intervention", "rating"])
def test_audits_are_those_of_plain_arrays(kind: str) -> None:
    """Evidence of all forms is equal byte for byte; here that the answers are, on cheap kinds."""
    result = theodolite.audit(in_form(plain(kind), as_pandas), FEW)
    expected = theodolite.audit(plain(kind), FEW)
    assert written(result) == written(expected)
    assert set(expected.notes) <= set(result.notes)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_was_done_is_a_note(form: Callable[..., Any]) -> None:
    evidence = in_form(plain("concept"), form)
    assert bool(evidence.conversions) == (form not in SILENT)


def frame(values: Any, columns: Any, index: Any = None) -> Any:
    return pytest.importorskip("pandas").DataFrame(values, index, columns)


V = np.arange(6.0).reshape(2, 3)
HORN = ["horn", "mane", "tail"]


def test_columns_name_concepts_and_rows_name_samples() -> None:
    evidence = ConceptEvidence(values=frame(V, HORN, ["a", "b"]), truth=V > 2)
    assert evidence.concepts.names == tuple(HORN)
    assert all(type(name) is str for name in evidence.concepts.names)
    assert evidence.samples.ids is not None and evidence.samples.ids.tolist() == ["a", "b"]
    assert evidence.conversions == (
        "values: names of rows read as ids; names read as concepts horn, mane, tail.",
    )


def test_frames_are_aligned_by_name() -> None:
    truth = frame(V[:, ::-1] > 2, HORN[::-1])
    weights = frame(np.eye(3)[::-1], ["fox", "emu", "ape"], HORN[::-1])
    before = truth.copy()
    evidence = ConceptEvidence(
        values=frame(V, HORN), truth=truth, weights=weights, labels=["fox", "ape"]
    )
    assert np.array_equal(evidence.truth, V > 2)
    assert evidence.classes.names == ("fox", "emu", "ape") and evidence.labels.tolist() == [0, 2]
    assert np.array_equal(evidence.weights, np.eye(3))
    assert truth.equals(before)
    assert "truth: put into the order of concepts by name." in evidence.conversions


def test_names_that_are_passed_win() -> None:
    evidence = ConceptEvidence(values=frame(V, HORN), concepts=HORN[::-1])
    assert evidence.concepts.names == tuple(HORN[::-1])
    assert np.array_equal(evidence.values, V[:, ::-1])
    renamed = ConceptEvidence(values=frame(V, HORN), concepts=["x", "y", "z"])
    assert np.array_equal(renamed.values, V) and "horn, mane, tail are" in renamed.conversions[0]
    assert ConceptEvidence(values=frame(V, [0, 1, 2])).concepts.names[0] == "concept 0"
    mixed = ConceptEvidence(values=frame(V, [0, 1, 2]), truth=frame(V > 2, [2, 1, 0]))
    assert np.array_equal(mixed.truth, V[:, ::-1] > 2)


def test_words_are_classes() -> None:
    evidence = ConceptEvidence(values=V, labels=["cat", "bird"], predicted=["cat", "ape"])
    assert evidence.classes.names == ("ape", "bird", "cat")
    assert evidence.labels.tolist() == [2, 1] and evidence.predicted.tolist() == [2, 0]
    assert evidence.conversions[0] == "labels: 2 words read as classes ape, bird, cat."
    objects = np.array(["cat", "bird"], object)
    assert ConceptEvidence(values=V, labels=objects, classes=["cat", "bird"]).labels.tolist() == [
        0,
        1,
    ]


def test_one_hot_rows_say_how_many_classes_there_are() -> None:
    evidence = ConceptEvidence(values=V, labels=np.eye(4, dtype=bool)[:2])
    assert len(evidence.classes) == 4 and evidence.labels.tolist() == [0, 1]


def test_nulls_are_nan_where_nan_may_be() -> None:
    arrow = pytest.importorskip("pyarrow")
    for ratings in ([[1, None], [2, 3]], arrow.table({"a": [1, 2], "b": [None, 3]})):
        evidence = RatingEvidence(ratings=ratings, scale=[1, 2, 3])
        assert np.array_equal(evidence.ratings, [[1, np.nan], [2, 3]], equal_nan=True)
        assert "1 null read as NaN" in evidence.conversions[0]


def test_nested_columns_and_rows_of_tensors() -> None:
    arrow, torch = pytest.importorskip("pyarrow"), pytest.importorskip("torch")
    nested = arrow.array(V.tolist(), arrow.list_(arrow.float64(), 3))
    for values in (nested, [torch.tensor(row).requires_grad_() for row in V]):
        assert np.array_equal(ConceptEvidence(values=values).values, V)


def test_names_of_samples_may_be_columns() -> None:
    pandas = pytest.importorskip("pandas")
    samples = Samples(ids=pandas.Series(["a", "b"]), clusters=pandas.Series(["p", "q"]))
    assert samples.ids.tolist() == ["a", "b"] and samples.clusters.tolist() == [0, 1]


def test_concepts_of_each_class_may_be_tensors() -> None:
    torch = pytest.importorskip("torch")
    importances = torch.ones((2, 1), dtype=torch.bfloat16, requires_grad=True)
    evidence = SurrogateEvidence.per_class(
        importances=importances, projections=np.ones((3, 2, 1)), outputs=np.ones((3, 2))
    )
    assert "bfloat16 read as float32" in evidence.conversions[0]


def test_large_arrays_are_not_copied() -> None:
    torch = pytest.importorskip("torch")
    own = np.random.default_rng(0).normal(size=(100, 3))
    tensor = torch.from_numpy(own).requires_grad_()
    for values in (own, tensor, ByArray(own), ByDlpack(own)):
        assert np.shares_memory(ConceptEvidence(values=values).values, own)
    assert tensor.requires_grad and own.flags.writeable


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (lambda: {"truth": frame(V > 2, ["horn", "mane", "tali"])}, "only in `truth`: tali"),
        (lambda: {"truth": frame(V[:, :2] > 2, HORN[:2])}, "only in `values`: tail"),
        (lambda: {"truth": frame(V > 2, ["horn", "horn", "tail"])}, "'horn' twice"),
        (lambda: {"truth": frame(V > 2, HORN, ["b", "a"])}, "same rows in another order"),
        (lambda: {"truth": frame(V > 2, HORN, ["b", "c"])}, "other names of rows"),
        (lambda: {"concepts": ["horn", "mane", "nose"]}, "those of `concepts`"),
        (lambda: {"labels": ["cat", "dgo"], "classes": ["cat", "dog"]}, "Did you mean 'dog'"),
        (lambda: {"labels": ["cat", None]}, "nothing in row 1"),
        (lambda: {"labels": ["cat", float("nan")]}, "nothing in row 1"),
        (lambda: {"labels": ["cat", "dog"], "predicted": [0, 1]}, "numbers in `predicted`"),
        (lambda: {"labels": ["10", "9"]}, "numbers written as words: 10, 9"),
        (lambda: {"labels": [0.0, np.nan]}, "nothing in row 1"),
        (lambda: {"labels": [0.0, 1e300]}, "needed whole numbers"),
        (lambda: {"labels": [[0, 1], [1, 1]]}, "2 ones in row 1"),
        (lambda: {"labels": [[0, 1], [0, 0]]}, "no ones in row 1"),
        (lambda: {"labels": [[0.2, 0.8], [0.9, 0.1]]}, "argmax"),
        (lambda: {"labels": [[1], [0]]}, "ravel"),
        (lambda: {"labels": np.eye(2), "classes": ["a", "b", "c"]}, "2 columns; needed 3"),
        (lambda: {"truth": [[True, None, False]] * 2}, "pass `known`"),
        (lambda: {"truth": frame([[0, 1, "x"]] * 2, HORN)}, "column 'tail'"),
        (lambda: {"values": [[1, 2, None]] * 2}, "NaN or infinite"),
        (lambda: {"values": pytest.importorskip("polars").LazyFrame({"a": [1]})}, "collect"),
        (lambda: {"values": pytest.importorskip("torch").eye(2, device="meta")}, "a Tensor"),
        (lambda: {"values": pytest.importorskip("torch").eye(2).to_sparse()}, "a Tensor"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(
    arrays: Callable[[], dict[str, Any]], message: str
) -> None:
    with pytest.raises(EvidenceError, match=message):
        ConceptEvidence(**{"values": frame(V, HORN, ["a", "b"]), **arrays()})


def test_none_can_be_written_as_null_or_as_a_row_of_zeros() -> None:
    whole = planted_locations(6, 5)
    words = [None if part < 0 else f"part {part}" for part in whole.part_of]
    parts = [f"part {i}" for i in range(len(whole.parts))]
    rows = whole.part_of[:, None] == np.arange(len(parts))
    for part_of in (words, rows, [None if part < 0 else float(part) for part in whole.part_of]):
        changes = {**members(whole), "part_of": part_of, "parts": parts}
        assert np.array_equal(LocationEvidence(**changes).part_of, whole.part_of)


def test_a_frame_is_audited_without_torch() -> None:
    pytest.importorskip("pandas")
    script = (
        "import sys, pandas, theodolite; f = pandas.DataFrame({'a': [1., 2.], 'b': [3, 4]});"
        "theodolite.audit(values=f, truth=f > 2, resamples=20); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
