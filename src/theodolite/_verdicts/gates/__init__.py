"""Check scores and answers against thresholds."""
