"""Pipeline that fits and audits a post-hoc concept bottleneck on a network."""
