"""What to install when an optional package is not there."""

from theodolite.errors import EvidenceError


def missing(method: str, package: str, install: str) -> EvidenceError:
    """The error to raise.

    >>> print(missing("SparseAutoencoder", "overcomplete", "overcomplete"))
    SparseAutoencoder: got no overcomplete; needed it. Install it: pip install 'overcomplete'.
    """
    return EvidenceError(method, f"no {package}", "it", f"Install it: pip install '{install}'.")
