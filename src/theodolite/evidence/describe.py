"""What each kind of evidence holds, in the words that stand beside its arrays."""

import ast
import inspect
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
    return _plain((kind.__doc__ or "").partition("\n\n")[0])


def described(kind: type[Evidence]) -> list[ArrayDescription]:
    """All that a bundle of a kind can hold.

    >>> from theodolite.evidence.kinds.concept import ConceptEvidence
    >>> described(ConceptEvidence)[1]
    Described(name='truth', shape='samples × concepts', needed=False, holds='Whether the concept \
is there.')
    """
    words = _words(kind)
    needed = {field.name: field.default is MISSING for field in fields(kind)}
    shapes = {name: f"{inner.kind} evidence" for name, inner in kind.inner_kinds()}
    shapes |= {name: " × ".join(layout.axes) for name, layout in kind.layouts()}
    return [ArrayDescription(name, shapes[name], needed[name], words[name]) for name in shapes]


def _words(kind: type[Evidence]) -> dict[str, str]:
    """The text below each field: Python does not keep it, so it is read where it is written."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(found, ast.ClassDef)  # noqa: S101  that is what was asked for
    words = {}
    for field, text in zip(found.body, found.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            said = text.value if isinstance(text, ast.Expr) else None
            there = isinstance(said, ast.Constant)
            words[field.target.id] = _plain(str(ast.literal_eval(said))) if said and there else ""
    return words


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
