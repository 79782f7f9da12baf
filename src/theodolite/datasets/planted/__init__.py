"""Planted truth: evidence whose scores are known."""
