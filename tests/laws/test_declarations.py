"""What follows from the one declaration of a metric: functions, options at every door, arrays."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import theodolite
import theodolite.metrics
from support.runs.command_line import theodolite as theodolite_command
from theodolite._scoring.request import MetricRequest, expand
from theodolite._verdicts.gates.file import read_thresholds
from theodolite.bridges.torchmetrics import make_batch_metric
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import CATALOGUE, Metric, PerSample, SampleMean, metric
from theodolite.metrics.catalogue import catalogue, find_metric, find_metric_and_options
from theodolite.metrics.generate import FUNCTIONS, functions_package
from theodolite.metrics.options import get_bounds
from theodolite.testing import planted_concepts, recording
from theodolite.testing.laws import scored
from theodolite.testing.strategies import FOR, options_of

OWN = {n: m for n, m in catalogue().items() if m.state.__module__.startswith("theodolite.")}
every_metric = pytest.mark.parametrize("metric", OWN.values(), ids=lambda m: m.name)
some = settings(
    max_examples=12, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
)
few = settings(some, max_examples=5)


def nonsense(metric: Metric) -> Iterator[dict[str, Any]]:
    """A word that is none of its choices, a number beyond each bound, an unknown option."""
    for option, hint in metric.hints().items():
        if option not in metric.options():
            continue
        several = isinstance(metric.default(option), tuple)
        low, high = get_bounds(hint)
        wrong: list[Any] = ["banana"]
        wrong += [] if low is None else [low - 1]
        wrong += [] if high is None else [high + 1]
        yield from ({option: (value,) if several else value} for value in wrong)
    yield {"bannana": 1}


def door_function(metric: Metric, options: dict[str, Any]) -> None:
    function = getattr(theodolite.metrics, metric.name)
    inputs = {
        name: None
        for name, p in inspect.signature(function).parameters.items()
        if p.default is p.empty
    }
    unseen = set(options) - set(inspect.signature(function).parameters)
    if unseen and unseen <= set(metric.options()):  # a single choice is no parameter
        raise EvidenceError(f"{unseen} is no parameter")
    if not set(options) <= set(inspect.signature(function).parameters):
        with pytest.raises(TypeError, match=next(iter(options))):
            function(**inputs, **options)
        raise EvidenceError(f"{options} is no parameter")
    function(**inputs, **options)


def door_state(metric: Metric, options: dict[str, Any]) -> None:
    if set(options) <= set(metric.options()) - set(metric.counting_options()):
        object.__new__(metric.state).value(**options)
    else:
        metric.state.of(None, **options)


def door_request(metric: Metric, options: dict[str, Any]) -> None:
    MetricRequest(metric, options)


def door_spec(metric: Metric, options: dict[str, Any]) -> None:
    list(expand(metric, options))


def door_bridge(metric: Metric, options: dict[str, Any]) -> None:
    make_batch_metric(metric.name, options)


def door_audit(metric: Metric, options: dict[str, Any]) -> None:
    theodolite.audit(EVIDENCE, metrics=[(metric.name, options)])


def door_score(metric: Metric, options: dict[str, Any]) -> None:
    theodolite.score(metric.name, EVIDENCE, options=options)


EVIDENCE = planted_concepts()
DOORS = [
    door_function, door_state, door_request, door_spec, door_bridge, door_audit, door_score,
]  # fmt: skip


@every_metric
@pytest.mark.parametrize("door", DOORS, ids=lambda d: d.__name__)
def test_no_word_is_swallowed(
    door: Callable[[Metric, dict[str, Any]], None], metric: Metric
) -> None:
    for options in nonsense(metric):
        with pytest.raises(EvidenceError, match=next(iter(options))):
            door(metric, options)


@every_metric
def test_no_word_is_swallowed_by_thresholds(metric: Metric, tmp_path: Path) -> None:
    line = "at_least" if metric.better == "higher" else "at_most"
    for options in nonsense(metric):
        choice = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
        threshold = {"metric": metric.name, "options": choice, line: 0.5}
        (tmp_path / "t.yaml").write_text(yaml.safe_dump({"scores": [threshold]}))
        with pytest.raises(EvidenceError, match=f"{metric.name}|threshold"):
            read_thresholds(tmp_path / "t.yaml")


def test_a_spec_on_the_command_line(tmp_path: Path) -> None:
    EVIDENCE.save(tmp_path / "evidence")
    spec = {
        "name": "wrong", "evidence": ["evidence"],
        "metrics": [{"name": "CEM", "options": {"rank_by": "vale"}}],
    }  # fmt: skip
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    result = theodolite_command("run", "spec.yaml", "--out", "out", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert "concept_existence: rank_by: got 'vale'" in result.stderr
    assert "Did you mean 'value'?" in result.stderr


def test_the_command_line_says_what_was_meant() -> None:
    result = theodolite_command("metrics", "krippendorff_alpa")
    assert result.returncode == 2 and "krippendorff_alpha" in result.stderr
    assert "Concepts-task leakage" in theodolite_command("metrics", "ctl").stdout
    with pytest.raises(EvidenceError, match="Did you mean 'nominal'"):
        find_metric("krippendorff_alpha").check({"level": "nomial"})
    with pytest.raises(EvidenceError, match="Did you mean 'level'"):
        find_metric("krippendorff_alpha").check({"levle": "nominal"})


def test_generated_files_are_what_the_declarations_give() -> None:
    written = {path.name: path.read_text("utf-8") for path in FUNCTIONS.glob("*.py")}
    assert written == functions_package(), "run `pip install -e .`"


@every_metric
def test_a_function_is_typed_and_documented(metric: Metric) -> None:
    function = getattr(theodolite.metrics, metric.name)
    parameters = inspect.signature(function).parameters
    assert not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values())
    text = inspect.getdoc(function) or ""
    assert all(f"    {name}: " in text for name in parameters), "every parameter has its sentence"
    assert "Example:" in text and text.count("\n") < 80
    for option in metric.options():
        if len(metric.choices(option)) != 1:
            assert option in parameters
            assert 10 <= len(metric.sentence(option)) <= 90


@every_metric
def test_it_declares_only_what_it_reads(metric: Metric) -> None:
    """Or what its kind of evidence cannot be without."""
    reads: set[str] = set()

    @given(data=st.data())
    @some
    def read(data: st.DataObject) -> None:
        evidence, now = recording(data.draw(FOR[metric.needs]))
        scored(metric, evidence, data.draw(options_of(metric)))
        reads.update(now)

    read()
    required = {f.name for f in fields(metric.needs) if f.default is MISSING}
    for field, inner in metric.needs.inner_kinds():
        required |= {f"{field}.{f.name}" for f in fields(inner) if f.default is MISSING}
    assert set(metric.uses) - reads <= required


@every_metric
@given(data=st.data())
@few
def test_nulls_read_what_is_declared(metric: Metric, data: st.DataObject) -> None:
    """Evidence without any other array has the same nulls."""
    evidence = data.draw(FOR[metric.needs])
    declared = {*_names(metric), *metric.nulls_use}
    bare = _without(evidence, declared)
    for null in metric.nulls:
        values = []
        for whole in (evidence, bare):
            if null.on == "state":
                state = null.made(metric.state.of(whole), 1)
            else:
                made = whole if null.expected else null.made(whole, 1)
                counting = {k: v for k, v in null.options.items() if k in metric.counting_options()}
                state = metric.null_state(null, made, **counting)
            values.append(np.asarray(state.value()))
        np.testing.assert_array_equal(*values)


def _without(evidence: Any, declared: set[str], prefix: str = "") -> Any:
    """The evidence with no optional arrays but the declared ones."""
    required = {f.name for f in fields(evidence) if f.default is MISSING}
    names = {name for name, _ in evidence.layouts()} - required
    dropped = {name: None for name in names if prefix + name not in declared}
    for field, _ in evidence.inner_kinds():
        dropped[field] = _without(getattr(evidence, field), declared, f"{field}.")
    return replace(evidence, **dropped)


@every_metric
@given(data=st.data())
@few
def test_the_function_gives_what_the_state_gives(metric: Metric, data: st.DataObject) -> None:
    evidence, options = data.draw(FOR[metric.needs]), data.draw(options_of(metric))
    options = {k: v for k, v in options.items() if len(metric.choices(k)) != 1}
    function = getattr(theodolite.metrics, metric.name)
    arrays = {}
    for name in inspect.signature(function).parameters:
        path = next((p for p in _names(metric) if p.rpartition(".")[2] == name), None)
        if path is not None:
            arrays[name] = _read(evidence, path)
    if any(arrays.get(p.rpartition(".")[2]) is None for p in metric.uses):
        return
    # a function gets arrays alone: what belongs together, it is not told
    evidence = replace(evidence, samples=replace(evidence.samples, clusters=None))
    expected = scored(metric, evidence, options)
    np.testing.assert_array_equal(function(**arrays, **options), expected)


def _names(metric: Metric) -> list[str]:
    by_choice = [
        a for choice in metric.uses_if.values() for arrays in choice.values() for a in arrays
    ]
    return [*metric.uses, *metric.may_use, *by_choice]


def _read(evidence: Any, path: str) -> Any:
    for part in path.split("."):
        evidence = getattr(evidence, part)
    return getattr(evidence, "names", evidence)


@pytest.mark.usefixtures("restored_catalogue")
def test_catalogue_metrics_declared_between_scores() -> None:
    usual = find_metric("concept_existence")
    for name, level in {"zz_first": 0.25, "aa_second": 0.75}.items():
        assert name not in catalogue()

        class Level(SampleMean):
            @staticmethod
            def each(evidence: ConceptEvidence, *, level: float = level) -> PerSample:
                part = np.full(len(evidence), level)
                return PerSample(part, np.ones(len(part)), np.ones(len(part), bool))

        metric(
            name, title=name, version=1, question="exists", better="higher", bounds=(0.0, 1.0),
            nulls=usual.nulls[2:], uses=("values", "truth"), paper_names=(name[:2] * 2,),
            cite=usual.cite, card=usual.card,
        )(Level)  # fmt: skip
        assert theodolite.score(name, EVIDENCE).value == level
        assert find_metric(name[:2] * 2).name == name
    assert list(catalogue()) == sorted(CATALOGUE)


PAPER_NAMES = {
    "ICaCE_error": "edit_effect_error",
    "CEM": "concept_existence", "CLM": "concept_location", "CGIM": "concept_global_importance",
    "CTL": "concept_task_leakage", "ICL": "interconcept_leakage", "OIS": "oracle_impurity",
    "NIS": "niche_impurity", "S_int": "intervention_score", "SURF_MAE": "surrogate_error",
    "SURF_EMD": "surrogate_distance", "DetAcc": "detection_accuracy", "IoU": "unit_iou",
    "ICC": "intraclass_correlation",
}  # fmt: skip


@pytest.mark.parametrize(("paper_name", "name"), PAPER_NAMES.items())
def test_paper_names(paper_name: str, name: str) -> None:
    assert getattr(theodolite.metrics, paper_name) is getattr(theodolite.metrics, name)
    spellings = (paper_name, paper_name.lower(), paper_name.replace("_", "-"), paper_name.upper())
    assert {find_metric(spelling).name for spelling in spellings} == {name}


def test_names_of_several_are_refused_with_all_of_them(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="surrogate_distance, surrogate_error"):
        find_metric("SURF")
    with pytest.raises(EvidenceError, match="pairwise_agreement, predicted_rating_agreement"):
        find_metric("QWK")
    with pytest.raises(EvidenceError, match="concept_global_importance, form=2"):
        find_metric("CGIM2")
    assert find_metric_and_options("cgim-2") == (find_metric("CGIM"), {"form": 2})
    (tmp_path / "t.yaml").write_text("scores: [{metric: ctl, at_most: 0.1}]")
    (threshold,) = read_thresholds(tmp_path / "t.yaml").scores
    assert threshold.metric == "concept_task_leakage"


def test_every_function_is_a_name_of_the_package() -> None:
    names = set(theodolite.metrics.__all__)
    assert names == {*OWN, *PAPER_NAMES} and names <= set(dir(theodolite.metrics))
    with pytest.raises(AttributeError):
        theodolite.metrics.banana  # noqa: B018
