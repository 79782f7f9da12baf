"""Declare a metric of another package or a notebook, as a function or as a class of states."""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

import numpy as np

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.base import Evidence
from theodolite.evidence.plugins import is_ours
from theodolite.metrics import base
from theodolite.metrics.array_names import array_layout, infer_kind, read_array
from theodolite.metrics.catalogue import find_metric, load_library
from theodolite.metrics.options import get_hints
from theodolite.metrics.shared.permuted import permuted
from theodolite.metrics.states import PerSample, SampleMean, arrays_of, state_from
from theodolite.metrics.validation import register_validation
from theodolite.questions import QUESTIONS
from theodolite.results import Better

Declared = TypeVar("Declared", bound=Callable[..., Any])
EXAMPLE = '@metric("concept_brier", question="exists", better="lower", bounds=(0.0, 1.0))'
NOT_VALIDATED = "It has no validation record: its limitations was not measured."


def metric(
    name: str = "",
    *,
    question: str | None = None,
    better: str | None = None,
    bounds: tuple[float, float] | None = None,
    evidence: type[Evidence] | str | None = None,
    validation: Path | str | None = None,
    **more: Any,
) -> Callable[[Declared], Declared]:
    """Declare a metric: a function that returns one number per sample, or a class of states.

    A function takes arrays of one kind of evidence by their names. A parameter with the default
    None is an array that may be missing; keyword-only parameters are options. NaN is an undefined
    sample: it is counted and left out of the mean.

    Args:
        name: Name in the catalogue: lower-case letters, digits and underscores.
        question: The question that it helps to answer, such as ``exists``.
        better: ``higher`` or ``lower``.
        bounds: Smallest and largest possible value.
        evidence: Kind of evidence, where the parameter names of a function fit several.
        validation: Validation record (``theodolite metrics validate``). Without one the metric
            decides no verdict.
        **more: Other fields of ``Metric``, such as ``title``, ``nulls``, ``card`` or ``cite``.
            Defaults come from the docstring; the baseline permutes the first array.
    """
    _check_declaration(name, question, better, bounds, more)

    def enter(thing: Declared) -> Declared:
        load_library()
        _check_name_is_free(name, thing)
        if isinstance(thing, type):
            state: type[Any] = thing
            if not more.get("uses"):
                needed = "the arrays that the class reads"
                raise _missing(name, "uses", needed, 'Pass uses=("values", "truth").')
            arrays: dict[str, Any] = {"uses": tuple(more["uses"])}
        else:
            state, arrays = _make_state(name, thing, evidence)
        required: dict[str, Any] = {"question": question, "better": better, "bounds": bounds}
        attributes = arrays | _from_docstring(name, thing, required, validation) | required | more
        if "nulls" not in attributes:
            attributes["nulls"] = (_default_null(name, state, attributes["uses"]),)
        register_validation(name, attributes["version"], validation)
        base.CATALOGUE.pop(name, None)
        base.metric(name, **attributes)(state)
        return thing

    return enter


class FunctionMean(SampleMean):
    """Mean over samples of the numbers that a function returns."""

    metric_name: ClassVar[str]

    def __reduce__(self) -> tuple[Any, ...]:
        # the class is made by the decorator, so that no module holds it under its name
        return _restore_state, (self.metric_name, arrays_of(self))


def _restore_state(name: str, arrays: Mapping[str, np.ndarray]) -> SampleMean:
    state: SampleMean = state_from(find_metric(name).state, arrays)
    return state


