"""Where the patches are among a transformer's tokens."""

import math

from theodolite.errors import EvidenceError

MOST_LEADING = 17
"""One class token, or one and up to sixteen registers; more would be a wrong grid."""


def token_grid(tokens: int, grid: tuple[int, int] | None) -> tuple[int, int, int]:
    """How many tokens come before the patches, and the rows and columns of the patches.

    Class and register tokens come first. Without ``grid``, the patches are the largest square.

    >>> token_grid(197, None), token_grid(201, None), token_grid(7, (2, 3))
    ((1, 14, 14), (5, 14, 14), (1, 2, 3))
    """
    side = math.isqrt(tokens)
    rows, columns = grid or (side, side)
    leading = tokens - rows * columns
    if leading < 0 or (grid is None and leading > MOST_LEADING):
        raise EvidenceError(
            "layer", f"{tokens} tokens", "a square of patches after the class token",
            "Pass grid=(rows, columns) of the patches.",
        )  # fmt: skip
    return leading, rows, columns
