"""Predict human ratings of explanations from their content."""
