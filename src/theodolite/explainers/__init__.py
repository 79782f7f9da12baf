"""Saliency, attribution and concept-discovery methods."""
