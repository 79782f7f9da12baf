"""Written from the declarations: the functions of ``theodolite.metrics`` and its names."""

import inspect
import textwrap
import types
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from theodolite.evidence.axes import NamedAxis
from theodolite.evidence.base import Evidence
from theodolite.evidence.describe import described
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, paper_names
from theodolite.metrics.options import bare
from theodolite.questions import QUESTIONS

WRITTEN = "Written by `python -m theodolite.metrics`; do not edit."
WIDTH = 100
HERE = Path(__file__).parent


def written_files() -> dict[Path, str]:
    """Every generated file of this package, and what it must hold."""
    own = [m for m in catalogue().values() if m.state.__module__.startswith("theodolite.")]
    files = {HERE / "__init__.py": package(own)}
    files[HERE / "functions" / "__init__.py"] = f'"""One function a metric. {WRITTEN}"""\n'
    for question, asks in QUESTIONS.items():
        these = [m for m in own if m.question == question]
        files[HERE / "functions" / f"{question}.py"] = module(these, asks)
    return files


def module(
    metrics: Sequence[Metric], title: str, calls_from: str = "theodolite.metrics.compute"
) -> str:
    """A module with a function for each of some metrics."""
    functions = [function_source(metric) for metric in metrics]
    text = "\n\n\n".join(functions)
    from_typing = "from typing import Literal\n" if "Literal[" in text else ""
    sequences = "from collections.abc import Sequence\n" if "Sequence[" in text else ""
    standard = f"\n{sequences}{from_typing}" if sequences or from_typing else ""
    typed = "ArrayLike, NDArray" if "NDArray[" in text else "ArrayLike"
    calls = ", ".join(name for name in ("number", "table") if f"return {name}(" in text)
    states = "\n".join(
        sorted(f"from {m.state.__module__} import {m.state.__name__}" for m in metrics)
    )
    imports = sorted([*states.splitlines(), f"from {calls_from} import {calls}"])
    numpy = "import numpy as np\n" if "NDArray[" in text else ""
    names = "".join(f'    "{metric.name}",\n' for metric in metrics)
    return (
        f'"""{title}\n\n{WRITTEN}\n"""\n\nfrom __future__ import annotations\n{standard}\n'
        f"{numpy}from numpy.typing import {typed}\n\n" + "\n".join(map(_import_line, imports))
        + f"\n\n__all__ = [\n{names}]\n\n\n{text}\n"
    )  # fmt: skip


def _import_line(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    source, _, names = line.partition(" import ")
    return f"{source} import (\n    {names},\n)"


def function_source(metric: Metric) -> str:
    """The function of a metric, typed and documented."""
    required, optional, chosen = _required(metric), _optional(metric), _options(metric)
    lines = [f"def {metric.name}("]
    lines += [f"    {_short(name)}: {_array_type(metric, name)}," for name in required]
    if chosen or optional:
        lines.append("    *,")
    lines += [f"    {n}: {_type_text(metric.hints()[n])} = {_literal(v)}," for n, v in chosen]
    lines += [
        f"    {_short(name)}: {_array_type(metric, name)} | None = None," for name in optional
    ]
    kind = "NDArray[np.float64]" if metric.sweeps or metric.detail else "float"
    lines += [f") -> {kind}:", textwrap.indent(_docstring(metric), "    ", lambda _: True)]
    lines = [line.rstrip() for part in lines for line in part.splitlines()]
    call = "table" if metric.sweeps or metric.detail else "number"
    lines += _mapping("arrays", [(name, _short(name)) for name in [*required, *optional]])
    lines += _mapping("options", [(name, name) for name, _ in chosen])
    lines.append(f"    return {call}({metric.state.__name__}, arrays, options)")
    return "\n".join(lines)


def _required(metric: Metric) -> list[str]:
    return list(metric.uses)


def _optional(metric: Metric) -> list[str]:
    """Arrays that an option needs or that are read if they are there."""
    by_choice = [
        a for choice in metric.uses_if.values() for arrays in choice.values() for a in arrays
    ]
    only_nulls = set(metric.nulls_use)
    names = dict.fromkeys([*by_choice, *metric.may_use])
    return [name for name in names if name not in metric.uses and name not in only_nulls]


def _options(metric: Metric) -> list[tuple[str, Any]]:
    """Those with more than one choice."""
    return [(n, v) for n, v in metric.options().items() if len(metric.choices(n)) != 1]


def _short(name: str) -> str:
    """Arrays of inner evidence lose its name."""
    return name.rpartition(".")[2]


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f'"{key}": {value}' for key, value in pairs)


