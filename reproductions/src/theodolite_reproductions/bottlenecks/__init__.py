"""Train concept bottlenecks for claims about leakage (Parisini et al., 2025)."""
