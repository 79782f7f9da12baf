"""Kinds of evidence, their axes, checks, pieces and files."""
