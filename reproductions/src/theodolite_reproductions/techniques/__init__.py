"""Compute explanations by many techniques for rated images."""
