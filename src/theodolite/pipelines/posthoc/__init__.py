"""A post-hoc concept bottleneck on a network."""
