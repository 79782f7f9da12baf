"""Measure what all values add to predicting the label beyond all true concepts."""
