"""Check array shapes while the tests run: beartype, where an int may stand for a float.

Only functions and records that name a shape are checked. mypy checks the types of all others, and
checking those at every call takes a third of the time of the tests.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args

import jaxtyping
from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
_jaxtyped = jaxtyping.jaxtyped


def check_shapes(modules: list[str]) -> None:
    """Check what names a shape in modules that are imported from now on."""
    jaxtyping.jaxtyped = _check_if_shaped  # the import hook decorates everything with this
    jaxtyping.install_import_hook(modules, f"{__name__}.checked")


def _check_if_shaped(*, typechecker: Callable[..., Any]) -> Callable[[Any], Any]:
    return functools.partial(_decorate, typechecker=typechecker)


def _decorate(decorated: Any, typechecker: Callable[..., Any]) -> Any:
    if inspect.isclass(decorated):
        shaped = dataclasses.is_dataclass(decorated) and _is_shaped(decorated.__init__)
    else:
        shaped = _is_shaped(decorated)
    return _jaxtyped(decorated, typechecker=typechecker) if shaped else decorated


def _is_shaped(function: Any) -> bool:
    return any(_names_shape(given) for given in getattr(function, "__annotations__", {}).values())


def _names_shape(annotation: Any) -> bool:
    if isinstance(annotation, list):  # the arguments of a Callable
        return any(_names_shape(part) for part in annotation)
    if isinstance(annotation, str):
        return "[" in annotation
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(_names_shape(part) for part in get_args(annotation))
