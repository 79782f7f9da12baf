r"""Convert the docstring of a metric to paragraphs and formulas of a page.

Docstrings are written for Sphinx. This reads the part of that markup that they use, so that the
same sentences and formulas are used in a report: ``.. math::``, ``:math:``, citations, lists.
"""

import functools
import inspect
import re
from collections.abc import Iterator
from typing import Literal

from markupsafe import Markup, escape

from theodolite.metrics.base import Metric
from theodolite.report.citations import references

MATH = ".. math::"
ENDS = ("Example:", "Examples:")
ROLE = re.compile(
    r":(?P<role>math|cite:[tp]|func|class|mod|sub):`(?P<text>[^`]*)`"
    r"|``(?P<code>[^`]+)``|(?<![\w*])\*(?P<stress>[^*\s][^*]*)\*(?![\w*])"
)


def metric_docstring(metric: Metric) -> str:
    """The docstring of a metric, without its examples; empty if it has none."""
    text = inspect.cleandoc(vars(metric.state).get("__doc__") or "")
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if line.strip() in ENDS), len(lines))
    return "\n".join(lines[:end]).strip()


def blocks(text: str) -> Iterator[tuple[Literal["text", "list", "math"], str]]:
    r"""A docstring's paragraphs, lists and formulas, in order.

    >>> list(blocks("One.\n\n.. math:: a +\n    b\n\nTwo\nlines.\n\n- x;\n- y."))
    [('text', 'One.'), ('math', 'a + b'), ('text', 'Two lines.'), ('list', 'x;\ny.')]
    """
    for part in re.split(r"\n\s*\n", text.strip()):
        joined = " ".join(line.strip() for line in part.splitlines())
        if joined.startswith(MATH):
            yield "math", joined.removeprefix(MATH).strip()
        elif joined.startswith("- "):
            items = re.split(r"(?:^|\n)- ", part.strip())[1:]
            yield "list", "\n".join(" ".join(item.split()) for item in items)
        elif joined:
            yield "text", joined


@functools.cache
def formula(latex: str, display: Literal["block", "inline"] = "block") -> Markup:
    r"""Return a formula as MathML, with its source for those who cannot see it.

    >>> print(formula("a+b", "inline"))
    <math display="inline" alttext="a+b"><mrow><mi>a</mi><mo>&#x0002B;</mo><mi>b</mi></mrow></math>
    >>> print(formula(r"\unheard of"))  # as it was written, if it cannot be set
    <code>\unheard of</code>
    """
    from latex2mathml.converter import convert  # noqa: PLC0415  a third of a second

    try:
        mathml = convert(latex.replace(r"\arg\max", r"\mathrm{arg}\max"), display=display)
    except Exception:  # noqa: BLE001  it has a class for every fault, and none for all
        mathml = "\\"
    if "\\" in mathml:  # a command that it does not know is left standing
        return Markup("<code>{}</code>").format(latex)
    head = f'<math display="{display}" alttext="{escape(latex)}">'
    body = mathml[mathml.index(">") + 1 :]
    return Markup(head + body)  # noqa: S704  built as a tree, texts escaped


def marked_up(text: str) -> Markup:
    """A sentence of a docstring, with its roles resolved and everything else as text."""
    parts: list[str] = []
    end = 0
    text = text.replace("\\ :sub:", ":sub:")
    for match in ROLE.finditer(text):
        parts += [escape(text[end : match.start()]), _role_markup(match)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def with_code(text: str) -> Markup:
    """A sentence whose names of code are between backticks.

    >>> with_code("needs `values` <b>")
    Markup('needs <code>values</code> &lt;b&gt;')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # not in pairs: nobody meant them so
        return escape(text)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(p) if i % 2 else escape(p) for i, p in enumerate(parts))


def _role_markup(match: re.Match[str]) -> Markup:
    if match["code"]:
        return Markup("<code>{}</code>").format(match["code"])
    if match["stress"]:
        return Markup("<em>{}</em>").format(match["stress"])
    role, inside = match["role"], match["text"]
    if role == "math":
        return formula(inside, "inline")
    if role == "sub":
        return Markup("<sub>{}</sub>").format(inside)
    if role.startswith("cite"):
        paper = references().get(inside)
        citation = inside if paper is None else paper.short
        return escape(
            citation if role == "cite:t" else f"({citation.replace('(', '').replace(')', '')})"
        )
    return Markup("<code>{}</code>").format(inside.rpartition(".")[2].lstrip("~"))
