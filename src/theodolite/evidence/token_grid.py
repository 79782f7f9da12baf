"""Find the image patches among a vision transformer's tokens. Used by explainers and backbones."""

import math

from theodolite.errors import EvidenceError

MAX_LEADING_TOKENS = 17
"""Largest number of leading tokens: one class token and up to sixteen registers."""


def find_token_grid(tokens: int, grid: tuple[int, int] | None) -> tuple[int, int, int]:
    """Return the number of tokens before the patches, and the patch rows and columns.

    Class and register tokens come first. Without ``grid``, the patches are the largest square.

    >>> find_token_grid(197, None), find_token_grid(201, None), find_token_grid(7, (2, 3))
    ((1, 14, 14), (5, 14, 14), (1, 2, 3))
    """
    side = math.isqrt(tokens)
    rows, columns = grid or (side, side)
    leading = tokens - rows * columns
    if leading < 0 or (grid is None and leading > MAX_LEADING_TOKENS):
        raise EvidenceError(
            "layer", f"{tokens} tokens", "a square of patches after the class token",
            "Pass grid=(rows, columns) of the patches.",
        )  # fmt: skip
    return leading, rows, columns
