"""A page for each score, made from its card; an index by question; bridges; the changelog."""

import inspect
import math
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import theodolite.bridges
from theodolite.metrics.base import Metric
from theodolite.metrics.cards import format_card
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.options import describe_needed
from theodolite.metrics.paper_methods import list_names_in_papers
from theodolite.questions import QUESTIONS

MADE = "_made"
FOLDER = f"{MADE}/metrics"
GUIDES = {
    "exists": ("exists",),
    "located": ("located", "saliency"),
    "leak_free": ("leakage",),
    "faithful": ("faithfulness", "saliency"),
    "detects": ("detects",),
    "accepted": ("acceptance",),
}


def underlined(text: str, mark: str = "=") -> list[str]:
    """A heading."""
    return [text, mark * len(text), ""]


def listed(head: Iterable[str], rows: Iterable[Iterable[str]], widths: str) -> list[str]:
    """A table whose cells may hold anything."""
    lines = [".. list-table::", f"   :widths: {widths}", "   :header-rows: 1", ""]
    for row in [head, *rows]:
        for number, cell in enumerate(row):
            mark = "   * - " if number == 0 else "     - "
            lines.append(mark + " ".join(cell.split()))
    return [*lines, ""]


def shown(value: Any) -> str:
    """The value of an option, as one would write it."""
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    return f"``{value}``" if value != "" else "–"


def number(value: float) -> str:
    """A bound; some scores have none."""
    return ("−∞" if value < 0 else "∞") if math.isinf(value) else f"{value:g}"


def facts(entry: Metric) -> list[str]:
    """What fits into one line each, as a table without a head."""
    told = format_card(entry)
    low, high = entry.bounds
    guides = " and ".join(f":doc:`/{guide}`" for guide in GUIDES[entry.question])
    if not entry.decides:
        role = "no; it tells more about other scores"
    elif entry.is_defect_metric:
        role = f"yes: it may exceed its clean null by {entry.tolerance or 0:g}"
    elif entry.threshold is None:
        role = "partly at most"
    else:
        role = f"yes, from {entry.threshold:g} of the best possible on"
    rows = [
        ("Question", f"{entry.question}: {entry.asked_as or QUESTIONS[entry.question]}"),
        ("Guide", guides),
        ("Name", f"``{entry.name}``, version {entry.version}{_papers(entry)}"),
        ("Better", f"{entry.better}, from {number(low)} to {number(high)}"),
        ("Decides a verdict", role),
        ("Needs", told["needs"]),
        ("Cost", f"{entry.card.cost}; {told['size']}"),
        ("Validation", f"{told['validation']} (:doc:`/certify`)"),
        ("Reference", f":cite:t:`{entry.cite}`"),
    ]
    if entry.opt_in:
        rows.insert(5, ("Asked", "on request only: superseded, and slow"))
    lines = [".. list-table::", "   :widths: 20 80", "   :stub-columns: 1", ""]
    for name, text in rows:
        lines += [f"   * - {name}", f"     - {text}"]
    return [*lines, ""]


def _papers(entry: Metric) -> str:
    """What papers call it, where they do."""
    names = ", ".join(f"``{name}``" for name in list_names_in_papers(entry))
    return f"; papers call it {names}" if names else ""


def options(entry: Metric) -> list[str]:
    """Defaults, choices and further arrays."""
    if all(len(entry.choices(name)) == 1 for name in entry.options()):
        return ["It has none.", ""]
    rows = []
    for name, default in entry.options().items():
        if len(entry.choices(name)) == 1:
            continue
        choices = [c for c in entry.choices(name) if isinstance(c, str | int | float | bool)]
        needs = entry.uses_if.get(name, {})
        more = "; ".join(f"``{choice}``: {', '.join(a)}" for choice, a in needs.items() if a)
        kind = describe_needed(entry.hints()[name])
        allowed = ", ".join(map(shown, choices)) or kind
        rows.append((f"``{name}``", shown(default), allowed, entry.sentence(name), more))
    return listed(("option", "default", "choices", "", "needs"), rows, "15 15 25 30 15")


def use(entry: Metric) -> list[str]:
    """How to ask for it."""
    lines = [".. code-block:: console", "", f"   $ theodolite metrics {entry.name}", ""]
    lines += ["In a run spec:", "", ".. code-block:: yaml", "", "   metrics:"]
    lines += [f"     - name: {entry.name}"]
    chosen = {k: v for k, v in entry.options().items() if isinstance(v, str | int | float)}
    if chosen:
        name, value = next(iter(chosen.items()))
        lines += [f"       options: {{{name}: {str(value).lower() if value is True else value}}}"]
    return [*lines, ""]


