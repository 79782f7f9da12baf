"""Compare runs on the same samples, and rank them."""
