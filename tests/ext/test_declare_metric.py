"""A metric declared by a function: defaults, errors, and where it is found."""

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite import ext
from theodolite.metrics.cards import format_card
from theodolite.metrics.catalogue import catalogue
from theodolite.testing import planted_concepts

pytestmark = pytest.mark.usefixtures("restored_catalogue")
EVIDENCE = planted_concepts(60)
FIELDS: dict[str, Any] = {"question": "exists", "better": "lower", "bounds": (0.0, 1.0)}
RECORD = Path(__file__).parents[2] / "validation" / "acceptance-2.json"


def squared_error(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Mean squared error of concept predictions.

    Values are clipped to 0 and 1.
    """
    return ((np.clip(values, 0, 1) - truth) ** 2).mean(axis=1)


def declare(function: Callable[..., Any] = squared_error, **changes: Any) -> ext.Metric:
    """Declare a function under a name that is free."""
    ext.metric("outside_brier", **(FIELDS | changes))(function)
    return ext.find_metric("outside_brier")


def test_function_metric_defaults() -> None:
    metric = declare()
    assert metric.needs is ext.ConceptEvidence and metric.uses == ("values", "truth")
    assert metric.title == "Mean squared error of concept predictions"
    assert [null.name for null in metric.nulls] == ["permuted values"]
    assert not metric.decides and metric.version == 1
    assert (
        format_card(metric)["range"] == "0 to 1"
        and "no validation record" in metric.card.limitations
    )
    assert metric.cite == f"{__name__}.squared_error"


def test_function_metric_score() -> None:
    declare()
    score = theodolite.score("outside_brier", EVIDENCE, resamples=50)
    expected = squared_error(EVIDENCE.values, EVIDENCE.truth).mean()
    assert score.value == pytest.approx(expected, rel=1e-12)
    assert score.null is not None and score.null.value > 0.2
    assert score.interval is not None and score.interval.high < score.null.value


def test_function_metric_audit_report_and_list(tmp_path: Path) -> None:
    declare()
    result = theodolite.audit(EVIDENCE, resamples=50, questions=["exists"])
    assert "outside_brier" in {score.metric for score in result.scores}
    assert "outside_brier has no validation record, so no verdict is based on it." in " ".join(
        str(result).split()
    )
    report = result.save(tmp_path / "run").read_text("utf-8")
    assert "Mean squared error of concept predictions" in report
    assert "Values are clipped to 0 and 1." in report
    assert "outside_brier" in catalogue()


def test_verdict_names_a_score_without_validation_record() -> None:
    declare(question="accepted")
    (verdict,) = [
        v
        for v in theodolite.audit(EVIDENCE, resamples=50, metrics=["outside_brier"]).verdicts
        if v.question == "accepted"
    ]
    assert verdict.answer == "not_evaluated"
    assert verdict.summary.endswith("so no verdict is based on it.")


def test_deciding_metric_without_validation_record_claims_nothing() -> None:
    declare(decides=True, threshold=0.5, question="accepted")
    result = theodolite.audit(EVIDENCE, resamples=50, metrics=["outside_brier"])
    verdict = result.verdicts["accepted"]
    assert (
        verdict.answer == "inconclusive"
        and "outside_brier has no validation record" in verdict.summary
    )


def test_validation_record_lets_a_metric_decide(tmp_path: Path) -> None:
    content = json.loads(RECORD.read_text("utf-8")) | {"metric": "outside_brier", "version": 1}
    record = tmp_path / "record.json"
    record.write_text(json.dumps(content))
    metric = declare(validation=record)
    assert metric.decides and ext.get_validation("outside_brier", 1) is not None
    assert "no validation record" not in str(theodolite.audit(EVIDENCE, resamples=50))
    declare()
    assert ext.get_validation("outside_brier", 1) is None


@pytest.mark.parametrize("content", [{"metric": "other"}, [1], None])
def test_validation_record_of_something_else(content: Any, tmp_path: Path) -> None:
    other = json.loads(RECORD.read_text("utf-8")) if content is None else content
    (tmp_path / "record.json").write_text(json.dumps(other))
    with pytest.raises(ext.EvidenceError, match="needed a record of outside_brier, version 1"):
        declare(validation=tmp_path / "record.json")


def test_undefined_samples_are_counted() -> None:
    def share_named(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return (truth & (values > 1.2)).sum(axis=1) / (values > 1.2).sum(axis=1)

    metric = declare(share_named, better="higher")
    none = ext.ConceptEvidence(values=np.zeros((4, 12)), truth=np.ones((4, 12)))
    both = type(none).joined([none, EVIDENCE[:4]])
    state, alone = metric.state.of(both), metric.state.of(EVIDENCE[:4])
    assert state.value() == alone.value() and state.counted()[1] == alone.counted()[1] + 4


def test_optional_arrays_and_options() -> None:
    def error(
        values: np.ndarray,
        truth: np.ndarray,
        known: np.ndarray | None = None,
        *,
        power: float = 2.0,
    ) -> np.ndarray:
        assert known is None
        return (np.abs(np.clip(values, 0, 1) - truth) ** power).mean(axis=1)

    metric = declare(error)
    assert metric.may_use == ("known",) and metric.options() == {"power": 2.0}
    squared, plain = (
        theodolite.score("outside_brier", EVIDENCE, options={"power": power}, resamples=50).value
        for power in (2.0, 1.0)
    )
    assert squared < plain
    with pytest.raises(ext.EvidenceError, match="outside_brier: power: got 'two'"):
        theodolite.score("outside_brier", EVIDENCE, options={"power": "two"})


def test_state_survives_pickling() -> None:
    state = declare().state.of(EVIDENCE)
    assert pickle.loads(pickle.dumps(state)).value() == state.value()  # noqa: S301


def test_declare_again_replaces_the_earlier_metric() -> None:
    for level in (0.25, 0.75):

        def constant(values: np.ndarray, truth: np.ndarray, *, level: float = level) -> np.ndarray:
            return np.full(len(values), level)

        declare(constant)
        assert theodolite.score("outside_brier", EVIDENCE, resamples=20).value == level


def test_declare_name_of_another_module() -> None:
    with pytest.raises(ext.EvidenceError, match="got the name of a metric of theodolite"):
        ext.metric("concept_existence", **FIELDS)(squared_error)
    declare()
    squared_error.__module__ = "another_package"
    try:
        with pytest.raises(
            ext.EvidenceError, match=r"got the name of a metric of .*test_declare_metric"
        ):
            declare()
    finally:
        squared_error.__module__ = __name__


def test_declare_class_with_the_same_fields() -> None:
    class Right(ext.SampleMean):
        """Share of samples."""

        @staticmethod
        def each(evidence: ext.ConceptEvidence) -> ext.PerSample:
            ones = np.ones(len(evidence))
            return ext.PerSample(ones, ones, ones > 0)

    with pytest.raises(ext.EvidenceError, match="got no `uses`; needed the arrays"):
        declare(Right)
    metric = declare(Right, uses=("truth",))
    assert metric.state is Right and [n.name for n in metric.nulls] == ["permuted truth"]
    assert not metric.decides


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": None}, "got no `question`; needed one of exists, located"),
        ({"question": "exist"}, "got 'exist'; needed one of .* Did you mean 'exists'"),
        ({"better": None}, "got no `better`; needed one of higher, lower. Write @metric"),
        ({"better": "up"}, "better: got 'up'"),
        ({"bounds": None}, "got no `bounds`"),
        ({"bounds": (1, 0)}, r"bounds: got \(1, 0\); needed two numbers, the smaller first"),
        ({"bounds": 1.0}, "bounds: got 1.0"),
        ({"titel": "x"}, "got `titel`; needed some of .* Did you mean 'title'"),
    ],
)
def test_declare_mandatory_fields(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ext.EvidenceError, match=message):
        declare(**changes)


@pytest.mark.parametrize("name", ["", "Brier score", squared_error])
def test_declare_name(name: Any) -> None:
    with pytest.raises(ext.EvidenceError, match="needed a name of lower-case letters"):
        ext.metric(name, **FIELDS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda vals, truth: vals,
            r"`vals, truth`; needed names of arrays .*concept \(has no vals\)",
        ),
        (lambda values: values, "needed evidence='concept' or evidence='attribution'"),
        (lambda *arrays: arrays, "the parameter `arrays`"),
        (lambda values, truth, cut=0.5: cut, "the parameter `cut`.*Put options behind"),
        (lambda: 0, "got no parameter"),
        (lambda relevance: relevance, "got no `nulls`; needed a baseline"),
    ],
)
def test_declare_parameters(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(ext.EvidenceError, match=message):
        declare(function)


def test_declare_evidence_resolves_the_kind() -> None:
    def spread(values: np.ndarray) -> np.ndarray:
        return values.std(axis=1)

    assert declare(spread, evidence="attribution").needs is ext.AttributionEvidence
    assert declare(spread, evidence=ext.ConceptEvidence).needs is ext.ConceptEvidence
    with pytest.raises(ext.EvidenceError, match=r"nearest: unit \(has no values\)"):
        declare(spread, evidence="unit")


def test_declare_finds_arrays_of_inner_and_own_evidence() -> None:
    metric = declare(lambda truth, maps: truth.mean(axis=1) * maps.mean())
    assert metric.needs is ext.LocationEvidence and metric.uses == ("explained.truth", "maps")
    assert metric.nulls[0].name == "permuted truth"

    @dataclass(frozen=True, eq=False, kw_only=True, repr=False)
    class PairEvidence(ext.Evidence):
        """Two numbers a sample."""

        kind = "test_pair"
        version = 1
        values: np.ndarray = ext.array("samples")
        labels: np.ndarray = ext.array("samples", content="flag")

    assert declare(lambda values, labels: values).needs is PairEvidence


def test_score_raises_what_the_function_does_wrong() -> None:
    declare(lambda values, truth: values)
    with pytest.raises(ext.EvidenceError, match=r"got an array of shape .* one number per sample"):
        theodolite.score("outside_brier", EVIDENCE)


def test_permuted_rows_are_the_same_in_shards() -> None:
    null = ext.permuted("values")
    pool = null.sums(EVIDENCE)
    whole = null.made(EVIDENCE, 3, pool)
    parts = [null.made(EVIDENCE[cut], 3, pool) for cut in (slice(0, 7), slice(7, None))]
    np.testing.assert_array_equal(type(whole).joined(parts).values, whole.values)
    assert (whole.values != EVIDENCE.values).any() and whole.truth is EVIDENCE.truth
