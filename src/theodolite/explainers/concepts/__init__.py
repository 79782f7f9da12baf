"""Attribute the prediction of a concept bottleneck to its concepts."""
