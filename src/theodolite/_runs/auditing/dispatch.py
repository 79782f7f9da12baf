"""The typed function that the arrays of a call to ``theodolite.audit`` belong to."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.files import has_all_arrays
from theodolite.evidence.registry import markers

FUNCTIONS = {
    "maps": "saliency:audit_saliency",
    "attributions": "attributions:audit_attributions",
    "ratings": "kinds:audit_ratings",
    "tokens": "kinds:audit_tokens",
    "values": "kinds:audit_concepts",
}
"""By the array that identifies a kind, in order: module of this package and public function."""
ALSO_NEEDED = {"values": "truth"}


def find_function(
    arrays: Mapping[str, object], options: Mapping[str, object]
) -> Callable[..., Any] | None:
    """Return the typed function for these arrays; None if evidence is built from them by name.

    Args:
        arrays: Arrays by name.
        options: Other arguments that were passed to ``theodolite.audit``.
    """
    name = next((n for n in FUNCTIONS if {n, ALSO_NEEDED.get(n, n)} <= set(arrays)), None)
    if name is None:
        return None
    module, _, public = FUNCTIONS[name].partition(":")
    function = getattr(importlib.import_module(f"theodolite._runs.auditing.{module}"), public)
    parameters = inspect.signature(function).parameters
    unknown = [word for word in (*arrays, *options) if word not in parameters]
    if not unknown:
        return function  # type: ignore[no-any-return]
    kind = markers().get(name)
    if kind is not None and has_all_arrays(kind, arrays):
        return None  # arrays of the file format, such as `weights` and `predicted`
    takes = [word for word in parameters if parameters[word].kind != inspect.Parameter.VAR_KEYWORD]
    raise EvidenceError(
        f"theodolite.{public}", f"unknown arguments {unknown}", ", ".join(takes),
        did_you_mean(unknown[0], takes),
    )  # fmt: skip
