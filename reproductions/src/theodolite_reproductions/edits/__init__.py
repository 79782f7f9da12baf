"""Fit a concept bottleneck to texts and test it on edits of one concept each."""
