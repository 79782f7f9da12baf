"""Validate metrics by simulation."""