def page(entry: Metric) -> str:
    """Everything that is known about a score."""
    module = sys.modules[entry.state.__module__]
    nulls = [
        (b.label, b.description, "must not be exceeded" if b.is_reference else "must be beaten")
        for b in entry.nulls
    ]
    lines = [*underlined(entry.title), f"*{entry.card.question}*", "", *facts(entry)]
    lines += [*underlined("How to read it", "-"), entry.card.interpretation, ""]
    lines += [*underlined("Limitations", "-"), entry.card.limitations, ""]
    lines += [*underlined("Nulls", "-")]
    lines += listed(("null", "meaning", "the score"), nulls, "25 55 20")
    lines += [*underlined("Formula, and from Python", "-")]
    functions = f"theodolite.metrics.functions.{entry.question}"
    lines += [f".. autofunction:: {functions}.{entry.name}", ""]
    lines += [*underlined("Options", "-"), *options(entry)]
    lines += [*underlined("Use", "-"), *use(entry)]
    where = Path(inspect.getfile(entry.state)).name
    lines += [f"Source: ``{module.__name__.replace('.', '/').rpartition('/')[0]}/{where}``.", ""]
    return "\n".join(lines)


def index() -> str:
    """All scores, by question: what to type first."""
    lines = [*underlined("Scores, by question")]
    lines += ["Each page is made from the card of its score: what it asks, how to read it, when it"]
    lines += ["limitations, its nulls, its formula with an example, and all its options.", ""]
    for question, asks in QUESTIONS.items():
        these = [entry for entry in catalogue().values() if entry.question == question]
        lines += underlined(f"{question.capitalize()}: {asks[0].lower()}{asks[1:]}", "-")
        head = ("in Python", "title", "better", "range", "asks", "papers call it")
        lines += listed(head, map(_index_row, these), "30 18 8 9 27 8")
        lines += [".. toctree::", "   :hidden:", ""]
        lines += [*(f"   {entry.name}" for entry in these), ""]
    return "\n".join(lines)


def _index_row(entry: Metric) -> tuple[str, ...]:
    low, high = entry.bounds
    better = {"higher": "↑ higher", "lower": "↓ lower"}[entry.better]
    return (
        f":doc:`theodolite.metrics.{entry.name} <{entry.name}>`",
        entry.title,
        better,
        f"{number(low)} to {number(high)}",
        entry.card.question,
        ", ".join(list_names_in_papers(entry)) or "–",
    )


def changelog(root: Path) -> str:
    """What was released, and the fragments of what comes next."""
    released = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    fragments = sorted(root.glob("changes/[0-9]*.md"))
    if not fragments:
        return released
    lines = [line for path in fragments for line in ["- " + " ".join(path.read_text().split())]]
    return released.rstrip() + "\n\n## Next\n\n" + "\n".join(lines) + "\n"


def bridges() -> str:
    """Every bridge, as its module describes itself."""
    lines = [*underlined("Bridges")]
    lines += ["How to use them: :doc:`/bridges` and :doc:`/bridges-out`.", ""]
    for module in sorted(pkgutil.iter_modules(theodolite.bridges.__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            lines += [*underlined(module.name.replace("_", " "), "-")]
            lines += [f".. automodule:: theodolite.bridges.{module.name}", "   :members:", ""]
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Only what changed, so that Sphinx reads only that again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def outside(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to files of the repository that have a page here lead to that page."""
    del app
    up = "../" * docname.count("/")
    source[0] = source[0].replace("](../CONTRIBUTING.md)", f"]({up}{MADE}/contributing.md)")


def make(app: Sphinx) -> None:
    """All pages that are made."""
    source = Path(app.srcdir)
    write(source / MADE / ".gitignore", "*\n")
    write(source / FOLDER / "index.rst", index())
    for entry in catalogue().values():
        write(source / FOLDER / f"{entry.name}.rst", page(entry))
    write(source / MADE / "bridges.rst", bridges())
    root = Path(__file__).parents[2]
    write(source / MADE / "changelog.md", changelog(root))
    contributing = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    write(source / MADE / "contributing.md", contributing.replace("](docs/", "](../"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Before anything is read."""
    app.connect("builder-inited", make, priority=100)
    app.connect("source-read", outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
