"""Thresholds met or not."""
