"""What a surrogate costs: how much computing lies between the concepts and the output."""

from typing import Literal


def surrogate_operations(
    surrogate: Literal["linear", "rebuilt", "learned"],
    *,
    classes: int,
    concepts: int,
    dimensions: int,
    hidden: int = 500,
) -> int:
    """Floating-point operations a sample from the concepts to the outputs.

    ``concepts`` are those of one class. Additions and multiplications count one each: 2 K C for the
    sum of importances times concepts, C D (2 K + 1) to rebuild an embedding for each class and
    apply the last layer, 2 C (H K + H D + D) with a network of H hidden units in between.
    The figures of :cite:t:`kumar2026unfaithfulness`, 200, 614 thousand and 205 million, are those
    of 100 classes, though its data set has 101.

    >>> [surrogate_operations(s, classes=100, concepts=1, dimensions=2048)
    ...  for s in ("linear", "rebuilt", "learned")]
    [200, 614400, 205309600]
    """
    if surrogate == "linear":
        return 2 * concepts * classes
    if surrogate == "rebuilt":
        return classes * dimensions * (2 * concepts + 1)
    return 2 * classes * (hidden * concepts + hidden * dimensions + dimensions)
