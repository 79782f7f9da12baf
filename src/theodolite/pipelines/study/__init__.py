"""Explanations of a run, made into material for a study."""
