"""Nulls that do not depend on a metric's options: those that other packages may use."""

from theodolite.metrics.leak_free._nulls import CLEAN, SHUFFLED_TRUTH
from theodolite.metrics.shared.nulls import MOST_COMMON

__all__ = ["CLEAN", "MOST_COMMON", "SHUFFLED_TRUTH"]
