"""Import optional libraries, or say which extra to install."""

import importlib
import re
import warnings
from functools import cache
from importlib import metadata
from typing import Any

from theodolite.errors import EvidenceError

IMPORTS = {
    "grad-cam": "pytorch_grad_cam",
    "mlflow-skinny": "mlflow",
    "open-clip-torch": "open_clip",
    "pillow": "PIL",
    "scikit-learn": "sklearn",
}
"""Distributions whose module has another name than they have."""
NOT_FOR_USERS = ("ci", "dev", "docs", "oracles", "testing")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?[^;]*(?:;(.*))?")


def require(module: str, purpose: str, extra: str) -> Any:
    """A module of an optional library; an error that names the extra where it is not installed.

    >>> require("a_library.inside", "SparseAutoencoder", "sae")
    Traceback (most recent call last):
        ...
    theodolite.errors.EvidenceError: SparseAutoencoder: got no a_library; needed it. \
Install it: pip install 'theodolite[sae]'.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations inside other people's packages
            return importlib.import_module(module)
    except ImportError as error:
        library = (error.name or module).partition(".")[0]
        remedy = f"Install it: pip install 'theodolite[{extra}]'."
        raise EvidenceError(purpose, f"no {library}", "it", remedy) from error


@cache
def list_extras() -> dict[str, tuple[str, ...]]:
    """Distributions by extra, with those of the extras that it includes.

    >>> list_extras()["embed"]
    ('onnxruntime', 'tokenizers')
    >>> "torch" in list_extras()["explain"]
    True
    """
    direct: dict[str, list[str]] = {}
    included: dict[str, list[str]] = {}
    for line in metadata.requires("theodolite") or ():
        parts = _REQUIREMENT.match(line)
        named = re.search(r"extra == ['\"]([^'\"]+)", line)
        if parts is None or named is None:
            continue
        extra, name = named[1], parts[1].lower().replace("_", "-")
        if name == "theodolite":
            included.setdefault(extra, []).extend((parts[2] or "").split(","))
        else:
            direct.setdefault(extra, []).append(name)
    names = sorted({*direct, *included})
    return {name: tuple(sorted(_list_distributions(name, direct, included))) for name in names}


def _list_distributions(
    extra: str, direct: dict[str, list[str]], included: dict[str, list[str]]
) -> set[str]:
    inside = (
        _list_distributions(name.strip(), direct, included) for name in included.get(extra, ())
    )
    return set(direct.get(extra, ())).union(*inside)


def find_extra(module: str) -> str | None:
    """The extra for users that has a module's name, or brings it with the least beside it.

    >>> find_extra("captum.attr"), find_extra("onnxruntime"), find_extra("no_such")
    ('explain', 'embed', None)
    """
    top = module.partition(".")[0]
    fitting = [
        (extra != top, len(brings), extra)
        for extra, brings in list_extras().items()
        if extra not in (*NOT_FOR_USERS, "all") and top in map(get_module_name, brings)
    ]
    return min(fitting)[2] if fitting else None


def get_module_name(distribution: str) -> str:
    """What is imported of a distribution."""
    return IMPORTS.get(distribution, distribution.replace("-", "_"))


def get_installed_version(distribution: str) -> str | None:
    """Return the installed version of a distribution, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
