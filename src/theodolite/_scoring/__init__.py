"""Turn evidence and metrics into scores with baselines and intervals."""
