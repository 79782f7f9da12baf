"""Families of concept bottleneck models."""
