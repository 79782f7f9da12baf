"""Describe the arrays of each kind of evidence, from the docstrings of its fields.
Used by ``theodolite evidence``, generated metric functions and messages on missing arrays."""

import ast
import inspect
import re
import textwrap
from dataclasses import MISSING, dataclass, fields

from theodolite.evidence.base import Evidence


@dataclass(frozen=True)
class ArrayDescription:
    """Description of one array of a kind of evidence."""

    name: str
    shape: str
    needed: bool
    holds: str


def summarize_kind(kind: type[Evidence]) -> str:
    """Return the first sentence of a kind's docstring."""
    return _as_plain_text((kind.__doc__ or "").partition("\n\n")[0])


def describe_arrays(kind: type[Evidence]) -> list[ArrayDescription]:
    """Return a description of every array of a kind.

    >>> from theodolite.evidence.kinds.concept import ConceptEvidence
    >>> describe_arrays(ConceptEvidence)[1]
    ArrayDescription(name='truth', shape='samples × concepts', needed=False, holds='Whether each \
concept is there.')
    """
    words = _words(kind)
    needed = {field.name: field.default is MISSING for field in fields(kind)}
    shapes = {name: f"{inner.kind} evidence" for name, inner in kind.inner_kinds()}
    shapes |= {name: " × ".join(layout.axes) for name, layout in kind.layouts()}
    return [
        ArrayDescription(name, shapes[name], needed[name], words.get(name, "")) for name in shapes
    ]


def describe_briefly(kind: type[Evidence], array: str) -> str:
    """Return the first phrase of an array's description.

    >>> from theodolite.evidence.kinds.concept import ConceptEvidence
    >>> describe_briefly(ConceptEvidence, "weights")
    'the linear head'
    """
    sentence = _words(kind).get(array, "")
    first = re.split(r"[,;:.(]", sentence, maxsplit=1)[0].strip()
    return first[:1].lower() + first[1:]


def _words(kind: type[Evidence]) -> dict[str, str]:
    """Read the text below each field from the source, since Python does not keep it."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError):  # made where no file is, as in a console
        return {}
    assert isinstance(definition, ast.ClassDef)  # noqa: S101  that is what was asked for
    words = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            expression = text.value if isinstance(text, ast.Expr) else None
            there = isinstance(expression, ast.Constant)
            words[field.target.id] = (
                _as_plain_text(str(ast.literal_eval(expression))) if expression and there else ""
            )
    return words


def _as_plain_text(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
