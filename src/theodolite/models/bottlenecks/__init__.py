"""Concept bottleneck models, trained and intervened on."""
