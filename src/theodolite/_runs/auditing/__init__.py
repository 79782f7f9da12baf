"""Audit whatever a caller has, and keep the result."""
