"""Serve user studies in which participants rate explanations; the package behind `theodolite
study`."""
