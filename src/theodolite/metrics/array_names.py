"""Find arrays of evidence by the names that a function gives to its parameters."""

from collections.abc import Sequence
from typing import Any

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence import registry
from theodolite.evidence.base import Bundle, Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.plugins import is_ours

Kind = type[Evidence]
Paths = dict[str, str]
"""Parameter -> path of the array, ``explained.truth`` for one of the evidence inside."""


def read_array(evidence: Evidence, path: str) -> Any:
    """Return the array at a path; None if it is missing."""
    member: Any = evidence
    for part in path.split("."):
        member = getattr(member, part)
    return member


def replace_array(evidence: Bundle, path: str, values: Any) -> Bundle:
    """Return the same evidence with another array at a path; nothing is checked again."""
    inside, _, name = path.rpartition(".")
    if not inside:
        return replace_arrays(evidence, **{name: values})
    return replace_arrays(
        evidence, **{inside: replace_arrays(getattr(evidence, inside), **{name: values})}
    )


def array_layout(kind: Kind, path: str) -> Layout | None:
    """Return the layout of the array at a path; None if there is no such array."""
    inner, _, name = path.rpartition(".")
    owner = dict(kind.inner_kinds()).get(inner) if inner else kind
    return None if owner is None else dict(owner.layouts()).get(name)


def infer_kind(
    metric: str, names: Sequence[str], evidence: Kind | str | None, module: str
) -> tuple[Kind, Paths]:
    """Return the kind of evidence that has all these arrays, and where they are.

    Kinds of the function's own module come first, then those of theodolite, then others: so an
    installed package changes nothing. A kind that has the arrays itself comes before one that has
    them in the evidence inside.
    """
    if evidence is not None:
        kind = registry.find_kind(evidence) if isinstance(evidence, str) else evidence
        paths = _paths(kind, names)
        unknown = [name for name in names if name not in paths]
        if unknown:
            raise _unknown_names(metric, unknown, [kind])
        return kind, paths
    known = registry.registered_kinds()
    fitting = [kind for kind in known if len(_paths(kind, names)) == len(names)]
    if not fitting:
        most = max(len(_paths(kind, names)) for kind in known)
        nearest = [kind for kind in known if len(_paths(kind, names)) == most]
        raise _unknown_names(metric, list(names), nearest if most else known)
    best = min(_distance(kind, names, module) for kind in fitting)
    candidates = [kind for kind in fitting if _distance(kind, names, module) == best]
    if len(candidates) > 1:
        choices = " or ".join(f"evidence={kind.kind!r}" for kind in candidates)
        raise EvidenceError(
            f"metric {metric}", f"parameters `{', '.join(names)}` that {len(candidates)} kinds of "
            "evidence have", choices, f"Pass `evidence`: metric({metric!r}, {choices.split()[0]}).",
        )  # fmt: skip
    return candidates[0], _paths(candidates[0], names)


def _paths(kind: Kind, names: Sequence[str]) -> Paths:
    """Return where the arrays of these names are, as far as the kind has them."""
    known = {
        name: f"{inside}.{name}" for inside, k in kind.inner_kinds() for name, _ in k.layouts()
    }
    known |= {name: name for name, _ in kind.layouts()}
    return {name: known[name] for name in names if name in known}


def _distance(kind: Kind, names: Sequence[str], module: str) -> tuple[int, int]:
    whose = 0 if kind.__module__ == module else 1 if is_ours(kind) else 2
    return whose, sum("." in path for path in _paths(kind, names).values())


def _unknown_names(metric: str, names: Sequence[str], kinds: Sequence[Kind]) -> EvidenceError:
    words = []
    for kind in kinds:
        lacks = [name for name in names if name not in _paths(kind, names)]
        words.append(f"{kind.kind} (has no {', '.join(lacks)})")
    every = [name for kind in kinds for name, _ in kind.layouts()]
    hint = next((text for name in names if (text := did_you_mean(name, every))), "")
    return EvidenceError(
        f"metric {metric}", f"parameters `{', '.join(names)}`",
        f"names of arrays of one kind of evidence; nearest: {'; '.join(words)}",
        f"{hint} `theodolite evidence` lists them; choose a kind with `evidence=`.".strip(),
    )  # fmt: skip
