"""Define null baselines without metric options, which other packages may use too."""

from theodolite.metrics.leak_free._nulls import CLEAN, SHUFFLED_TRUTH
from theodolite.metrics.shared.nulls import MOST_COMMON

__all__ = ["CLEAN", "MOST_COMMON", "SHUFFLED_TRUTH"]
