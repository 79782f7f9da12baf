"""Six answers from scores, and what a missing one needs."""
