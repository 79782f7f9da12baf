"""Estimate information, resample, and compute intervals."""
