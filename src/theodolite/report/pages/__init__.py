"""Pages on several runs."""
