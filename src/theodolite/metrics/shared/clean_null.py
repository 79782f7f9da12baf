"""The null that metrics of other packages share with ours: the same values, free of leakage."""

from theodolite.metrics.leak_free._nulls import CLEAN

__all__ = ["CLEAN"]
