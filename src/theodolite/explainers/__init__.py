"""From a model and data to evidence: one adapter per method."""
