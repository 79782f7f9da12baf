"""What each kind of evidence holds, in the words that stand beside its arrays."""

import ast
import inspect
import re
import textwrap
from dataclasses import MISSING, dataclass, fields

from theodolite.evidence.base import Evidence


@dataclass(frozen=True)
class ArrayDescription:
    """One array of a kind of evidence."""

    name: str
    shape: str
    needed: bool
    holds: str


def summary(kind: type[Evidence]) -> str:
    """The kind in a sentence."""
    return _as_plain_text((kind.__doc__ or "").partition("\n\n")[0])


def described(kind: type[Evidence]) -> list[ArrayDescription]:
    """All that a bundle of a kind can hold.

    >>> from theodolite.evidence.kinds.concept import ConceptEvidence
    >>> described(ConceptEvidence)[1]
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


def phrase(kind: type[Evidence], array: str) -> str:
    """What an array holds, in a few words: those that its sentence begins with.

    >>> from theodolite.evidence.kinds.concept import ConceptEvidence
    >>> phrase(ConceptEvidence, "weights")
    'the linear head'
    """
    sentence = _words(kind).get(array, "")
    first = re.split(r"[,;:.(]", sentence, maxsplit=1)[0].strip()
    return first[:1].lower() + first[1:]


def _words(kind: type[Evidence]) -> dict[str, str]:
    """The text below each field: Python does not keep it, so it is read where it is written."""
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
