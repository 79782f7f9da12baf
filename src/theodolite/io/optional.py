"""Libraries that come with an extra: import them, or say what to install."""

import importlib
import warnings
from typing import Any

from theodolite.errors import EvidenceError


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
