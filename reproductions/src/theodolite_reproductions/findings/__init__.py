"""Test claims over the models of a run."""
