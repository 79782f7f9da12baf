"""Public names of a package that import their module on first use."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> dict[str, str]:
    """Each name and the module that has it, from modules and their names.

    >>> lazy_names("theodolite", {"results": "Score Verdict"})
    {'Score': 'theodolite.results', 'Verdict': 'theodolite.results'}
    """
    return {
        name: f"{package}.{module}" for module, names in homes.items() for name in names.split()
    }


def import_late(module: str) -> Any:
    """Import a module of ours that lies above the caller, when it is needed.

    >>> import_late("results").__name__
    'theodolite.results'
    """
    return importlib.import_module(f"theodolite.{module}")


def lazy_getattr(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module whose names live elsewhere.

    A name whose home ends in the name itself is a module.
    """

    def get(name: str) -> Any:
        if name not in homes:
            message = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(message)
        home = importlib.import_module(homes[name])
        return home if homes[name] == f"{module}.{name}" else getattr(home, name)

    return get