def _mapping(name: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    if not pairs:
        return [f"    {name}: dict[str, object] = {{}}"]
    line = f"    {name} = {{{_pairs(pairs)}}}"
    if len(line) <= WIDTH:
        return [line]
    return [f"    {name} = {{", *(f'        "{key}": {value},' for key, value in pairs), "    }"]


def _array_type(metric: Metric, name: str) -> str:
    return "ArrayLike" if _axis(metric.needs, name) is None else "Sequence[str]"


def _axis(kind: type[Evidence], name: str) -> NamedAxis | None:
    """The axis of that name, should it be one: its names are given, not an array."""
    default = getattr(kind, name, None) if "." not in name else None
    return default if isinstance(default, NamedAxis) else None


def _type_text(hint: Any) -> str:
    """A type as one writes it."""
    plain = bare(hint)
    origin, arguments = get_origin(plain), get_args(plain)
    if origin is Literal:
        return f"Literal[{', '.join(map(_literal, arguments))}]"
    if origin in {Union, types.UnionType}:
        return " | ".join(map(_type_text, arguments))
    if origin is tuple:
        return f"tuple[{_type_text(arguments[0])}, ...]"
    if origin is not None:
        return f"Sequence[{_type_text(arguments[0])}]"
    return "None" if plain is type(None) else str(plain.__name__)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        inside = ", ".join(map(_literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


def _docstring(metric: Metric) -> str:
    text = inspect.cleandoc(metric.state.__doc__ or "")
    body, mark, example = text.partition("Example:\n")
    lines = [body.rstrip(), "", "Args:", *_arguments(metric), "", "Returns:"]
    lines += _wrapped(_returns(metric), "    ", "    ")
    lines += ["", "Raises:", "    EvidenceError: Where an array or an option cannot be used."]
    if mark:
        lines += ["", "Example:", example.rstrip()]
    return 'r"""' + "\n".join(lines) + '\n"""'


def _arguments(metric: Metric) -> Iterable[str]:
    words = _array_words(metric.needs)
    for name in _required(metric):
        yield from _wrapped(f"{_short(name)}: {words[name]}", "    ", "        ")
    for name, _ in _options(metric):
        yield from _wrapped(f"{name}: {metric.sentence(name)}", "    ", "        ")
    for name in _optional(metric):
        why = _needed_for(metric.uses_if, name)
        yield from _wrapped(f"{_short(name)}: {words[name]}{why}", "    ", "        ")


def _array_words(kind: type[Evidence]) -> dict[str, str]:
    """Shape and sentence of each array, as the evidence describes itself; names of axes."""
    words = {a.name: f"{a.shape}. {a.holds}".strip() for a in described(kind)}
    for field, inner in kind.inner_kinds():
        words |= {f"{field}.{name}": text for name, text in _array_words(inner).items()}
    axes = {name: f"Names of the {name}." for name in dir(kind) if _axis(kind, name) is not None}
    return axes | words


def _needed_for(uses_if: Mapping[str, Mapping[str, Sequence[str]]], name: str) -> str:
    for option, choices in uses_if.items():
        these = [choice for choice, arrays in choices.items() if name in arrays]
        if these:
            return f" Needed for {option}={' or '.join(these)}."
    return ""


def _returns(metric: Metric) -> str:
    low, high = metric.bounds
    limits = f"{low:g} to {high:g}, {metric.better} is better; NaN where undefined."
    if not metric.sweeps and not metric.detail:
        return f"A number, {limits}"
    axes = list(metric.sweeps)
    if metric.detail:
        over = metric.options().get("over", "concepts")
        axes.append("one for each, by `over`" if len(metric.choices("over")) > 1 else str(over))
    return f"An array ({' × '.join(axes)}), each {limits}"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    # four more: the docstring stands inside the function
    return textwrap.wrap(
        text, WIDTH - 4, initial_indent=first, subsequent_indent=rest,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def package(metrics: Sequence[Metric]) -> str:
    """``theodolite.metrics``: every function and paper name, imported when first asked for."""
    home = {metric.name: metric.question for metric in metrics}
    aliases = _aliases(metrics)
    typed = []
    for question in sorted(QUESTIONS):
        names = [m.name for m in metrics if m.question == question]
        typed += [f"    from theodolite.metrics.functions.{question} import ("]
        typed += [*(f"        {name}," for name in names), "    )"]
    typed += ["", *(f"    {alias} = {name}" for alias, name in aliases.items())]
    homes = [f'    "{name}": "{question}",' for name, question in home.items()]
    papers = [f'    "{alias}": "{name}",' for alias, name in aliases.items()]
    exported = [
        f'    "{name}",' for name in [*sorted(aliases, key=_constants_first), *sorted(home)]
    ]
    return "\n".join([
        '"""Every score as a function of arrays, by its name and by what papers call it.', "",
        WRITTEN, '"""', "",
        "from __future__ import annotations", "",
        "import importlib", "import sys", "from types import ModuleType",
        "from typing import TYPE_CHECKING, Any", "",
        "if TYPE_CHECKING:", *typed, "",
        "__all__ = [", *exported, "]", "",
        "_QUESTIONS = {", *homes, "}", "_PAPER_NAMES = {", *papers, "}", "", "",
        "def __getattr__(name: str) -> Any:",
        "    own = _PAPER_NAMES.get(name, name)",
        "    if own not in _QUESTIONS:",
        '        message = f"module {__name__!r} has no attribute {name!r}"',
        "        raise AttributeError(message)",
        '    module = importlib.import_module(f"{__name__}.functions.{_QUESTIONS[own]}")',
        "    return getattr(module, own)", "", "",
        "def __dir__() -> list[str]:",
        "    return sorted({*globals(), *__all__})", "", "",
        "class FunctionPackage(ModuleType):",
        '    """Paths of 0.1.0 (metrics.acceptance) do not hide functions of the same name."""', "",
        "    def __setattr__(self, name: str, value: Any) -> None:",
        "        if not (name in _QUESTIONS and isinstance(value, ModuleType)):",
        "            super().__setattr__(name, value)", "", "",
        "sys.modules[__name__].__class__ = FunctionPackage", "",
    ])  # fmt: skip


def _constants_first(name: str) -> tuple[bool, str]:
    """The order that linters ask of ``__all__``: all capitals first, then other names."""
    return not name.isupper(), name


def _aliases(metrics: Sequence[Metric]) -> dict[str, str]:
    """Paper names that one metric alone goes by."""
    alone = {bearers[0] for bearers in paper_names().values() if len(bearers) == 1}
    shared = {n for bearers in paper_names().values() if len(bearers) > 1 for n in bearers}
    return {
        paper_name: metric.name
        for metric in metrics
        for paper_name in metric.paper_names
        if metric.name in alone or metric.name not in shared
    }