def _make_state(
    name: str, function: Callable[..., Any], evidence: type[Evidence] | str | None
) -> tuple[type[FunctionMean], dict[str, Any]]:
    """Return the state of a function and the arrays that it reads."""
    parameters = inspect.signature(function).parameters.values()
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    taken = [p for p in parameters if p not in options]
    wrong = [p.name for p in taken if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    wrong += [p.name for p in taken if p.default not in (p.empty, None)]
    if wrong or not taken:
        raise EvidenceError(
            f"metric {name}", f"the parameter `{wrong[0]}`" if wrong else "no parameter",
            "arrays by name, a default of None for those that may be missing",
            "Put options behind a `*`: def f(values, truth, *, threshold: float = 0.5).",
        )  # fmt: skip
    kind, paths = infer_kind(name, [p.name for p in taken], evidence, function.__module__)

    def each(evidence: Evidence, **options: Any) -> PerSample:
        arrays = {parameter: read_array(evidence, path) for parameter, path in paths.items()}
        if not len(evidence):
            return PerSample(np.zeros(0), np.zeros(0), np.zeros(0, bool))
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is NaN: undefined
            return _check_numbers(name, function(**arrays, **options), len(evidence))

    first = inspect.Parameter("evidence", inspect.Parameter.POSITIONAL_ONLY)
    hints = get_type_hints(function, include_extras=True)
    each.__signature__ = inspect.Signature([first, *options])  # type: ignore[attr-defined]
    each.__annotations__ = {p.name: hints.get(p.name, Any) for p in options} | {"evidence": kind}
    each.__module__ = function.__module__
    members = {
        "each": staticmethod(each), "metric_name": name, "__doc__": function.__doc__,
        "__module__": function.__module__, "__qualname__": function.__qualname__,
    }  # fmt: skip
    needed = tuple(paths[p.name] for p in taken if p.default is p.empty)
    optional = tuple(paths[p.name] for p in taken if p.default is None)
    state = type(function.__name__, (FunctionMean,), members)
    return state, {"uses": needed, "may_use": optional}


def _check_numbers(name: str, returned: Any, n: int) -> PerSample:
    values = np.asarray(returned, float)
    if values.shape != (n,):
        raise EvidenceError(
            f"metric {name}", f"an array of shape {values.shape}",
            f"one number per sample, shape ({n},)",
            "Average over the other axes, such as `.mean(axis=1)`.",
        )  # fmt: skip
    defined = ~np.isnan(values)
    return PerSample(np.where(defined, values, 0.0), defined.astype(float), np.ones(n, bool))


def _default_null(name: str, state: type[Any], uses: tuple[str, ...]) -> base.NullModel:
    """Return a baseline that permutes the first array with one row per sample."""
    kind = get_hints(getattr(state, "each", None) or getattr(state, "measure", state.of))[
        "evidence"
    ]
    for path in uses:
        layout = array_layout(kind, path)
        if layout is not None and layout.axes[0] == "samples" and not layout.ragged:
            return permuted(path)
    needed = "a baseline, as no array has one row of equal length per sample"
    raise _missing(name, "nulls", needed, "Pass nulls=(NullModel(...),).")


def _from_docstring(
    name: str, thing: Any, required: Mapping[str, Any], validation: Path | str | None
) -> dict[str, Any]:
    """Return the fields that a reader needs, from the docstring."""
    text = inspect.cleandoc(thing.__doc__ or "")
    summary = " ".join(text.partition("\n\n")[0].split())
    title = summary.partition(". ")[0].rstrip(".") or name.replace("_", " ").capitalize()
    (low, high), better = required["bounds"], required["better"]
    read = f"{title}. {better.capitalize()} is better, from {low:g} to {high:g}."
    limitations = NOT_VALIDATED if validation is None else "See its validation record."
    asks, cost = QUESTIONS[required["question"]], "one pass over the samples"
    return {
        "title": title, "version": 1, "cite": f"{thing.__module__}.{thing.__qualname__}",
        "card": base.Card(question=asks, interpretation=read, limitations=limitations, cost=cost),
        "decides": validation is not None,
    }  # fmt: skip


def _check_declaration(
    name: Any, question: Any, better: Any, bounds: Any, more: Mapping[str, Any]
) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        got = f"{type(name).__name__}" if not isinstance(name, str) else repr(name)
        needed = "a name of lower-case letters, digits and underscores"
        raise EvidenceError("metric", got, needed, f"Write {EXAMPLE}.")
    for field, value, choices in (
        ("question", question, tuple(QUESTIONS)), ("better", better, get_args(Better))
    ):  # fmt: skip
        if value is None:
            raise _missing(name, field, f"one of {', '.join(choices)}")
        if value not in choices:
            needed = f"one of {', '.join(choices)}"
            hint = did_you_mean(value, choices)
            raise EvidenceError(f"metric {name}: {field}", repr(value), needed, hint)
    if bounds is None:
        raise _missing(name, "bounds", "the smallest and largest value, bounds=(0.0, 1.0)")
    if not _is_range(bounds):
        needed = "two numbers, the smaller first"
        raise EvidenceError(
            f"metric {name}: bounds", repr(bounds), needed, "Use bounds=(0.0, 1.0)."
        )
    known = {field.name for field in fields(base.Metric)} - {"name", "state"}
    for field in set(more) - known:
        needed = f"some of {', '.join(sorted(known))}"
        raise EvidenceError(f"metric {name}", f"`{field}`", needed, did_you_mean(field, known))


def _is_range(bounds: Any) -> bool:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        return False
    return not math.isnan(low) and not math.isnan(high) and low < high


def _missing(name: str, field: str, needed: str, do: str = f"Write {EXAMPLE}.") -> EvidenceError:
    return EvidenceError(f"metric {name}", f"no `{field}`", needed, do)


def _check_name_is_free(name: str, thing: Any) -> None:
    """Refuse a name that another module has; a notebook cell may declare its own again."""
    known = base.CATALOGUE.get(name)
    if known is None or known.state.__module__ == thing.__module__:
        return
    owner = "theodolite" if is_ours(known.state) else known.state.__module__
    raise EvidenceError(
        f"metric {name}", f"the name of a metric of {owner}", "a name of its own",
        f"Rename it, such as {name}_2.",
    )  # fmt: skip
