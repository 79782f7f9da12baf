"""Numbers without order, made from numbers: the same on every machine."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def scattered(numbers: np.ndarray, seed: int) -> np.ndarray:
    """A number without any order for each number, the same for the same seed."""
    return mixed(numbers.astype(np.uint64) ^ mixed(np.array([seed], np.uint64)))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finisher of splitmix64: neighbouring numbers come out unrelated."""
    with np.errstate(over="ignore"):
        z = numbers + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
