"""Metrics of attributions to the features of tables."""
