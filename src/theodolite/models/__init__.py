"""Backbones, concept bottlenecks and heads."""
